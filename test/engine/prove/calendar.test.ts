// What changes by itself, against brute force over small worlds: everybody is asked right before and at each instant, everywhere.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { calendarOf, type CalendarRow, checkGuardrails } from '../../../engine/compiler.js';
import { formatIdentity, type Instant, instantOf, type NamespacePath, type ScopeSet } from '../../../engine/index.js';
import type { GuardrailRule, PolicySet } from '../../../engine/model/policy-set.js';
import { IDENTITIES, pathOf, UNIVERSE, windowedWorld, world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { EVERYONE, type Held, holds, isInRegion, load, withRule } from './brute.js';

const CUTS = [0, 10, 20];
const window = fc.constantFrom([-5, 25], [0, 20], [1, 21], [0, 1], [10, 30]).map(([from = 0, until = 0]) => ({
  from: instantOf(from),
  until: instantOf(until),
}));

/** What everybody holds at an instant, everywhere, as texts. */
function heldAt(held: Held, at: number): ReadonlySet<string> {
  const found = new Set<string>();
  for (const identity of IDENTITIES)
    for (const path of UNIVERSE)
      for (const scope of held(identity, path, at).keys()) found.add(`${formatIdentity(identity)} ${scope} ${path}`);
  return found;
}

function cellsOf(rows: readonly CalendarRow[]): readonly { readonly cell: string; readonly row: CalendarRow }[] {
  return rows.flatMap((row) =>
    row.identities.flatMap((identity) =>
      UNIVERSE.filter((path) => isInRegion(row, path)).flatMap((path) =>
        row.scopes.map((scope) => ({ cell: `${identity} ${scope} ${path}`, row })),
      ),
    ),
  );
}

describe('calendar', () => {
  it('has each instant of change, exactly what changes then, until when, and why', () => {
    let changes = 0;
    const property = fc.property(fc.oneof(world, windowedWorld), window, (set, { from, until }) => {
      const held = holds(set);
      const states = new Map([-1, 0, 9, 10, 19, 20].map((at) => [at, heldAt(held, at)]));
      const stateAt = (at: number): ReadonlySet<string> => states.get(at) ?? new Set();
      const isHeldSince = (cell: string, at: number): readonly boolean[] =>
        CUTS.filter((cut) => cut >= at).map((cut) => stateAt(cut).has(cell));
      const calendar = calendarOf(load(set), { from, until });
      expect(calendar).toMatchObject({ from, until, unproved: [] });
      expect(calendar.cutAt).toBeUndefined();
      const expected = CUTS.filter((cut) => from <= cut && cut < until).flatMap((at) => {
        const [before, now] = [stateAt(at - 1), stateAt(at)];
        const gained = [...now].filter((cell) => !before.has(cell)).sort();
        const lost = [...before].filter((cell) => !now.has(cell)).sort();
        return gained.length + lost.length === 0 ? [] : [{ at, gained, lost }];
      });
      const found = calendar.changes.map(({ at, gained, lost }) => {
        const cells = { gained: cellsOf(gained), lost: cellsOf(lost) };
        for (const kind of ['gained', 'lost'] as const)
          for (const { cell, row } of cells[kind]) {
            expect(row.from).toBe(at);
            const states = isHeldSince(cell, at);
            const turn = states.indexOf(kind === 'lost');
            expect(row.until).toBe(turn < 0 ? null : CUTS.filter((cut) => cut >= at)[turn]);
          }
        for (const row of [...gained, ...lost]) expect(row.causes.length).toBeGreaterThan(0);
        const texts = (list: readonly { readonly cell: string }[]): readonly string[] =>
          list.map(({ cell }) => cell).sort();
        return { at, gained: texts(cells.gained), lost: texts(cells.lost) };
      });
      expect(found).toEqual(expected);
      changes += found.length;
    });
    fc.assert(property, testRuns({ usual: 60, deep: 200 }));
    expect(changes).toBeGreaterThan(20);
  });

  it('says when guardrails break and come to hold', () => {
    const under = pathOf('/a');
    const write = 2 as ScopeSet;
    const rules: readonly GuardrailRule[] = [
      { kind: 'never', scopes: write, under, ...EVERYONE },
      { kind: 'atMost', scopes: write, identities: 1, groups: 0, at: { kind: 'path', path: under }, ...EVERYONE },
      { kind: 'atLeast', scopes: write, identities: 2, at: { kind: 'path', path: under } },
    ];
    let turns = 0;
    const property = fc.property(
      fc.oneof(world, windowedWorld),
      fc.constantFrom(...rules),
      window,
      (set, rule, { from, until }) => {
        const guarded = withRule(set, rule);
        const policy = load(guarded);
        const { violations } = checkGuardrails(guarded, policy);
        const isBroken = (at: number): boolean => isBrokenAt(guarded, rule, at);
        const expected = CUTS.filter((cut) => from <= cut && cut < until)
          .filter((at) => isBroken(at - 1) !== isBroken(at))
          .map((at) => ({ at, guardrails: [{ id: 'rule', holds: !isBroken(at) }] }));
        const { changes } = calendarOf(policy, { from, until, violations });
        const found = changes.filter(({ guardrails }) => guardrails.length > 0);
        expect(found.map(({ at, guardrails }) => ({ at, guardrails }))).toEqual(expected);
        turns += found.length;
      },
    );
    fc.assert(property, testRuns({ usual: 150, deep: 300 }));
    expect(turns).toBeGreaterThan(10);
  });

  it('is complete up to the instant at which it is cut', () => {
    const property = fc.property(world, fc.integer({ min: 0, max: 2000 }), (set, calendarSteps) => {
      const policy = load(set);
      const request = { from: instantOf(-5), until: instantOf(25) };
      const whole = calendarOf(policy, request);
      const cut = calendarOf(policy, { ...request, limits: { calendarSteps } });
      const { cutAt } = cut;
      const before = whole.changes.filter(({ at }) => cutAt === undefined || at < cutAt);
      expect(cut.changes).toEqual(before);
      // Where there is anything, at least the first instant is there.
      if (whole.changes.length === 0) expect(cut.changes).toEqual([]);
      if (cutAt !== undefined) expect(CUTS).toContain(cutAt);
    });
    fc.assert(property, testRuns({ usual: 60, deep: 200 }));
  });

  it('names the window that begins or ends: of the grant, or of the membership', () => {
    const set: PolicySet = {
      ...base(),
      roles: [
        {
          name: 'crew',
          description: null,
          place: null,
          members: [
            { kind: 'identity', identity: ADA, place: null },
            { kind: 'identity', identity: BOB, place: null, notBefore: instantOf(10), expires: instantOf(20) },
          ],
        },
      ],
      grants: [
        {
          id: 'read',
          principal: { kind: 'role', role: 'crew' },
          namespace: pathOf('/a'),
          scopes: 1 as ScopeSet,
          inherit: true,
          notBefore: instantOf(0),
          expires: instantOf(20),
          reason: null,
          place: null,
        },
      ],
    };
    const { changes } = calendarOf(load(set), { from: at(-5), until: at(25) });
    const short = changes.map((change) => ({
      at: change.at,
      gained: change.gained.map(({ identities, until, causes }) => [identities, until, causes.map(causeText)]),
      lost: change.lost.map(({ identities, until, causes }) => [identities, until, causes.map(causeText)]),
    }));
    expect(short).toEqual([
      { at: 0, gained: [[['orcid:ada'], 20, ['begins grant read']]], lost: [] },
      { at: 10, gained: [[['orcid:bob'], 20, ['begins member orcid:bob']]], lost: [] },
      {
        at: 20,
        gained: [],
        lost: [[['orcid:ada', 'orcid:bob'], null, ['ends grant read', 'ends member orcid:bob']]],
      },
    ]);
  });
});

const [ADA, BOB] = [
  { provider: 'orcid', subject: 'ada' },
  { provider: 'orcid', subject: 'bob' },
];

function at(milliseconds: number): Instant {
  return instantOf(milliseconds);
}

function causeText(cause: CalendarRow['causes'][number]): string {
  return `${cause.change} ${cause.kind} ${cause.kind === 'grant' ? cause.id : cause.kind === 'member' ? cause.member : ''}`;
}

function base(): PolicySet {
  return {
    name: 'world',
    providers: [{ name: 'orcid', description: null }],
    ...{ roles: [], grants: [], tests: [], people: [], exclusive: [], folders: [], guardrails: [] },
  };
}

/** Who holds it is counted at each path that the rule is about. */
function isBrokenAt(set: PolicySet, rule: GuardrailRule, instant: number): boolean {
  const held = holds(set);
  const holders = (path: NamespacePath): number =>
    IDENTITIES.filter((identity) => held(identity, path, instant).has('namespace:write')).length;
  if (rule.kind === 'never')
    return UNIVERSE.some((path) => (path === rule.under || path.startsWith(`${rule.under}/`)) && holders(path) > 0);
  return rule.kind === 'atMost' ? holders(pathOf('/a')) > 1 : holders(pathOf('/a')) < 2;
}
