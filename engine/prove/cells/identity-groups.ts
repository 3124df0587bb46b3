// Identities grouped by what they hold near a place. Loading has already grouped identities that hold the same grants; a
// proof about part of the tree or some scopes sees fewer differences, so those groups collapse further.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import { compareTexts } from '../../model/order.js';
import { classesByPrincipal, identitiesByClass } from '../../model/holders.js';
import { rowsOf } from '../../model/row-lists.js';

/** Identities that hold exactly the same grants, as far as they matter. */
export interface Group {
  /** Rows of principals, sorted. */
  readonly principals: readonly number[];
  /** Rows of identities, sorted; never empty. */
  readonly identities: readonly number[];
}

export interface GroupFilter {
  /** 1 for the principals that matter. */
  readonly principals: Uint8Array;
  readonly counts: (identity: number) => boolean;
}

/** Only identities that hold something that matters are in a group. */
export function groupsNear(policy: PreparedPolicy, filter: GroupFilter): readonly Group[] {
  const { holders } = policy;
  const identitiesOf = identitiesByClass(holders);
  const groups = new Map<string, { principals: readonly number[]; identities: number[] }>();
  for (let holder = 0; holder < holders.count; holder += 1) {
    const all = holders.principals.subarray(holders.start[holder], holders.start[holder + 1]);
    if (!all.some((principal) => filter.principals[principal] === 1)) continue;
    const principals = [...all].filter((principal) => filter.principals[principal] === 1);
    const identities = [...rowsOf(identitiesOf, holder)].filter(filter.counts);
    if (identities.length === 0) continue;
    const key = principals.join();
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { principals, identities });
    else for (const identity of identities) known.identities.push(identity);
  }
  return [...groups.values()].map(({ principals, identities }) => ({
    principals,
    identities: identities.sort((a, b) => a - b),
  }));
}

/** The identities that are a principal or are in it, however deep. Remembers what it was asked. */
export function makeReach(policy: PreparedPolicy): (principal: number) => Int32Array {
  const { holders, tables } = policy;
  const identitiesOf = identitiesByClass(holders);
  const classesOf = classesByPrincipal(holders, tables.roles.name.length + tables.identities.subject.length);
  const known = new Map<number, Int32Array>();
  return (principal) => {
    const before = known.get(principal);
    if (before !== undefined) return before;
    const reached: number[] = [];
    for (const holder of rowsOf(classesOf, principal)) {
      for (const identity of rowsOf(identitiesOf, holder)) reached.push(identity);
    }
    const sorted = Int32Array.from(reached).sort();
    known.set(principal, sorted);
    return sorted;
  };
}

/** `provider:subject` */
export function identityText({ tables }: PreparedPolicy, identity: number): string {
  const provider = tables.providers[tables.identities.provider[identity] ?? 0] ?? '';
  return formatIdentity({ provider, subject: tables.identities.subject[identity] ?? '' });
}

/** Identities as texts, sorted by code point. Each text is made once, on first use, however many lists it is in. */
export function makeTexts(policy: PreparedPolicy): (identities: Iterable<number>) => readonly string[] {
  let sorted: readonly string[] = [];
  let placeOf = new Int32Array(0);
  return (identities) => {
    if (sorted.length === 0) {
      const texts = policy.tables.identities.subject.map((_, identity) => identityText(policy, identity));
      const order = [...texts.keys()].sort((a, b) => compareTexts(texts[a] ?? '', texts[b] ?? ''));
      sorted = order.map((identity) => texts[identity] ?? '');
      placeOf = new Int32Array(order.length);
      for (const [place, identity] of order.entries()) placeOf[identity] = place;
    }
    const places = Int32Array.from(identities, (identity) => placeOf[identity] ?? 0).sort();
    return Array.from(places, (place) => sorted[place] ?? '');
  };
}

/** The rows of the principals with grants that an identity is or is in; none for one that the policy does not name. */
export function principalsOf({ identityRows, holders }: PreparedPolicy, { provider, subject }: Identity): Int32Array {
  const row = identityRows.get(provider)?.get(subject);
  const holder = row === undefined ? -1 : (holders.classOf[row] ?? -1);
  return holder < 0 ? new Int32Array(0) : holders.principals.subarray(holders.start[holder], holders.start[holder + 1]);
}
