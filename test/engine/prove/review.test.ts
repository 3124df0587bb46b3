// Access reviews against brute force over small worlds: each cell that is held is in exactly the rights of the grants that give it, and
// what has become of decided rights is what the cells say, one by one.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type HeldRight,
  heldRights,
  type Region,
  type ReviewedRight,
  reviewRights,
  type RightsSelection,
} from '../../../engine/compiler.js';
import { formatIdentity, instantOf, type NamespacePath, parseIdentity } from '../../../engine/index.js';
import type { PolicyRole, PolicySet } from '../../../engine/model/policy-set.js';
import { isAtOrBelow } from '../oracle/oracle.js';
import { anyScope, grantBody, IDENTITIES, pathOf, policyOf, UNIVERSE, windowedWorld, world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { holds, isDuring, isInRegion, load, TIMES } from './brute.js';

const MOST = 10_000;
const anyWorld = fc.oneof(world, windowedWorld);
const selections: fc.Arbitrary<RightsSelection> = fc.record({
  at: fc.constantFrom(-1, 0, 5, 10, 25).map(instantOf),
  under: fc.oneof(fc.constant(pathOf('/')), fc.constantFrom(...UNIVERSE)),
  identities: fc.option(fc.subarray([...IDENTITIES]), { freq: 1 }),
  scopes: fc.option(fc.uniqueArray(anyScope, { maxLength: 6 }), { freq: 1 }),
});

interface Cell {
  readonly identity: string;
  readonly path: NamespacePath;
  readonly scope: string;
  readonly at: number;
  /** Ids of the grants that give it, sorted. */
  readonly grants: readonly string[];
}

/** Every cell that is selected and held, with the grants that give it. */
function cellsOf(set: PolicySet, { at: since, under, identities, scopes }: RightsSelection): readonly Cell[] {
  const held = holds(set);
  const paths = UNIVERSE.filter((path) => isAtOrBelow(path, under));
  return (identities ?? IDENTITIES).flatMap((who) =>
    paths.flatMap((path) =>
      TIMES.filter((at) => at >= since).flatMap((at) =>
        [...held(who, path, at)]
          .filter(([scope]) => scopes?.includes(scope) ?? true)
          .map(([scope, grants]) => ({ identity: formatIdentity(who), path, scope, at, grants: [...grants].sort() })),
      ),
    ),
  );
}

function keyOf({ identity, path, scope, at }: Cell): string {
  return [identity, path, scope, String(at)].join(' ');
}

type Covering = Region & Pick<HeldRight, 'scopes' | 'from' | 'until'>;

function covers(right: Covering, { path, scope, at }: Cell): boolean {
  return isInRegion(right, path) && isDuring(right, at) && right.scopes.some((one) => one === scope);
}

/** Every cell that there is, held or not. */
function everyCell({ at: since, under }: RightsSelection, scopes: readonly string[]): readonly Cell[] {
  return IDENTITIES.flatMap((who) =>
    UNIVERSE.filter((path) => isAtOrBelow(path, under)).flatMap((path) =>
      TIMES.filter((at) => at >= since).flatMap((at) =>
        scopes.map((scope) => ({ identity: formatIdentity(who), path, scope, at, grants: [] })),
      ),
    ),
  );
}

function reviewed(right: HeldRight, decision: ReviewedRight['decision']): ReviewedRight {
  const { identity: text, namespace, extent, scopes, from, until } = right;
  const identity = parseIdentity(text);
  if (!identity.ok) throw new Error(text);
  return { identity: identity.identity, namespace, extent, scopes, from, until, decision };
}

describe('the rights that a review lists', () => {
  it('cover each cell by exactly the grants that give it, each once, and nothing else', () => {
    let cells = 0;
    const property = fc.property(anyWorld, selections, (set, selection) => {
      const rights = heldRights(load(set), selection, MOST) ?? [];
      const expected = new Map(cellsOf(set, selection).map((cell) => [keyOf(cell), cell.grants]));
      const scopes = [...new Set(rights.flatMap((right) => right.scopes))];
      const found = new Map(
        everyCell(selection, scopes).flatMap((cell) => {
          const ids = rights
            .filter((right) => right.identity === cell.identity && covers(right, cell))
            .map(({ grant }) => grant.id);
          return ids.length === 0 ? [] : [[keyOf(cell), ids.sort()] as const];
        }),
      );
      // As sorted lists: an id twice would show.
      expect([...found].sort()).toEqual([...expected].sort());
      for (const { namespace } of rights) expect(isAtOrBelow(namespace, selection.under)).toBe(true);
      cells += expected.size;
    });
    fc.assert(property, testRuns({ usual: 50, deep: 300 }));
    expect(cells).toBeGreaterThan(2000);
  });

  it('name ways that the policy has, from the identity to the role of the grant, one for each role that lists it', () => {
    let chains = 0;
    const property = fc.property(anyWorld, selections, (set, selection) => {
      const roles = new Map(set.roles.map((role) => [role.name, role]));
      for (const { identity, grant, ways } of heldRights(load(set), selection, MOST) ?? []) {
        const stated = set.grants.find(({ id }) => id === grant.id);
        expect(ways.length).toBeGreaterThan(0);
        expect(new Set(ways.map((way) => JSON.stringify(way))).size).toBe(ways.length);
        for (const way of ways) {
          let member = identity;
          for (const link of way) {
            expect(namesOf(roles.get(link.role))).toContain(member);
            member = link.role;
          }
          const principal = stated?.principal;
          expect(principal?.kind === 'role' ? principal.role : formatIdentity(principal?.identity ?? ADA)).toBe(member);
          chains += way.length > 1 ? 1 : 0;
        }
      }
    });
    fc.assert(property, testRuns({ usual: 60, deep: 200 }));
    expect(chains).toBeGreaterThan(2);
  });

  it('are none rather than some if there would be too many', () => {
    const set = policyOf([], [grant({}), grant({ namespace: pathOf('/a') })]);
    const selection = { at: instantOf(0), under: pathOf('/'), identities: null, scopes: null };
    expect(heldRights(load(set), selection, 1)).toBeNull();
    expect(heldRights(load(set), selection, 2)).toHaveLength(2);
    expect(heldRights(load(set), { ...selection, identities: [] }, 1)).toEqual([]);
    expect(heldRights(load(set), { ...selection, scopes: [] }, 1)).toEqual([]);
  });
});

const [ADA = { provider: '', subject: '' }] = IDENTITIES;

function grant(parts: Partial<PolicySet['grants'][number]>): Omit<PolicySet['grants'][number], 'id'> {
  const [body] = fc.sample(grantBody, { numRuns: 1, seed: 7 });
  if (body === undefined) throw new Error('there is a sample');
  const whole = { notBefore: null, expires: null, principal: { kind: 'identity', identity: ADA } } as const;
  return { ...body, ...whole, ...parts };
}

function namesOf(role: PolicyRole | undefined): readonly string[] {
  return (role?.members ?? []).map((member) =>
    member.kind === 'role' ? member.role : formatIdentity(member.identity),
  );
}

/** The second world is the first with some of it replaced, or another one. */
const pairOfWorlds = fc.oneof(
  // Each grant twice: what one row gives, another one gives too.
  fc
    .tuple(anyWorld, anyWorld)
    .map(([old, now]): [PolicySet, PolicySet] => [
      { ...old, grants: [...old.grants, ...old.grants.map((one) => ({ ...one, id: `copy-of-${one.id}` }))] },
      now,
    ]),
  fc.tuple(anyWorld, anyWorld),
  fc
    .tuple(anyWorld, anyWorld, fc.array(grantBody, { maxLength: 2 }), fc.nat())
    .map(([old, other, more, left]): [PolicySet, PolicySet] => [
      old,
      {
        ...old,
        roles: left % 2 === 0 ? old.roles : other.roles,
        grants: [
          ...old.grants.filter((_, i) => i !== left % 7),
          ...more.map((one, i) => ({ ...one, id: `more${String(i)}` })),
        ],
      },
    ]),
);

/** Mostly of everything, so that there is something to decide. */
const reviews = fc.oneof(
  fc.record({
    at: fc.constantFrom(-1, 0, 5).map(instantOf),
    under: fc.constant(pathOf('/')),
    identities: fc.constant(null),
    scopes: fc.constant(null),
  }),
  selections,
);

describe('what has become of rights', () => {
  it('is what their cells say, one by one, whatever the grants are called now', () => {
    const seen = new Map<string, number>();
    const decisions = fc.array(fc.constantFrom('keep', 'revoke', 'revoke', null), { minLength: 1, maxLength: 9 });
    const property = fc.property(
      pairOfWorlds,
      reviews,
      decisions,
      fc.constantFrom(-1, 5, 20),
      ([old, now], start, made, later) => {
        const rights = (heldRights(load(old), start, MOST) ?? []).map((right, i) =>
          reviewed(right, made[i % made.length] ?? null),
        );
        const selection = { ...start, at: instantOf(Math.max(start.at, later)) };
        const present = new Map(cellsOf(now, selection).map((cell) => [keyOf(cell), cell]));
        const answer = reviewRights(load(now), rights, selection);
        const scopes = [
          ...new Set([...rights.flatMap((right) => right.scopes), ...[...present.values()].map(({ scope }) => scope)]),
        ];
        const every = everyCell(selection, scopes);
        const isIn = (right: ReviewedRight, cell: Cell): boolean =>
          formatIdentity(right.identity) === cell.identity && covers(right, cell);

        rights.forEach((right, index) => {
          const toGo = every.filter(
            (cell) =>
              isIn(right, cell) &&
              (right.decision !== 'revoke' ||
                !rights.some((other) => other.decision !== 'revoke' && isIn(other, cell))),
          );
          const held = toGo.filter((cell) => present.has(keyOf(cell)));
          const hasEnded = !every.some((cell) => isIn(right, cell));
          const state = hasEnded
            ? 'ended'
            : toGo.length === 0
              ? 'covered'
              : held.length === 0
                ? 'gone'
                : held.length < toGo.length
                  ? 'partly'
                  : 'held';
          expect(answer.rights[index]?.state).toBe(state);
          seen.set(state, (seen.get(state) ?? 0) + 1);
          const left = answer.rights[index]?.left ?? [];
          const identity = formatIdentity(right.identity);
          const leftCells = every.filter((cell) => cell.identity === identity && left.some((one) => covers(one, cell)));
          expect(leftCells.map(keyOf)).toEqual(right.decision === 'revoke' ? held.map(keyOf) : []);
          // Each part names all grants that give it, and no other.
          for (const part of left) {
            const cells = every.filter((cell) => cell.identity === identity && covers(part, cell));
            const giving = new Set(cells.flatMap((cell) => present.get(keyOf(cell))?.grants ?? []));
            expect(part.grants.map(({ id }) => id).sort()).toEqual([...giving].sort());
          }
        });

        const appeared = every.filter((cell) => present.has(keyOf(cell)) && !rights.some((right) => isIn(right, cell)));
        const found = every.filter((cell) =>
          answer.appeared.some((row) => row.identities.includes(cell.identity) && covers(row, cell)),
        );
        expect(found.map(keyOf)).toEqual(appeared.map(keyOf));
        for (const row of answer.appeared) expect(row.causes.length).toBeGreaterThan(0);
        if (appeared.length > 0) seen.set('appeared', (seen.get('appeared') ?? 0) + 1);
      },
    );
    fc.assert(property, testRuns({ usual: 40, deep: 300 }));
    for (const state of ['ended', 'covered', 'gone', 'partly', 'held', 'appeared'])
      expect([state, (seen.get(state) ?? 0) > 0]).toEqual([state, true]);
  });
});
