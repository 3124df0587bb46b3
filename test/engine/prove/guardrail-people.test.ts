// Guardrails over people, with `to` and `except`, against brute force: whoever a rule speaks of is computed identity by
// identity as the language says it, what they hold together cell by cell, and every witness and repair is held to that.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ENGINE_LIMITS, type EngineLimits } from '../../../engine/compiler.js';
import { formatIdentity, type Identity, type NamespacePath, scopeNames, type ScopeSet } from '../../../engine/index.js';
import type {
  Audience,
  Exemption,
  GuardrailRule,
  Parties,
  PolicyGrant,
  PolicyPerson,
  PolicySet,
} from '../../../engine/model/policy-set.js';
import { checkGuardrails, type GuardrailViolation } from '../../../engine/prove/guardrails/check-guardrails.js';
import type { Witness } from '../../../engine/prove/guardrails/witness.js';
import { testRuns } from '../../support/test-runs.js';
import { isAtOrBelow } from '../oracle/oracle.js';
import { anyPath, IDENTITIES, orOwnScopes, pathOf, STRANGER, UNIVERSE, world } from '../oracle/worlds.js';
import { EVERYONE, holds, isDuring, isInRegion, load, TIMES } from './brute.js';

const ALL = [...IDENTITIES, STRANGER];
const ROLES = ['crew', 'leads', 'staff'];

function checkOne(
  set: PolicySet,
  rule: GuardrailRule,
  limits: EngineLimits = ENGINE_LIMITS,
): GuardrailViolation | null {
  const guarded = { ...set, guardrails: [{ id: 'rule', description: null, rule, place: null }] };
  return checkGuardrails(guarded, load(guarded), limits).violations[0] ?? null;
}

/** Each identity is nobody's, or of one of two people. */
const somePeople: fc.Arbitrary<readonly PolicyPerson[]> = fc
  .tuple(...ALL.map(() => fc.constantFrom(null, 'pat', 'quin')))
  .map((owners) =>
    ['pat', 'quin']
      .map((name) => ({ name, identities: ALL.filter((_, i) => owners[i] === name), place: null }))
      .filter(({ identities }) => identities.length > 0),
  );
const peopled: fc.Arbitrary<PolicySet> = fc.tuple(world, somePeople).map(([set, people]) => ({ ...set, people }));

const exemption: fc.Arbitrary<Exemption> = fc.record({
  roles: fc.subarray(ROLES, { maxLength: 1 }),
  identities: fc.subarray(ALL, { maxLength: 1 }),
});
const audience: fc.Arbitrary<Audience> = fc.record({
  providers: fc.subarray(['github', 'orcid'], { maxLength: 1 }),
  roles: fc.subarray(ROLES, { maxLength: 1 }),
  identities: fc.subarray(ALL, { maxLength: 2 }),
});
const parties: fc.Arbitrary<Parties> = fc.record({ to: fc.option(audience, { freq: 4 }), except: exemption });
const scopeSet = fc.oneof(fc.constantFrom(1, 2, 3, 16, 32, 48), fc.integer({ min: 1, max: 1023 }));
const scopes = orOwnScopes(scopeSet.map((bits) => bits as ScopeSet));
/** Mostly near the root, where more people hold something. */
const place = fc.oneof(
  fc.constant({ kind: 'every-top-level' } as const),
  fc.oneof(anyPath, fc.constantFrom('/', '/a', '/b').map(pathOf)).map((path) => ({ kind: 'path', path }) as const),
);
const count = fc.record({ identities: fc.integer({ min: 0, max: 3 }), scopes, at: place });

function isInRole(set: PolicySet, name: string, who: string): boolean {
  const members = set.roles.find((role) => role.name === name)?.members ?? [];
  return members.some((member) =>
    member.kind === 'role' ? isInRole(set, member.role, who) : formatIdentity(member.identity) === who,
  );
}

function isNamed(set: PolicySet, named: Exemption & Partial<Audience>, who: string): boolean {
  return (
    named.identities.some((one) => formatIdentity(one) === who) ||
    named.roles.some((role) => isInRole(set, role, who)) ||
    (named.providers ?? []).some((provider) => who.startsWith(`${provider}:`))
  );
}

interface Human {
  /** Null if `people` does not name them. */
  readonly name: string | null;
  readonly identities: readonly Identity[];
}

/** Whom a rule speaks of, with those of their identities that count. */
function spokenOf(set: PolicySet, { to, except }: Parties): readonly Human[] {
  const named = set.people.map(({ name, identities }): Human => ({ name, identities }));
  const owned = new Set(named.flatMap(({ identities }) => identities.map(formatIdentity)));
  const single = ALL.filter((one) => !owned.has(formatIdentity(one)));
  return [...named, ...single.map((one): Human => ({ name: null, identities: [one] }))]
    .map((human) => ({
      ...human,
      identities: human.identities.filter((one) => !isNamed(set, except, formatIdentity(one))),
    }))
    .filter(({ identities }) => identities.some((one) => to === null || isNamed(set, to, formatIdentity(one))));
}

/** By scope, which identities of a human give it by which grants. */
type Together = ReadonlyMap<string, readonly { readonly who: string; readonly grants: readonly string[] }[]>;

function together(set: PolicySet, human: Human): (path: NamespacePath, at: number) => Together {
  const held = holds(set);
  return (path, at) => {
    const all = new Map<string, { who: string; grants: readonly string[] }[]>();
    for (const identity of human.identities) {
      for (const [scope, grants] of held(identity, path, at))
        all.set(scope, [...(all.get(scope) ?? []), { who: formatIdentity(identity), grants }]);
    }
    return all;
  };
}

interface Cell {
  readonly human: Human;
  readonly scope: string;
  readonly path: NamespacePath;
  readonly at: number;
  readonly grants: readonly string[];
}

const labelOf = (human: Human): string => human.name ?? human.identities.map(formatIdentity).join();
const cellText = ({ human, scope, path, at }: Omit<Cell, 'grants'>): string =>
  `${labelOf(human)} ${scope} ${path} ${String(at)}`;

/** Of each class at or below a namespace that need not be a node one path at least. */
function pathsUnder(under: NamespacePath): readonly NamespacePath[] {
  const all = new Set([...UNIVERSE, under, pathOf(under === '/' ? '/z' : `${under}/z`)]);
  return [...all].filter((path) => isAtOrBelow(path, under));
}

type CellRule = GuardrailRule & { readonly kind: 'never' | 'separate' };

/** What each human holds together that breaks the rule. */
function brokenCells(set: PolicySet, rule: CellRule): readonly Cell[] {
  return spokenOf(set, rule).flatMap((human) => {
    const holding = together(set, human);
    return pathsUnder(rule.under).flatMap((path) =>
      TIMES.flatMap((at) => {
        const here = holding(path, at);
        const sides =
          rule.kind === 'never' ? [] : rule.sides.filter((side) => scopeNames(side).some((scope) => here.has(scope)));
        const counted =
          rule.kind === 'never' ? scopeNames(rule.scopes) : sides.length < 2 ? [] : sides.flatMap(scopeNames);
        return [...new Set(counted)].flatMap((scope) => {
          const by = here.get(scope);
          return by === undefined ? [] : [{ human, scope, path, at, grants: by.flatMap(({ grants }) => grants) }];
        });
      }),
    );
  });
}

/** The humans of a witness, each of whose identities is told exactly if it holds one of the witness's grants. */
function humansOf(set: PolicySet, rule: Parties, witness: Witness): readonly Human[] {
  const humans = spokenOf(set, rule).filter(({ identities }) =>
    identities.some((one) => witness.identities.includes(formatIdentity(one))),
  );
  const named = witness.grants.map(({ id }) => id);
  const holdsGrant = (one: Identity, grant: PolicyGrant): boolean =>
    grant.principal.kind === 'role'
      ? isInRole(set, grant.principal.role, formatIdentity(one))
      : formatIdentity(grant.principal.identity) === formatIdentity(one);
  const ownOf = (one: Identity): readonly PolicyGrant[] =>
    set.grants.filter((grant) => named.includes(grant.id) && holdsGrant(one, grant));
  const bringing = humans.map((human) => ({
    ...human,
    identities: human.identities.filter((one) => ownOf(one).length > 0),
    namedBy: human.identities.filter((one) => rule.to !== null && isNamed(set, rule.to, formatIdentity(one))),
  }));
  expect(witness.identities).toEqual(bringing.flatMap(({ identities }) => identities.map(formatIdentity)).sort());
  const people = bringing
    .filter(({ name }) => name !== null)
    .map(({ name, identities, namedBy }) => ({
      person: name,
      ...(namedBy.length > 0 && !namedBy.some((one) => identities.includes(one))
        ? { namedBy: namedBy.map(formatIdentity).sort() }
        : {}),
      identities: identities
        .map((one) => {
          const own = ownOf(one);
          const given = new Set(own.flatMap((grant) => scopeNames(grant.scopes)));
          const brought = witness.scopes.filter((scope) => given.has(scope));
          return { identity: formatIdentity(one), scopes: brought, grants: own.map(({ id }) => id).sort() };
        })
        .sort((a, b) => (a.identity < b.identity ? -1 : 1)),
    }))
    .sort((a, b) => ((a.person ?? '') < (b.person ?? '') ? -1 : 1));
  expect(witness.people ?? []).toEqual(people);
  return humans;
}

function without(set: PolicySet, left: readonly string[]): PolicySet {
  return { ...set, grants: set.grants.filter(({ id }) => !left.includes(id)) };
}

/** The repair makes the rule hold, and with any one of its grants back it does not. */
function expectMinimalRepair(
  set: PolicySet,
  violation: GuardrailViolation,
  isBroken: (changed: PolicySet) => boolean,
): void {
  const repair = violation.repair.map(({ id }) => id);
  expect(isBroken(without(set, repair))).toBe(false);
  for (const spared of repair)
    expect([
      spared,
      isBroken(
        without(
          set,
          repair.filter((id) => id !== spared),
        ),
      ),
    ]).toEqual([spared, true]);
}

/** How often what a property is about came up, so that it is not proved of nothing. */
interface Seen {
  held: number;
  broken: number;
  /** Broken by a human through several identities. */
  joined: number;
  /** Held only because `to` or `except` leaves somebody out. */
  narrowed: number;
}

const nothingSeen = (): Seen => ({ held: 0, broken: 0, joined: 0, narrowed: 0 });

function note(seen: Seen, violation: GuardrailViolation | null, isBrokenForAll: boolean): void {
  seen[violation === null ? 'held' : 'broken'] += 1;
  if (violation === null && isBrokenForAll) seen.narrowed += 1;
  const several = violation?.witnesses.some(({ people = [] }) =>
    people.some(({ identities }) => identities.length > 1),
  );
  if (several === true) seen.joined += 1;
}

const isOften = ({ held, broken, joined, narrowed }: Seen): boolean => Math.min(held, broken, joined, narrowed) > 4;

describe.each(['never', 'separate'] as const)('%s', (kind) => {
  const rule: fc.Arbitrary<CellRule> =
    kind === 'never'
      ? fc
          .record({ scopes, under: anyPath, parties })
          .map(({ parties: who, ...rest }) => ({ kind: 'never', ...rest, ...who }))
      : fc
          .record({ sides: fc.array(scopes, { minLength: 2, maxLength: 3 }), under: anyPath, parties })
          .map(({ parties: who, ...rest }) => ({ kind: 'separate', ...rest, ...who }));

  it('is broken by exactly what people that it speaks of hold together, and repaired minimally', () => {
    const seen = nothingSeen();
    const property = fc.property(peopled, rule, (set, chosen) => {
      const violation = checkOne(set, chosen);
      const cells = brokenCells(set, chosen);
      const byText = new Map(cells.map((cell) => [cellText(cell), cell]));
      const witnessed = (violation?.witnesses ?? []).flatMap((witness) => {
        const paths = pathsUnder(chosen.under).filter((path) => isInRegion(witness, path));
        const times = TIMES.filter((at) => isDuring(witness, at));
        const own = humansOf(set, chosen, witness).flatMap((human) =>
          paths.flatMap((path) =>
            times.flatMap((at) => witness.scopes.map((scope) => cellText({ human, scope, path, at }))),
          ),
        );
        const carrying = new Set(own.flatMap((text) => byText.get(text)?.grants ?? []));
        // Grants of `never` stand alone, those of `separate` are all that carry one of the cells.
        for (const { id } of witness.grants) expect([...carrying]).toContain(id);
        if (kind === 'separate') expect(witness.grants.map(({ id }) => id)).toEqual([...carrying].sort());
        return own;
      });
      expect([...new Set(witnessed)].sort()).toEqual([...byText.keys()].sort());
      if (kind === 'separate') expect(new Set(witnessed).size).toBe(witnessed.length);
      note(seen, violation, brokenCells(set, { ...chosen, ...EVERYONE }).length > 0);
      if (violation !== null) expectMinimalRepair(set, violation, (other) => brokenCells(other, chosen).length > 0);
    });
    fc.assert(property, testRuns({ usual: 150, deep: 1_000 }));
    expect([seen, isOften(seen)]).toEqual([seen, true]);
  });
});

type CountRule = GuardrailRule & { readonly kind: 'atLeast' | 'atMost' };

const partiesOf = (rule: CountRule): Parties => (rule.kind === 'atMost' ? rule : EVERYONE);

/** Wherever too few or too many people hold: what each of them holds by which grants; of nobody, all that is counted. */
function brokenPlaces(set: PolicySet, rule: CountRule): readonly string[] {
  const tops = set.grants.map(({ namespace }) => namespace.split('/')[1] ?? '').filter((segment) => segment !== '');
  const places = rule.at.kind === 'path' ? [rule.at.path] : [...new Set(tops)].map((segment) => pathOf(segment));
  const humans = spokenOf(set, partiesOf(rule)).map((human) => ({ human, holding: together(set, human) }));
  return places.flatMap((path) =>
    TIMES.flatMap((at) => {
      const counted = humans.flatMap(({ human, holding }) => {
        const own = [...holding(path, at)].filter(([scope]) => (scopeNames(rule.scopes) as string[]).includes(scope));
        const grants = [...new Set(own.flatMap(([, by]) => by.flatMap((part) => part.grants)))].sort();
        const held = own.map(([scope]) => scope).sort();
        return own.length === 0 ? [] : [placeText(path, at, { who: labelOf(human), scopes: held, grants })];
      });
      const broken = rule.kind === 'atLeast' ? counted.length < rule.identities : counted.length > rule.identities;
      const nobody = placeText(path, at, { who: 'nobody', scopes: [...scopeNames(rule.scopes)].sort(), grants: [] });
      return broken ? (counted.length === 0 ? [nobody] : counted) : [];
    }),
  );
}

function placeText(
  path: string,
  at: number,
  held: { who: string; scopes: readonly string[]; grants: readonly string[] },
): string {
  return `${path} @${String(at)}: ${held.who} ${held.scopes.join()} by ${held.grants.join()}`;
}

describe('atLeast and atMost', () => {
  it.each(['atLeast', 'atMost'] as const)('%s counts people, and tells what each of them holds', (kind) => {
    const rule: fc.Arbitrary<CountRule> =
      kind === 'atLeast'
        ? count.map((of) => ({ kind: 'atLeast', ...of, identities: of.identities + 1 }))
        : fc.tuple(count, parties).map(([of, who]) => ({ kind: 'atMost', groups: 0, ...of, ...who }));
    const seen = nothingSeen();
    const property = fc.property(peopled, rule, (set, chosen) => {
      const violation = checkOne(set, chosen);
      const witnessed = (violation?.witnesses ?? []).flatMap((witness) => {
        const humans = humansOf(set, partiesOf(chosen), witness).map(labelOf);
        const ids = witness.grants.map(({ id }) => id);
        return TIMES.filter((at) => isDuring(witness, at)).flatMap((at) =>
          (humans.length === 0 ? ['nobody'] : humans).map((who) =>
            placeText(witness.namespace, at, { who, scopes: witness.scopes, grants: ids }),
          ),
        );
      });
      expect([...witnessed].sort()).toEqual([...brokenPlaces(set, chosen)].sort());
      const forAll = chosen.kind === 'atMost' ? { ...chosen, ...EVERYONE } : chosen;
      note(seen, violation, brokenPlaces(set, forAll).length > 0);
      if (violation === null) return;
      if (chosen.kind === 'atLeast') expect(violation.repair).toEqual([]);
      else expectMinimalRepair(set, violation, (other) => brokenPlaces(other, chosen).length > 0);
    });
    fc.assert(property, testRuns({ usual: 250, deep: 1_000 }));
    const often = kind === 'atMost' ? seen : { ...seen, narrowed: 9 };
    expect([often, isOften(often)]).toEqual([often, true]);
  });
});

describe('where witnesses are too many to tell one by one', () => {
  const rule: fc.Arbitrary<GuardrailRule> = fc.oneof(
    fc.record({
      kind: fc.constant('never' as const),
      scopes,
      under: anyPath,
      to: fc.constant(null),
      except: exemption,
    }),
    fc.record({
      kind: fc.constant('separate' as const),
      sides: fc.tuple(scopes, scopes),
      under: anyPath,
      to: fc.constant(null),
      except: exemption,
    }),
    fc.tuple(count, parties).map(([of, who]) => ({ kind: 'atMost' as const, groups: 0, ...of, ...who })),
  );

  it('names the same people, and which identities bring anything, without saying what', () => {
    let named = 0;
    const property = fc.property(peopled, rule, (set, chosen) => {
      const whole = checkOne(set, chosen);
      const short = checkOne(set, chosen, { ...ENGINE_LIMITS, witnessNames: 0 });
      expect(short?.repair).toEqual(whole?.repair);
      const told = (violation: GuardrailViolation | null): readonly string[] => {
        const parts = (violation?.witnesses ?? []).flatMap(({ people = [] }) =>
          people.flatMap(({ person, identities }) => identities.map(({ identity }) => `${person} ${identity}`)),
        );
        return [...new Set(parts)].sort();
      };
      expect(told(short)).toEqual(told(whole));
      for (const { people = [] } of short?.witnesses ?? []) {
        named += people.length;
        for (const part of people.flatMap(({ identities }) => identities))
          expect(Object.keys(part)).toEqual(['identity']);
      }
    });
    fc.assert(property, testRuns({ usual: 100, deep: 200 }));
    expect(named).toBeGreaterThan(10);
  });
});
