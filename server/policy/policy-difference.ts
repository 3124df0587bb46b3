// What differs between two policies, with exact counts, and with as many rows as an answer has room for. `bailiwick
// diff` shows all rows.
import type { Cause, DiffReport, DiffRow } from '../../engine/compiler.js';
import { type Exact, exactJson, instantJson } from '../exact-json.js';
import { SHADOW_LIMITS } from '../limits/policy.js';

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

export function boundDifference({ cells, gained, lost }: DiffReport): Difference {
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
    ...{ identities: first(identities), scopes, from: instantJson(from), until: instantJson(until) },
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
