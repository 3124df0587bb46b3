// Identities grouped by what they hold. Loading has already grouped identities that hold the same grants. A proof about part of the tree
// or some of the scopes sees fewer differences, so it can merge those classes further.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { remember } from '../../model/group.js';
import { classesByPrincipal, identitiesByClass } from '../../model/holders.js';
import { type Identity } from '../../model/identity.js';
import { compareTexts } from '../../model/order.js';
import { rowsOf, sortedRows, unionOfRows } from '../../model/row-lists.js';
import { countPrincipals } from '../../model/tables.js';

/** One human or one identity, with rights that count together. */
export interface Party {
  /** The row that stands for it. */
  readonly row: number;
  /** Rows of its identities. */
  readonly identities: ArrayLike<number>;
}

/** Parties that hold exactly the same grants among those that matter. */
export interface HolderClass {
  /** Rows of principals, sorted. */
  readonly principals: readonly number[];
  /** Rows of the parties, in their order; never empty. */
  readonly parties: readonly number[];
}

/** Groups parties by their principals that matter (1 in `matters`). Parties without any such principal are in no group. */
export function groupsNear(
  policy: PreparedPolicy,
  matters: Uint8Array,
  parties: Iterable<Party>,
): readonly HolderClass[] {
  const classOf = (identity = -1): number => policy.holders.classOf[identity] ?? -1;
  const groups = new Map<string, { readonly principals: readonly number[]; readonly parties: number[] }>();
  const matteringIn = (holder: number): number[] => {
    const found: number[] = [];
    for (const principal of principalsOfClass(policy, holder)) if (matters[principal] === 1) found.push(principal);
    return found;
  };
  const groupOf = (principals: readonly number[]): { readonly parties: number[] } | null => {
    if (principals.length === 0) return null;
    const key = principals.join();
    const group = groups.get(key) ?? { principals, parties: [] };
    groups.set(key, group);
    return group;
  };
  const groupOfClass = remember((holder: number) => groupOf(matteringIn(holder)));
  for (const { row, identities } of parties) {
    const group =
      identities.length === 1
        ? groupOfClass(classOf(identities[0]))
        : groupOf([...unionOfRows(Array.from(identities, (identity) => matteringIn(classOf(identity))))]);
    group?.parties.push(row);
  }
  return [...groups.values()];
}

/** The principals with grants that a class of holders is or is in; none for -1. */
export function principalsOfClass({ holders }: Pick<PreparedPolicy, 'holders'>, holder: number): Int32Array {
  return holder < 0 ? new Int32Array(0) : holders.principals.subarray(holders.start[holder], holders.start[holder + 1]);
}

/** The principals with grants that an identity is or is in; none if the policy does not name it. */
export function principalsOf(policy: PreparedPolicy, identity: Identity): Int32Array {
  return principalsOfClass(policy, policy.holders.classOf[identityRow(policy, identity) ?? -1] ?? -1);
}

/** The row of an identity that the policy names. */
export function identityRow(
  { identityRows }: Pick<PreparedPolicy, 'identityRows'>,
  identity: Identity,
): number | undefined {
  return identityRows.get(identity.provider)?.get(identity.subject);
}

/** The sorted identities that are a principal or are in it, directly or nested. Results are remembered. */
export function makeReach(policy: PreparedPolicy): (principal: number) => Int32Array {
  const { holders, tables } = policy;
  const identitiesOf = identitiesByClass(holders);
  const classesOf = classesByPrincipal(holders, countPrincipals(tables));
  return remember((principal) => {
    const reached: number[] = [];
    for (const holder of rowsOf(classesOf, principal))
      for (const identity of rowsOf(identitiesOf, holder)) reached.push(identity);
    return Int32Array.from(reached).sort();
  });
}

/** A number with the text of what it stands for. */
interface Named {
  readonly number: number;
  readonly text: string;
}

/**
 * Sorts lists of numbers below `count` by their texts. The lists have most numbers in common, so each text is made and ranked once for
 * all of them.
 */
export function makeOrder(
  { count, textOf }: { readonly count: number; readonly textOf: (number: number) => string },
  lists: Iterable<Iterable<number>>,
): (list: Iterable<number>) => readonly Named[] {
  const rankOf = new Int32Array(count).fill(-1);
  const found: Named[] = [];
  for (const list of new Set(lists)) {
    for (const number of list) {
      if (rankOf[number] !== -1) continue;
      rankOf[number] = 0;
      found.push({ number, text: textOf(number) });
    }
  }
  found.sort((a, b) => compareTexts(a.text, b.text));
  for (const [rank, { number }] of found.entries()) rankOf[number] = rank;
  return (list) => {
    const ranks: number[] = [];
    for (const number of list) ranks.push(rankOf[number] ?? 0);
    const named: Named[] = [];
    for (const rank of sortedRows([ranks])) named.push(found[rank] ?? { number: 0, text: '' });
    return named;
  };
}
