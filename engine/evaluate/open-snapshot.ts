// From a decoded snapshot to the handle that decides.
import { countsOf } from '../model/tables.js';
import type { DecodeResult, SnapshotFault } from '../snapshot/decode.js';
import { makePolicy, type Policy } from './policy.js';
import { preparePolicy } from './prepare.js';

export type LoadResult =
  { readonly ok: true; readonly policy: Policy } | { readonly ok: false; readonly fault: SnapshotFault };

export function openSnapshot(decoded: DecodeResult): LoadResult {
  if (!decoded.ok) return decoded;
  const { snapshot } = decoded;
  const { tables, checks, digest, decisions, format } = snapshot;
  const counts = countsOf(tables);
  const facts = { kind: 'compiled', name: tables.name, digest, decisions, format, counts, checks } as const;
  return { ok: true, policy: makePolicy(facts, preparePolicy(snapshot)) };
}
