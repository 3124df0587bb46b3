// What a policy costs grows with the policy, and not with the product of two sizes that its author chooses.
import { describe, expect, test } from '@jest/globals';
import {
  acceptedFindings,
  checkGuardrails,
  type CheckedPolicy,
  emergentChecks,
  ENGINE_LIMITS,
  explain,
  type ExplainRequest,
  formatFile,
  lintPolicy,
  type PolicySet,
  takeAway,
} from '../../engine/compiler.js';
import type { Instant } from '../../engine/index.js';
import { ROOT } from '../../engine/model/namespace.js';
import { findUnused } from '../../engine/prove/unused/find-unused.js';
import { makeNeeds, promisedBy } from '../../engine/prove/unused/needs.js';
import { rightsOf } from '../../engine/prove/unused/rights.js';
import { guardrailChanges } from '../../engine/snapshot/guardrail-changes.js';
import { growth, stopCpu } from '../support/cpu-time.js';
import { load } from './prove/brute.js';
import { POLICY, readFolder } from './source/support.js';

const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('');

const GRANT = 'identity: "orcid:x", scopes: [resource:read], namespace: /a }';

/** Of eight times the size: what is linear costs 8 times as much, or some more; what is quadratic costs 64 times. */
const NOT_SQUARE = 40;

test.each([
  [
    'a comment above each of many entries',
    (count: number) => `grants:\n${lines(count, (i) => `  # ${String(i)}\n  - { id: g${String(i)}, ${GRANT}\n`)}`,
  ],
  [
    'many members on one line',
    (count: number) =>
      `roles:\n  r: { members: [${lines(count, (i) => `${i === 0 ? '' : ', '}"orcid:u${String(i)}"`)}] }\n`,
  ],
])('%s: formatted in time', (_name, textOf) => {
  const times = growth(1_000, (count) => {
    const bytes = new TextEncoder().encode(textOf(count));
    return () => {
      expect(formatFile({ path: 'a.yaml', bytes }).ok).toBe(true);
    };
  });
  expect(times).toBeLessThan(NOT_SQUARE);
});

function checked(text: string): CheckedPolicy {
  const reading = readFolder({ 'policy.yaml': POLICY, 'a.yaml': text });
  if (reading.policy === null) throw new Error(reading.diagnostics.map(({ message }) => message).join('\n'));
  return { digest: text, checks: null, set: reading.policy, accepted: acceptedFindings(reading.sources) };
}

test('many tests that a reviewed change and the merge drop are compared', () => {
  const policyWith = (tests: number): CheckedPolicy =>
    checked(
      `grants:\n  - { id: g, ${GRANT}\ntests:\n` +
        lines(
          tests,
          (i) => `  - { name: t${String(i)}, actor: { identities: ["orcid:x"] }, allow: [resource:read /a] }\n`,
        ),
    );
  const times = growth(600, (count) => {
    const [base, merged] = [policyWith(count), policyWith(1)];
    return () => {
      expect(emergentChecks(base, merged, [{ policy: merged, from: null }])).toEqual([]);
    };
  });
  expect(times).toBeLessThan(NOT_SQUARE);
});

const ROLES = 4_000;
const inMany = (member: string): string =>
  lines(ROLES, (i) => `  r${String(i)}: { members: [${member}], scopes: [resource:read] }\n`);
const grantOf = (id: string, role: string): string => `  - { id: ${id}, role: ${role}, namespace: /a }\n`;

test.each([
  [
    'each with a grant',
    `roles:\n${inMany('{ identity: "orcid:u", expires: 2099-01-01T00:00:00Z }')}grants:\n${lines(ROLES, (i) => grantOf(`g${String(i)}`, `r${String(i)}`))}`,
    ROLES,
  ],
  [
    'all in one that has the grants',
    `roles:\n${inMany('"orcid:u"')}` +
      `  top: { members: [${lines(ROLES, (i) => `{ role: r${String(i)} }, `)}], scopes: [resource:read, namespace:read] }\n` +
      `grants:\n${lines(50, (i) => grantOf(`g${String(i)}`, 'top'))}`,
    1,
  ],
])('an access through many roles is taken away: %s', (_name, text, size) => {
  const { set } = checked(text);
  if (set === null) throw new Error('no policy');
  const request: ExplainRequest = {
    identities: [{ provider: 'orcid', subject: 'u' }],
    scope: 'resource:read',
    ...{ target: '/a', context: '/a', credentialScopes: null, namespaceRestrictions: null },
    at: 1_800_000_000_000 as Instant,
  };
  const policy = load(set);
  const cpu = stopCpu();
  const { edits, isComplete } = takeAway(policy, request, { set });
  expect(cpu()).toBeLessThan(10_000);
  const sizes = edits.map(({ change }) => (change.kind === 'several' ? change.changes.length : 1));
  expect([sizes[0], isComplete]).toEqual([size, false]);
});

const ALWAYS = { at: null, soonMilliseconds: 0, levels: new Map() };

function setOf(text: string): PolicySet {
  const { set } = checked(text);
  if (set === null) throw new Error('no policy');
  return set;
}

const members = (count: number, member: (i: number) => string): string => lines(count, (i) => `${member(i)}, `);

describe('members that a role has anyway', () => {
  const around = (count: number): string =>
    `roles:\n  hub: { members: [${members(count, (i) => `{ role: x${String(i)} }`)}] }\n` +
    lines(count, (i) => `  x${String(i)}: { members: ["orcid:u${String(i)}"] }\n`) +
    lines(count, (i) => `  r${String(i)}: { members: [{ role: hub }] }\n`);
  const found = (text: string, lintPairs: number): readonly string[] => {
    const reading = readFolder({ 'policy.yaml': POLICY, 'a.yaml': text });
    if (reading.policy === null) throw new Error('no policy');
    return lintPolicy({ ...reading, policy: reading.policy }, ALWAYS, { ...ENGINE_LIMITS, lintPairs })
      .filter(({ code }) => /REPEATED|LIMIT/.test(code))
      .map(({ code, range, message }) => `${code} ${String(range.start.line)} ${message}`);
  };

  test('are looked for in as many steps as there are members, and not as roles around a role times roles inside it', () => {
    expect(found(around(4_000), 20_000)).toEqual([]);
    const twice = `${around(2_000)}  top: { members: [{ role: r1 }, { role: hub }] }\n`;
    expect(found(twice, 20_000)).toEqual(['LINT_MEMBER_REPEATED 4003 the role `hub` is in `top` anyway, through `r1`']);
  });

  test('are given up beyond the limit, with a word', () => {
    const above = lines(50, (i) => `  a${String(i)}: { members: [{ role: b }] }\n`);
    const text = `roles:\n  b: { members: ["orcid:x"] }\n${above}  t: { members: [{ role: a7 }, "orcid:x"] }\n`;
    expect(found(text, 1_000)).toEqual(['LINT_MEMBER_REPEATED 53 `orcid:x` is in `t` anyway, through `b`']);
    expect(found(text, 20)).toEqual(['LIMIT_LINT 2 not all members were looked for in the roles inside theirs']);
  });
});

test.each([
  ['the same one', () => 'r'],
  ['one before and another now, with the same members', (side: string) => (side === 'old' ? 'r' : 's')],
])('guardrails that each name a large role and another one are compared: %s', (_name, roleOf) => {
  const policyOf = (side: string): PolicySet =>
    setOf(
      `roles:\n${lines(300, (i) => `  x${String(i)}: { members: ["orcid:a"] }\n`)}` +
        ['r', 's']
          .map((role) => `  ${role}: { members: [${members(40_000, (i) => `"orcid:u${String(i)}"`)}] }\n`)
          .join('') +
        `guardrails:\n${lines(300, (i) => `  - { id: g${String(i)}, never: { scopes: [resource:read], under: /a, to: { roles: [${roleOf(side)}, x${String(i)}] } } }\n`)}`,
    );
  const [old, changed] = [policyOf('old'), policyOf('new')];
  const cpu = stopCpu();
  const changes = guardrailChanges(old, changed);
  expect(cpu()).toBeLessThan(5_000);
  expect(changes.flatMap(({ weakenings }) => weakenings)).toHaveLength(roleOf('old') === roleOf('new') ? 0 : 300);
});

test('a person of many identities, each with a grant, breaks a guardrail', () => {
  const times = growth(500, (count) => {
    const set = setOf(
      `people:\n  ada: { identities: [${members(2 * count, (i) => `"orcid:u${String(i)}"`)}] }\n` +
        `roles:\n  named: { members: [${members(count, (i) => `"orcid:u${String(count + i)}"`)}] }\n` +
        `grants:\n${lines(count, (i) => `  - { id: g${String(i)}, identity: "orcid:u${String(i)}", scopes: [resource:read], namespace: /a }\n`)}` +
        'guardrails:\n  - { id: r, never: { scopes: [resource:read], under: /a, to: { roles: [named] } } }\n',
    );
    const policy = load(set);
    return () => {
      expect(checkGuardrails(set, policy).violated).toBe(1);
    };
  });
  expect(times).toBeLessThan(NOT_SQUARE);
});

test('a report of a person of many identities names each with each grant only up to the limit of names', () => {
  const text =
    `people:\n  ada: { identities: [${members(20, (i) => `"orcid:u${String(i)}"`)}] }\n` +
    `roles:\n  hub: { members: [${members(20, (i) => `"orcid:u${String(i)}"`)}] }\n` +
    `grants:\n${lines(20, (i) => `  - { id: g${String(i)}, role: hub, scopes: [resource:read], namespace: /a }\n`)}` +
    'guardrails:\n  - { id: r, never: { scopes: [resource:read], under: /a, to: { identities: ["orcid:u1"] } } }\n';
  const set = setOf(text);
  const named = (witnessNames: number): number => {
    const { violations } = checkGuardrails(set, load(set), { ...ENGINE_LIMITS, witnessNames });
    const parts = violations.flatMap(({ witnesses }) => witnesses.flatMap(({ people = [] }) => people));
    return parts.flatMap(({ identities }) => identities.flatMap(({ grants = [] }) => grants)).length;
  };
  expect([named(400), named(399)]).toEqual([400, 0]);
});

describe('a denied access is explained', () => {
  const request: ExplainRequest = {
    identities: [{ provider: 'orcid', subject: 'u' }],
    scope: 'resource:read',
    ...{ target: '/a', context: '/a', credentialScopes: null, namespaceRestrictions: null },
    at: 1_800_000_000_000 as Instant,
  };
  const day = (i: number, of: number): string =>
    new Date(of * 86_400_000 + i * 172_800_000).toISOString().replace('.000', '');
  const inEach = (count: number): string =>
    `roles:\n${lines(count, (i) => `  r${String(i)}: { members: [{ identity: "orcid:u", notBefore: ${day(i, 0)}, expires: ${day(i, 1)} }], scopes: [resource:read] }\n`)}` +
    `grants:\n${lines(count, (i) => grantOf(`g${String(i)}`, `r${String(i)}`))}`;
  const inOne = (count: number): string =>
    `roles:\n${lines(count, (i) => `  r${String(i)}: { members: ["orcid:m${String(i)}"], scopes: [resource:read] }\n`)}` +
    `  top: { members: [${members(count, (i) => `{ role: r${String(i)} }`)}], scopes: [resource:read] }\n` +
    `grants:\n${grantOf('h', 'top')}` +
    lines(
      count,
      (i) =>
        `  - { id: g${String(i)}, role: top, namespace: /a/b${String(i)} }\n  - { id: k${String(i)}, role: r${String(i)}, namespace: /c${String(i)} }\n`,
    );

  test.each([
    ['of somebody who was in many roles', inEach],
    ['where many roles are in one that has many grants', inOne],
  ])('%s', (_name, textOf) => {
    const times = growth(250, (count) => {
      const policy = load(setOf(textOf(count)));
      return () => {
        expect(explain(policy, request).edits.length).toBeGreaterThan(count);
      };
    });
    expect(times).toBeLessThan(NOT_SQUARE);
  });
});

test('grants that cover one another for parts of their time are found redundant', () => {
  const hour = (i: number): string => new Date(i * 3_600_000).toISOString().replace('.000', '');
  const text =
    'roles:\n  r: { members: ["orcid:u"], scopes: [resource:read] }\n' +
    `grants:\n${lines(10_000, (i) => `  - { id: g${String(i)}, role: r, namespace: /a, notBefore: ${hour(i)}, expires: ${hour(10_000 + i)} }\n`)}`;
  const reading = readFolder({ 'policy.yaml': POLICY, 'a.yaml': text });
  if (reading.policy === null) throw new Error('no policy');
  const cpu = stopCpu();
  const found = lintPolicy({ ...reading, policy: reading.policy }, ALWAYS);
  expect(cpu()).toBeLessThan(10_000);
  expect(found.some(({ message }) => /adds nothing to [\d,]+ other grants/.test(message))).toBe(true);
});

describe('what past decisions needed', () => {
  const nothing = { grants: new Set<number>(), memberships: new Set<number>() };
  const grants = (count: number): string =>
    `grants:\n${lines(count, (i) => `  - { id: g${String(i)}, identity: "orcid:u", scopes: [resource:read], namespace: /a${String(i)} }\n`)}`;
  const hub = (count: number): string =>
    `roles:\n  h: { members: [${members(count, (i) => `{ role: r${String(i)} }`)}] }\n` +
    lines(count, (i) => `  r${String(i)}: { members: ["orcid:u"] }\n`) +
    'grants:\n  - { id: g, role: h, scopes: [resource:read], namespace: /a }\n';
  const tests = (count: number): string =>
    `grants:\n${lines(count, (i) => `  - { id: g${String(i)}, identity: "orcid:u${String(i)}", scopes: [resource:read], namespace: /a, notBefore: ${String(1000 + i)}-01-01T00:00:00Z }\n`)}` +
    `tests:\n${lines(count, (i) => `  - { name: t${String(i)}, actor: { identities: ["orcid:u${String(i)}"] }, allow: [resource:read /a] }\n`)}`;
  const at = 1_800_000_000_000 as Instant;

  test.each([
    [
      'a query that saw many places',
      grants,
      500,
      (set: PolicySet): number => {
        const needs = makeNeeds(rightsOf(set));
        const subtrees = set.grants.map(({ namespace }) => namespace);
        const visible = { kind: 'some', exact: [], subtrees } as const;
        needs.addVisible(['orcid:u'], { scope: 'resource:read', context: ROOT, reach: 'subtree', visible, at });
        return needs.count();
      },
    ],
    [
      'an access of somebody in many roles',
      hub,
      250,
      (set: PolicySet): number => {
        const rights = rightsOf(set);
        const needs = makeNeeds(rights);
        const namespace = set.grants[0]?.namespace ?? ROOT;
        needs.addAccess(['orcid:u'], { scope: 'resource:read', namespace, at });
        return findUnused(rights, needs.all(), nothing).smaller.memberships.size;
      },
    ],
    ['tests of many times', tests, 500, (set: PolicySet): number => promisedBy(set, rightsOf(set)).length],
  ])('%s', (_name, textOf, size, count) => {
    const times = growth(size, (some) => {
      const set = setOf(textOf(some));
      return () => {
        expect(count(set)).toBeGreaterThanOrEqual(some);
      };
    });
    expect(times).toBeLessThan(NOT_SQUARE);
  });
});
