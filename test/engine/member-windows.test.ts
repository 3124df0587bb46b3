// Members of roles with a window: exactly as if each grant of the role were narrowed for that member.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  checkGuardrails,
  compilePolicy,
  diffPolicies,
  explain,
  lintPolicy,
  readPolicy,
  whatCan,
  whoCan,
} from '../../engine/compiler.js';
import {
  decide,
  FAMILIES,
  instantOf,
  loadSnapshot,
  parseIdentity,
  type Policy,
  type ScopeSet,
  visibility,
} from '../../engine/index.js';
import { compiledOf } from '../../engine/evaluate/policy.js';
import { compareTexts } from '../../engine/model/order.js';
import type { GuardrailRule, PolicySet } from '../../engine/model/policy-set.js';
import { EVERYONE } from './prove/brute.js';
import { testRuns } from '../support/test-runs.js';
import { oracleDecide, oracleGrants, oracleScopes } from './oracle/oracle.js';
import {
  anyActor,
  anyInstant,
  anyPath,
  IDENTITIES,
  INSTANTS,
  narrowedByHand,
  orOwnScopes,
  windowedWorld,
} from './oracle/worlds.js';

function compiled(set: PolicySet): { readonly policy: Policy; readonly decisions: string } {
  const result = compilePolicy(set);
  if (!result.ok) throw new Error(result.diagnostics[0]?.message);
  const loaded = loadSnapshot(result.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return { policy: loaded.policy, decisions: result.snapshot.decisions };
}

const scopeSets = (...bits: readonly number[]): fc.Arbitrary<ScopeSet> =>
  orOwnScopes(fc.constantFrom(...bits).map((one) => one as ScopeSet));
const rules: fc.Arbitrary<GuardrailRule> = fc.oneof(
  fc
    .record({ scopes: scopeSets(1, 3, 48, 1023), under: anyPath })
    .map((rule): GuardrailRule => ({ kind: 'never', ...rule, ...EVERYONE })),
  fc
    .record({ sides: fc.tuple(scopeSets(1), scopeSets(2, 48)), under: anyPath })
    .map((rule): GuardrailRule => ({ kind: 'separate', ...rule, ...EVERYONE })),
  fc
    .record({ identities: fc.constantFrom(1, 2), scopes: scopeSets(1, 3), path: anyPath, isMost: fc.boolean() })
    .map(({ path, isMost, ...rule }): GuardrailRule => {
      const at = { kind: 'path', path } as const;
      return isMost ? { kind: 'atMost', groups: 0, at, ...rule, ...EVERYONE } : { kind: 'atLeast', at, ...rule };
    }),
  fc
    .record({ withinMilliseconds: fc.constantFrom(5, 10, 20), each: fc.boolean() })
    .map((rule): GuardrailRule => ({ kind: 'expires', providers: ['orcid'], ...rule })),
);

describe('a member with a window', () => {
  it('holds what it would hold if each grant were narrowed for it by hand', () => {
    let differs = 0;
    const property = fc.property(windowedWorld, anyActor, anyPath, (set, actor, path) => {
      const byHand = narrowedByHand(set);
      const [stated, other] = [compiled(set), compiled(byHand)];
      expect(stated.decisions).toBe(other.decisions);
      expect(diffPolicies(stated.policy, other.policy)).toMatchObject({ equal: true, gained: [], lost: [] });
      for (const at of INSTANTS.map(instantOf)) {
        for (const scope of oracleScopes(set)) {
          const request = { kind: 'access', scope, context: path, target: path } as const;
          expect(decide(stated.policy, { actor, request, at }).decision).toBe(
            decide(other.policy, { actor, request, at }).decision,
          );
          const who = (policy: Policy): readonly string[] =>
            whoCan(policy, { scope, namespace: path, at }).map(({ identity }) => identity);
          expect(who(stated.policy)).toEqual(who(other.policy));
        }
        for (const family of FAMILIES) {
          const request = { family, context: path, reach: 'subtree' } as const;
          expect(visibility(stated.policy, { actor, request, at })).toEqual(
            visibility(other.policy, { actor, request, at }),
          );
        }
        const identities = IDENTITIES.slice(0, 2);
        const what = (policy: Policy): unknown =>
          whatCan(policy, { identities, at }).map(({ namespace, extent, scopes }) => [namespace, extent, scopes]);
        expect(what(stated.policy)).toEqual(what(other.policy));
      }
      if (set.grants.length !== byHand.grants.length) differs += 1;
    });
    fc.assert(property, testRuns({ usual: 60, deep: 600 }));
    expect(differs).toBeGreaterThan(20);
  });

  it('is judged and listed as the document says, each holder with its grants', () => {
    const property = fc.property(windowedWorld, anyActor, anyPath, anyInstant, (set, actor, path, at) => {
      const { policy } = compiled(set);
      for (const scope of oracleScopes(set)) {
        const request = { kind: 'access', scope, context: path, target: path } as const;
        const decision = decide(policy, { actor, request, at });
        expect(
          decision.decision === 'allow' ? { ...decision, grants: decision.grants.map(({ id }) => id) } : decision,
        ).toEqual(oracleDecide(set, { actor, request, at }));
        for (const { identity, grants } of whoCan(policy, { scope, namespace: path, at })) {
          const read = parseIdentity(identity);
          const identities = read.ok ? [read.identity] : [];
          expect(grants.map(({ id }) => id)).toEqual(oracleGrants(set, { identities, scope, target: path, at }));
        }
      }
    });
    fc.assert(property, testRuns({ usual: 100, deep: 1_000 }));
  });

  it('is found redundant by nobody who counts', () => {
    let found = 0;
    const property = fc.property(windowedWorld, (set) => {
      const input = { policy: set, sources: new Map<string, string>(), outlines: [] };
      const ids = lintPolicy(input, { at: null, soonMilliseconds: 0, levels: new Map() })
        .filter(({ code }) => /REDUNDANT|UNREACHABLE/.test(code))
        .map(({ message }) => /^the grant `([^`]+)`/.exec(message)?.[1]);
      found += ids.length;
      const left = { ...set, grants: set.grants.filter(({ id }) => !ids.includes(id)) };
      expect(compiled(left).decisions).toBe(compiled(set).decisions);
    });
    fc.assert(property, testRuns({ usual: 60, deep: 600 }));
    expect(found).toBeGreaterThan(10);
  });

  it('is seen by each guardrail as if it were so', () => {
    const seen = new Map<string, number>();
    const property = fc.property(windowedWorld, rules, (set, rule) => {
      const guarded = (one: PolicySet): PolicySet => ({
        ...one,
        guardrails: [{ id: 'rule', description: null, rule, place: null }],
      });
      const violated = (one: PolicySet): boolean =>
        checkGuardrails(guarded(one), compiled(guarded(one)).policy).violated > 0;
      const verdict = violated(set);
      expect(verdict).toBe(violated(narrowedByHand(set)));
      const name = `${rule.kind} ${String(verdict)}`;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    });
    fc.assert(property, testRuns({ usual: 300, deep: 3_000 }));
    expect(seen.get('atLeast true')).toBeGreaterThan(0);
    for (const kind of ['never', 'separate', 'atMost', 'expires'])
      for (const verdict of [true, false])
        expect([kind, verdict, seen.get(`${kind} ${String(verdict)}`)]).not.toContain(undefined);
  });
});

const FILES = {
  'policy.yaml': 'bailiwick: 1\nname: windows\nproviders:\n  orcid: {}\n',
  'roles.yaml': `roles:
  optics:
    members:
      - orcid:ann
      - { identity: orcid:bob, notBefore: 2030-01-01T00:00:00Z, expires: 2030-07-01T00:00:00Z }
      - { role: guests, expires: 2030-04-01T00:00:00Z }
  guests: { members: [orcid:eve] }
grants:
  - { id: read, role: optics, scopes: [resource:read], namespace: /labs, reason: They work there. }
`,
};

const read = (files: Readonly<Record<string, string>>): ReturnType<typeof readPolicy> =>
  readPolicy(Object.entries(files).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) })));

function policyIn(files: Readonly<Record<string, string>>): Policy {
  const { policy, diagnostics } = read(files);
  if (policy === null) throw new Error(JSON.stringify(diagnostics));
  return compiled(policy).policy;
}

describe('in a file', () => {
  const at = (text: string): ReturnType<typeof instantOf> => instantOf(Date.parse(text));
  const policy = policyIn(FILES);
  const holders = (when: string): readonly string[] =>
    whoCan(policy, { scope: 'resource:read', namespace: '/labs' as never, at: at(when) }).map(
      ({ identity }) => identity,
    );

  it('is a member from its first instant until just before its last', () => {
    expect(holders('2029-12-31T23:59:59.999Z')).toEqual(['orcid:ann', 'orcid:eve']);
    expect(holders('2030-01-01T00:00:00Z')).toEqual(['orcid:ann', 'orcid:bob', 'orcid:eve']);
    expect(holders('2030-04-01T00:00:00Z')).toEqual(['orcid:ann', 'orcid:bob']);
    expect(holders('2030-07-01T00:00:00Z')).toEqual(['orcid:ann']);
  });

  it('is cited with its place and its window, by the id of the grant', () => {
    const [, bob, eve] = whoCan(policy, {
      scope: 'resource:read',
      namespace: '/labs' as never,
      at: at('2030-02-01T00:00:00Z'),
    });
    const grant = { id: 'read', file: 'roles.yaml', line: 9, reason: 'They work there.' };
    const window = { notBefore: '2030-01-01T00:00:00.000Z', expires: '2030-07-01T00:00:00.000Z' };
    expect(bob?.grants).toEqual([{ ...grant, through: [{ role: 'optics', ...window, file: 'roles.yaml', line: 5 }] }]);
    expect(eve?.grants).toEqual([
      {
        ...grant,
        through: [
          { role: 'guests', file: 'roles.yaml', line: 7 },
          { role: 'optics', expires: '2030-04-01T00:00:00.000Z', file: 'roles.yaml', line: 6 },
        ],
      },
    ]);
    const asked = {
      ...{ identities: [{ provider: 'orcid', subject: 'bob' }], credentialScopes: null, namespaceRestrictions: null },
      ...{ scope: 'resource:read', target: '/labs', context: '/labs', at: at('2030-02-01T00:00:00Z') },
    } as const;
    expect(explain(policy, asked).grants).toEqual([
      { ...grant, through: [{ role: 'optics', ...window, file: 'roles.yaml', line: 5 }] },
    ]);
  });

  it('is a membership that diff says was added, removed or changed', () => {
    const causes = (from: string, to: string): unknown => {
      const other = policyIn({ ...FILES, 'roles.yaml': FILES['roles.yaml'].replace(from, to) });
      const { gained, lost } = diffPolicies(policy, other);
      return [...gained, ...lost].flatMap((row) =>
        row.causes.map(({ change, kind, ...rest }) => [change, kind, 'member' in rest ? rest.member : '']),
      );
    };
    expect(causes('expires: 2030-07-01', 'expires: 2030-09-01')).toEqual([['changed', 'member', 'orcid:bob']]);
    // A member that gets a window, or loses it, was a member before.
    expect(causes('- orcid:ann\n', '- { identity: orcid:ann, expires: 2031-01-01T00:00:00Z }\n')).toEqual([
      ['changed', 'member', 'orcid:ann'],
    ]);
    expect(causes('{ role: guests, expires: 2030-04-01T00:00:00Z }', '{ role: guests }')).toEqual([
      ['changed', 'member', 'role guests'],
    ]);
    expect(causes('      - { role: guests, expires: 2030-04-01T00:00:00Z }\n', '')).toEqual([
      ['removed', 'member', 'role guests'],
    ]);
    expect(
      causes('- orcid:ann\n', '- orcid:ann\n      - { identity: orcid:joe, expires: 2031-01-01T00:00:00Z }\n'),
    ).toEqual([['added', 'member', 'orcid:joe']]);
    expect(causes('scopes: [resource:read]', 'scopes: [resource:read, resource:write]')).toEqual(
      expect.arrayContaining([['changed', 'grant', '']]),
    );
  });

  it('is told of before it ends, and afterwards', () => {
    const { policy: set } = read(FILES);
    if (set === null) throw new Error('it was read before');
    const input = { policy: set, sources: new Map<string, string>(), outlines: [] };
    const told = (when: string): readonly string[] =>
      lintPolicy(input, { at: at(when), soonMilliseconds: 30 * 86_400_000, levels: new Map() }).map(
        ({ code, message, range }) => `${code} ${String(range.start.line)}: ${message}`,
      );
    expect(told('2030-02-01T00:00:00Z')).toEqual([]);
    expect(told('2030-03-20T00:00:00Z')).toEqual([
      'LINT_GRANT_EXPIRES_SOON 6: the membership of role `guests` in role `optics` expires at 2030-04-01T00:00:00.000Z',
    ]);
    expect(told('2031-01-01T00:00:00Z')).toEqual([
      'LINT_GRANT_EXPIRED 5: the membership of `orcid:bob` in role `optics` expired at 2030-07-01T00:00:00.000Z',
      'LINT_GRANT_EXPIRED 6: the membership of role `guests` in role `optics` expired at 2030-04-01T00:00:00.000Z',
    ]);
  });

  it.each([
    ['{ identity: orcid:joe, expires: 2030-01-01T00:00:00Z, notBefore: 2030-02-01T00:00:00Z }', 'GRANT_WINDOW'],
    ['{ identity: orcid:joe, expires: tomorrow }', 'INSTANT_INVALID'],
    ['{ expires: 2030-01-01T00:00:00Z }', 'KEY_MISSING'],
    ['{ identity: orcid:joe, role: guests }', 'GRANT_PRINCIPAL'],
    ['{ identity: orcid:joe, until: 2030-01-01T00:00:00Z }', 'KEY_UNKNOWN'],
    ['{ identity: orcid:ann, expires: 2030-01-01T00:00:00Z }', 'VALUE_REPEATED'],
    ['{ role: nobody, expires: 2030-01-01T00:00:00Z }', 'ROLE_UNKNOWN'],
  ])('%s is refused (%s)', (member, code) => {
    const roles = FILES['roles.yaml'].replace('{ role: guests, expires: 2030-04-01T00:00:00Z }', member);
    const { policy: none, diagnostics } = read({ ...FILES, 'roles.yaml': roles });
    expect([none, diagnostics.map((one) => one.code)]).toEqual([null, [code]]);
  });
});

it('the rows of a grant are in the order of code points, as every other column', () => {
  // The order of UTF-16 puts the first of these before the second.
  const members = ['\u{1f600}', '\uff5e'].map(
    (subject) => `{ identity: "okta:${subject}", expires: 2027-01-01T00:00:00Z }`,
  );
  const { policy: set } = readPolicy(
    Object.entries({
      'policy.yaml': 'bailiwick: 1\nname: p\nproviders: { okta: {} }\n',
      'a.yaml': `roles:\n  crew: { members: [${members.join(', ')}] }\ngrants:\n  - { id: g, role: crew, scopes: [resource:read], namespace: / }\n`,
    }).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) })),
  );
  if (set === null) throw new Error('not a policy');
  const { id } = compiledOf(compiled(set).policy).tables.grants;
  expect(id).toHaveLength(3);
  expect(id).toEqual([...id].sort(compareTexts));
});
