// Which guardrails an edit breaks, against making the edit, compiling the policy and checking it as `check` does.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkGuardrails, ENGINE_LIMITS } from '../../../engine/compiler.js';
import { canonicalize, type Instant, isScopeName, type ScopeSet, scopeSetOf } from '../../../engine/index.js';
import type { GuardrailRule, PolicyPerson, PolicySet } from '../../../engine/model/policy-set.js';
import { proveEdits } from '../../../engine/prove/explain/prove-edits.js';
import { explain, type ExplainRequest } from '../../../engine/prove/explain/explain.js';
import { testRuns } from '../../support/test-runs.js';
import { anyPath, IDENTITIES, pathOf, STRANGER, world } from '../oracle/worlds.js';
import { applyEdit, writable } from './apply-edit.js';
import { EVERYONE, load } from './brute.js';
import { ADA, ASKING, CREW_AND_ADA, explainRequest } from './requests.js';

/** Few, since most that anybody may do breaks a rule without any edit. */
const one = fc.integer({ min: 0, max: 9 });
const scopes = one.map((bit) => (1 << bit) as ScopeSet);
const named = fc.record({
  roles: fc.subarray(['crew', 'leads', 'staff'], { maxLength: 1 }),
  identities: fc.subarray([...IDENTITIES], { maxLength: 1 }),
});
const parties = fc.record({
  to: fc.option(
    fc.record({
      providers: fc.constantFrom(['github'], []),
      roles: fc.constant(['leads']),
      identities: fc.constant([]),
    }),
  ),
  except: named,
});
const count = fc.record({
  identities: fc.integer({ min: 0, max: 3 }),
  scopes,
  at: fc.oneof(
    fc.constant({ kind: 'every-top-level' } as const),
    anyPath.map((path) => ({ kind: 'path', path }) as const),
  ),
});
const rule: fc.Arbitrary<GuardrailRule> = fc.oneof(
  fc
    .tuple(parties, scopes, anyPath)
    .map(([who, some, under]) => ({ kind: 'never', scopes: some, under, ...who }) as const),
  fc
    .tuple(parties, scopes, scopes, anyPath)
    .map(([who, some, others, under]) => ({ kind: 'separate', sides: [some, others], under, ...who }) as const),
  count.map((counted) => ({ kind: 'atLeast', ...counted }) as const),
  fc.tuple(count, parties).map(([counted, who]) => ({ kind: 'atMost', groups: 0, ...counted, ...who }) as const),
  fc
    .constantFrom('github', 'orcid')
    .map((provider) => ({ kind: 'expires', providers: [provider], withinMilliseconds: 15, each: false }) as const),
);
const pat: PolicyPerson = { name: 'pat', identities: [...IDENTITIES.slice(0, 2), STRANGER], place: null };
const guarded: fc.Arbitrary<PolicySet> = fc
  .tuple(world, fc.array(rule, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([set, rules, hasPeople]) => withRules({ ...set, people: hasPeople ? [pat] : [] }, rules));

function withRules(set: PolicySet, rules: readonly GuardrailRule[]): PolicySet {
  const guardrails = rules.map((one, i) => ({ id: `r${String(i)}`, description: null, rule: one, place: null }));
  return { ...writable(set), guardrails };
}

/** Rules about what is asked for, where it is asked for: most others an edit does not touch. */
function rulesAbout({ scope, target }: ExplainRequest, others: ScopeSet): readonly GuardrailRule[] {
  const path = canonicalize(target);
  if (!isScopeName(scope) || !path.ok) return [];
  const about = { scopes: scopeSetOf([scope]), under: path.path, ...EVERYONE };
  const counted = { identities: 1, scopes: about.scopes, at: { kind: 'path', path: path.path } } as const;
  return [
    { kind: 'never', ...about },
    { kind: 'separate', sides: [about.scopes, others], ...EVERYONE, under: path.path },
    { kind: 'atMost', groups: 0, ...counted, ...EVERYONE },
  ];
}

const violated = (set: PolicySet): readonly string[] =>
  checkGuardrails(set, load(set)).violations.map(({ guardrail }) => guardrail);

describe('the guardrails that an edit breaks', () => {
  it('are those that hold now, and that the edited policy violates', () => {
    let broken = 0;
    fc.assert(
      fc.property(guarded, explainRequest, scopes, (any, request, others) => {
        const rules = any.guardrails.map((guardrail) => guardrail.rule);
        const set = withRules(any, [...rules, ...rulesAbout(request, others)]);
        const policy = load(set);
        const { edits } = explain(policy, request);
        const before = violated(set);
        const proved = proveEdits(edits, { policy, set });
        const withoutEffects = edits.map((edit) => ({ ...edit, breaksTests: [], repairsTests: [] }));
        expect(proved.map(({ breaks: _, repairs: __, ...edit }) => edit)).toEqual(withoutEffects);
        for (const { text, change, breaks, repairs } of proved) {
          const after = violated(applyEdit(set, change));
          const broke = after.filter((id) => !before.includes(id)).sort();
          const repaired = before.filter((id) => !after.includes(id)).sort();
          expect([text, breaks, repairs]).toEqual([text, broke, repaired]);
          broken += broke.length;
        }
      }),
      testRuns(60),
    );
    expect(broken).toBeGreaterThan(10);
  });

  const never: GuardrailRule = { kind: 'never', scopes: 16 as ScopeSet, under: pathOf('/a/b'), ...EVERYONE };
  const asked = { ...ASKING, identities: [ADA], at: 0 as Instant };

  it('are known of a snapshot only where it was compiled under none', () => {
    const [free, bound] = [CREW_AND_ADA, withRules(CREW_AND_ADA, [never])].map((set) => load(set));
    if (free === undefined || bound === undefined) throw new Error('both compile');
    const breaksOf = (policy: typeof free): readonly unknown[] =>
      proveEdits(explain(policy, asked).edits, { policy, set: null }).map(({ breaks }) => breaks);
    expect(breaksOf(free)).toEqual([[], [], []]);
    expect(breaksOf(bound)).toEqual([null, null, null]);
  });

  it('are worked out for as many edits as the limit has entries', () => {
    const set = withRules(CREW_AND_ADA, [never]);
    const policy = load(set);
    const { edits } = explain(policy, asked);
    const entries = set.grants.length + 1;
    const limits = { ...ENGINE_LIMITS, editedEntries: 2 * entries };
    expect(proveEdits(edits, { policy, set }, limits).map(({ breaks }) => breaks)).toEqual([['r0'], ['r0'], null]);
  });

  it('are none where only the credential is to be changed', () => {
    const set = withRules(CREW_AND_ADA, [never]);
    const policy = load(set);
    const { edits } = explain(policy, { ...asked, context: '/a', target: '/a', credentialScopes: [] });
    expect(proveEdits(edits, { policy, set }).map(({ change, breaks }) => [change.kind, breaks])).toEqual([
      ['credential', []],
    ]);
  });
});
