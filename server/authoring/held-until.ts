// What somebody holds, and until when. A grant that is narrowed for a member is a grant of its own in a compiled policy.
import { type GrantRow, type HeldRegion, type PolicyRows, policyRows, whatCan } from '../../engine/compiler.js';
import { formatIdentity, type Identity, type Instant, type Policy, type ScopeName } from '../../engine/index.js';

/** Scopes that are held until the same instant. */
export interface RegionUntil extends HeldRegion {
  /** When the last of the grants ends that hold them; null if it never does. */
  readonly until: number | null;
}

interface Asked {
  readonly identities: readonly Identity[];
  readonly at: Instant;
}

/** As `whatCan`, with a region once for each end of its scopes. What ends first is first. */
export function heldUntil(policy: Policy, asked: Asked): readonly RegionUntil[] {
  const endOf = endsFor(policy, asked);
  return whatCan(policy, asked).flatMap((region) => {
    const ends = grouped(region.scopes, (scope) =>
      region.grants.reduce((last, { id }) => Math.max(last, endOf(id, scope)), -Infinity),
    );
    return [...ends]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([end, scopes]) => ({
        ...region,
        scopes,
        grants: region.grants.filter(({ id }) => scopes.some((scope) => endOf(id, scope) > -Infinity)),
        until: Number.isFinite(end) ? end : null,
      }));
  });
}

interface Ends {
  readonly principals: PolicyRows['principals'];
  readonly grants: ReadonlyMap<string, readonly GrantRow[]>;
  readonly members: ReadonlyMap<number, PolicyRows['members']>;
}

/** A large policy has many rows, and one person after another is asked about. */
const known = new WeakMap<Policy, Ends>();

function endsOf(policy: Policy): Ends {
  const { principals, grants, members } = policyRows(policy);
  return {
    principals,
    grants: grouped(grants, ({ id }) => id),
    members: grouped(members, ([, member]) => member),
  };
}

/**
 * When a grant ends to give them a scope; minus infinity if it does not give it now. A row that begins before another ends
 * goes on from it.
 */
function endsFor(policy: Policy, { identities, at }: Asked): (grant: string, scope: ScopeName) => number {
  const ends = known.get(policy) ?? endsOf(policy);
  known.set(policy, ends);
  const names = new Set(identities.map(formatIdentity));
  const theirs = new Set<number>();
  const add = (principal: number): void => {
    if (theirs.has(principal)) return;
    theirs.add(principal);
    for (const [role] of ends.members.get(principal) ?? []) add(role);
  };
  ends.principals.forEach(({ kind, name }, row) => {
    if (kind === 'identity' && names.has(name)) add(row);
  });
  return (grant, scope) => {
    const rows = (ends.grants.get(grant) ?? [])
      .filter(({ principal, scopes }) => theirs.has(principal) && scopes.includes(scope))
      .sort((a, b) => a.from - b.from);
    let end: number = at;
    for (const { from, until } of rows) if (from <= end && end < until) end = until;
    return end === at ? -Infinity : end;
  };
}

/** `Map.groupBy`, which Node 20 does not have. */
function grouped<Thing, Key>(
  things: readonly Thing[],
  keyOf: (thing: Thing) => Key,
): ReadonlyMap<Key, readonly Thing[]> {
  const groups = new Map<Key, Thing[]>();
  for (const thing of things) {
    const key = keyOf(thing);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [thing]);
    else group.push(thing);
  }
  return groups;
}
