// Compares two stored snapshots cell by cell. It loads the compiler and both policies, so it runs on a thread of its
// own. The answer has exact counts, and as many rows as it has room for; `bailiwick diff` shows all rows.
import { type Cause, type DiffReport, type DiffRow, diffPolicies } from '../../../engine/compiler.js';
import { loadSnapshot, type Policy, type SnapshotFault, verifyDecisions } from '../../../engine/index.js';
import { refusal, snapshotRefused } from '../policy-fault.js';
import { sha256Of } from './snapshot-bytes.js';
import { type Exact, exactJson, instantJson } from '../../json/exact-json.js';
import { SHADOW_LIMITS } from '../../limits/policy.js';

export interface Sides {
  readonly old: ComparedSnapshot;
  readonly changed: ComparedSnapshot;
}

export interface ComparedSnapshot {
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly digest: string;
  /** Whether the digests that it states about its decisions are known to be true. */
  readonly isVerified: boolean;
}

export type Compared =
  | { readonly kind: 'compared'; readonly difference: Difference }
  /** The digest of the snapshot with a false label, and what is false. */
  | { readonly kind: 'mislabelled'; readonly digest: string; readonly fault: SnapshotFault };

/** Throws `PolicyRefused`. */
export function compareSnapshots({ old, changed }: Sides): Compared {
  const policies = [open(old), open(changed)] as const;
  for (const [index, { digest, isVerified }] of [old, changed].entries()) {
    // Cells are compared by computed digests, never by what a file says about itself.
    const fault = isVerified ? null : verifyDecisions(policies[index] ?? policies[0]);
    if (fault !== null) return { kind: 'mislabelled', digest, fault };
  }
  return { kind: 'compared', difference: boundDifference(diffPolicies(...policies)) };
}

function open({ parts, digest }: ComparedSnapshot): Policy {
  const bytes = Buffer.concat(parts);
  if (sha256Of(bytes) !== digest)
    throw refusal('snapshot.damaged', `the bytes of ${digest} in the store are not intact: publish it again`);
  const loaded = loadSnapshot(bytes);
  if (!loaded.ok) throw snapshotRefused(loaded.fault, digest);
  return loaded.policy;
}

export interface Difference {
  /** How many cells differ, gained and lost together. */
  readonly cells: Exact;
  readonly gained: Exact;
  readonly lost: Exact;
  readonly compared: Exact;
  readonly rows: {
    readonly gained: readonly DifferenceRow[];
    readonly lost: readonly DifferenceRow[];
    /** How many more there are. */
    readonly omitted: { readonly gained: number; readonly lost: number };
  };
}

/** Like a row of `diff`, with the first entries of each of its lists. */
export interface DifferenceRow extends Pick<DiffRow, 'namespace' | 'extent' | 'except' | 'identities' | 'scopes'> {
  readonly from: string | null;
  readonly until: string | null;
  readonly causes: readonly Cause[];
  /** How many more entries each list has; absent if all are shown. */
  readonly omitted?: { readonly except: number; readonly identities: number; readonly causes: number };
}

function boundDifference({ cells, gained, lost }: DiffReport): Difference {
  const shown = (rows: readonly DiffRow[]): readonly DifferenceRow[] => rows.slice(0, SHADOW_LIMITS.rows).map(boundRow);
  const omitted = (rows: readonly DiffRow[]): number => Math.max(rows.length - SHADOW_LIMITS.rows, 0);
  return {
    cells: exactJson(cells.gained + cells.lost),
    gained: exactJson(cells.gained),
    lost: exactJson(cells.lost),
    compared: exactJson(cells.compared),
    rows: { gained: shown(gained), lost: shown(lost), omitted: { gained: omitted(gained), lost: omitted(lost) } },
  };
}

function boundRow({ namespace, extent, except, identities, scopes, from, until, causes }: DiffRow): DifferenceRow {
  const omitted = { except: beyond(except ?? []), identities: beyond(identities), causes: beyond(causes) };
  return {
    namespace,
    extent,
    ...(except === undefined ? {} : { except: first(except) }),
    identities: first(identities),
    scopes,
    from: instantJson(from),
    until: instantJson(until),
    causes: first(causes),
    ...(Object.values(omitted).some((count) => count > 0) ? { omitted } : {}),
  };
}

function first<T>(list: readonly T[]): readonly T[] {
  return list.slice(0, SHADOW_LIMITS.entries);
}

function beyond(list: readonly unknown[]): number {
  return Math.max(list.length - SHADOW_LIMITS.entries, 0);
}
