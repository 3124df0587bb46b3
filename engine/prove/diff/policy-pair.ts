// Two loaded policies in one numbering: the nodes, identities, roles and principals of either, by what they are called. All
// columns are sorted, so each pair of them is merged in one pass.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { compareTexts } from '../../model/order.js';
import type { PolicyTables } from '../../model/tables.js';
import { type CellSpace, instantsOf } from '../cells/count-cells.js';
import { makeRights, namedPaths, type Rights } from '../cells/holdings.js';
import { makeNodes } from '../cells/nodes.js';

/** One of the two policies, seen from the pair. */
export interface Side {
  readonly policy: PreparedPolicy;
  readonly rights: Rights;
  /** Common numbers of its principals. */
  readonly principalOf: Int32Array;
  /** Its row of each common principal; -1 if it has none. */
  readonly principalRow: Int32Array;
  /** Common numbers of its identities. */
  readonly identityOf: Int32Array;
  /** Its row of each common identity; -1 if it names none. */
  readonly identityRow: Int32Array;
}

export interface PolicyPair {
  readonly old: Side;
  readonly new: Side;
  readonly space: CellSpace;
  /** Identities that either policy names. */
  readonly identities: number;
  /** Common principals: roles first, then identities. */
  readonly roles: number;
}

export function makePair(old: PreparedPolicy, changed: PreparedPolicy): PolicyPair {
  const nodes = makeNodes(namedPaths(old), namedPaths(changed));
  const roles = mergeRows(old.tables.roles.name.length, changed.tables.roles.name.length, (a, b) =>
    compareTexts(old.tables.roles.name[a] ?? '', changed.tables.roles.name[b] ?? ''),
  );
  const identities = mergeRows(old.tables.identities.subject.length, changed.tables.identities.subject.length, (a, b) =>
    compareIdentities({ tables: old.tables, row: a }, { tables: changed.tables, row: b }),
  );
  const sideOf = (policy: PreparedPolicy, which: 'left' | 'right'): Side => ({
    policy,
    rights: makeRights(policy, nodes),
    principalOf: joined(
      roles[which],
      identities[which].map((row) => roles.count + row),
    ),
    principalRow: joined(
      rowsOfCommon(roles[which], roles.count),
      rowsOfCommon(identities[which], identities.count).map((row) => (row < 0 ? -1 : roles[which].length + row)),
    ),
    identityOf: identities[which],
    identityRow: rowsOfCommon(identities[which], identities.count),
  });
  return {
    old: sideOf(old, 'left'),
    new: sideOf(changed, 'right'),
    space: { nodes, instants: instantsOf([old.tables, changed.tables]) },
    identities: identities.count,
    roles: roles.count,
  };
}

interface Place {
  readonly tables: PolicyTables;
  readonly row: number;
}

function compareIdentities(a: Place, b: Place): number {
  const provider = ({ tables, row }: Place): string => tables.providers[tables.identities.provider[row] ?? 0] ?? '';
  const subject = ({ tables, row }: Place): string => tables.identities.subject[row] ?? '';
  return compareTexts(provider(a), provider(b)) || compareTexts(subject(a), subject(b));
}

export interface Merged {
  /** Common numbers by row. */
  readonly left: Int32Array;
  readonly right: Int32Array;
  readonly count: number;
}

/** Common numbers for the rows of two sorted columns: equal rows have the same, and order is kept. */
export function mergeRows(left: number, right: number, compare: (left: number, right: number) => number): Merged {
  const merged = { left: new Int32Array(left), right: new Int32Array(right) };
  let count = 0;
  for (let a = 0, b = 0; a < left || b < right; count += 1) {
    const order = a === left ? 1 : b === right ? -1 : compare(a, b);
    if (order <= 0) {
      merged.left[a] = count;
      a += 1;
    }
    if (order >= 0) {
      merged.right[b] = count;
      b += 1;
    }
  }
  return { ...merged, count };
}

/** The inverse: the row of each common number, or -1. */
export function rowsOfCommon(common: Int32Array, count: number): Int32Array {
  const rows = new Int32Array(count).fill(-1);
  common.forEach((number, row) => {
    rows[number] = row;
  });
  return rows;
}

function joined(a: Int32Array, b: Int32Array): Int32Array {
  const all = new Int32Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
