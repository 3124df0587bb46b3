// A snapshot that may come into force: what it would change, before anybody decides about it.
import type { Engine } from '../page/engine.js';
import type { Facts, PolicyDifference } from '../worker/protocol.js';
import type { GatewayClient } from './gateway.js';

export interface CandidateSnapshot {
  /** Its digest, or the name of the file. */
  readonly name: string;
  /** Null of a file that was not opened yet. */
  readonly digest: string | null;
  /** The file that would be uploaded; null if the store has it. */
  readonly file: Uint8Array | null;
  /** Whether it was in force before. */
  readonly wasActive: boolean;
}

export interface Comparison {
  readonly against: string;
  readonly digest: string;
  readonly compared: PolicyDifference;
  readonly facts: SnapshotFacts;
}

/** What runs against the candidate. A text says why they cannot be compared. */
export async function compare(
  gateway: GatewayClient,
  engine: Engine,
  { running, candidate }: { readonly running: string; readonly candidate: CandidateSnapshot },
): Promise<Comparison | string> {
  const opened = await openRunning(gateway, engine, { running, otherwise: 'Nothing is compared.' });
  if (typeof opened === 'string') return opened;
  const told =
    candidate.file === null
      ? await gateway.bytes(`/admin/v1/snapshots/${candidate.digest ?? ''}`)
      : { kind: 'told' as const, value: unwrapped(candidate.file) };
  if (told.kind === 'refused') return told.text;
  const facts = await open(engine, told.value, 'edited');
  if (typeof facts === 'string') return `${candidate.name} is not a snapshot that can be opened: ${facts}.`;
  if (candidate.digest !== null && candidate.digest !== facts.snapshot)
    return 'The gateway sent another snapshot than was chosen. Nothing is compared.';
  const answer = await engine.ask({ kind: 'diff' });
  if (answer.kind !== 'compared') return answer.kind === 'refused' ? `${answer.message}.` : 'They cannot be compared.';
  return { against: running, digest: facts.snapshot, compared: answer.compared, facts };
}

/** What a snapshot is, with its digest. */
export interface SnapshotFacts extends Facts {
  readonly snapshot: string;
}

/** A text says why it cannot be opened; `otherwise` is what follows if the gateway sends something else. */
export async function openRunning(
  gateway: GatewayClient,
  engine: Engine,
  { running, otherwise }: { readonly running: string; readonly otherwise: string },
): Promise<SnapshotFacts | string> {
  const told = await gateway.bytes(`/admin/v1/snapshots/${running}`);
  if (told.kind === 'refused') return told.text;
  const opened = await open(engine, told.value, 'opened');
  if (typeof opened === 'string') return `What runs cannot be opened: ${opened}.`;
  return opened.snapshot === running ? opened : `The gateway sent another snapshot than it runs. ${otherwise}`;
}

/** A text says why it cannot be opened. */
async function open(engine: Engine, bytes: Uint8Array, as: 'opened' | 'edited'): Promise<SnapshotFacts | string> {
  const answer = await engine.ask({ kind: 'open-snapshot', bytes, as });
  if (answer.kind === 'opened') return { ...answer.facts, snapshot: answer.snapshot };
  return answer.kind === 'refused' ? answer.message : 'it has no policy';
}

/** The snapshot of `{"snapshot","statement"}`, or the file itself. */
function unwrapped(file: Uint8Array): Uint8Array {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(file));
  } catch {
    return file;
  }
  const inner = typeof value === 'object' && value !== null && 'snapshot' in value ? value.snapshot : null;
  return typeof inner === 'string' ? new TextEncoder().encode(inner) : file;
}
