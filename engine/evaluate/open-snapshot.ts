// From a decoded snapshot to the handle that decides: in one go, or packed in one thread and adopted in another.
import { invariant } from '../model/invariant.js';
import { countsOf } from '../model/tables.js';
import type { DecodeResult } from '../snapshot/decode.js';
import type { SnapshotFault } from '../snapshot/fault.js';
import { type BuiltTable, buildTable } from '../table/build.js';
import { builtOf, makePolicy, type Policy, type PolicyFacts, type TableSource } from './policy.js';
import type { LoadedTables } from './prepare.js';

export type LoadResult =
  { readonly ok: true; readonly policy: Policy } | { readonly ok: false; readonly fault: SnapshotFault };

/**
 * A verified policy on its way to another thread: its facts, and the table in one shared buffer. The adopting thread
 * owns it from then on, and the sender keeps nothing of it.
 */
export interface PackedPolicy {
  readonly facts: PolicyFacts;
  readonly table: BuiltTable;
}

export type PackResult =
  { readonly ok: true; readonly packed: PackedPolicy } | { readonly ok: false; readonly fault: SnapshotFault };

export function packDecoded(decoded: DecodeResult): PackResult {
  return decoded.ok ? { ok: true, packed: pack(decoded.snapshot) } : decoded;
}

/** Tables, and what their snapshot states. */
type StatedTables = LoadedTables & Pick<Policy, 'checks' | 'digest' | 'decisions' | 'format'>;

function pack(stated: StatedTables): PackedPolicy {
  return { facts: factsOf(stated), table: buildTable(stated.tables, stated.holders, stated.digest) };
}

function factsOf({ tables, checks, digest, decisions, format }: Omit<StatedTables, 'holders'>): PolicyFacts {
  const { name, providers } = tables;
  const { families } = tables.vocabulary;
  return { kind: 'compiled', name, digest, decisions, format, counts: countsOf(tables), families, providers, checks };
}

/** Decides from the buffer, and from nothing else: proofs need a policy that was loaded in this thread. */
export function adopt({ facts, table }: PackedPolicy): Policy {
  return makePolicy(facts, { table, source: null });
}

/** The way back, without a copy: the memory of the table is shared. Null for the unrestricted policy, which has none. */
export function packedOf(policy: Policy): PackedPolicy | null {
  const table = builtOf(policy);
  const { scopes: _scopes, ...facts } = policy;
  return table === null ? null : { facts, table };
}

type Decode = (bytes: Uint8Array) => DecodeResult;

/**
 * A policy is loaded once to decide for days, and a proof is rare. So the tables stay only as long as nobody needs
 * their memory, and a later proof reads them again from the bytes, which lie outside the heap.
 */
export function openSnapshot(bytes: Uint8Array, decode: Decode): LoadResult {
  const decoded = decode(bytes);
  if (!decoded.ok) return decoded;
  const { facts, table } = pack(decoded.snapshot);
  return { ok: true, policy: makePolicy(facts, { table, source: readAgain(bytes, decoded.snapshot, decode) }) };
}

/** INVARIANT: what is returned refers to nothing else that was passed in, or the memory would never be free. */
function readAgain(bytes: Uint8Array, { tables, holders, digest }: StatedTables, decode: Decode): TableSource {
  // The caller may write to the bytes.
  const own = new Uint8Array(bytes);
  let recent = new WeakRef<LoadedTables>({ tables, holders });
  return () => {
    const known = recent.deref();
    if (known !== undefined) return known;
    const decoded = decode(own);
    invariant(
      decoded.ok && decoded.snapshot.digest === digest,
      'the bytes of a snapshot were written to while it was loaded',
    );
    const read = { tables: decoded.snapshot.tables, holders: decoded.snapshot.holders };
    recent = new WeakRef(read);
    return read;
  };
}

/**
 * A policy that was made of another one and was never a file. It decides by its own tables, under the digests of the other, so it must
 * not leave the proof that it was made for. `hashFrom` is a digest that the hashes of its table start from (table/slots.ts).
 */
export function openTables(
  source: LoadedTables,
  stated: Pick<Policy, 'digest' | 'decisions' | 'format' | 'checks'>,
  hashFrom: string = stated.digest,
): Policy {
  const { tables, holders } = source;
  const table = (): BuiltTable => buildTable(tables, holders, hashFrom);
  return makePolicy(factsOf({ ...stated, tables }), { table, source: () => source });
}
