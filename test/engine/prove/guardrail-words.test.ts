// What reports say of guardrails, where a reader could take it for something else.
import { describe, expect, it, test } from '@jest/globals';
import { checkGuardrails, type GuardrailViolation } from '../../../engine/compiler.js';
import { guardrailChanges } from '../../../engine/snapshot/guardrail-changes.js';
import { digestChecks } from '../../../engine/snapshot/checks.js';
import { stopCpu } from '../../support/cpu-time.js';
import { readFolder } from '../source/support.js';
import { load } from './brute.js';

const HEADER = 'bailiwick: 1\nname: p\nproviders: { okta: {} }\n';

function policyIn(text: string): NonNullable<ReturnType<typeof readFolder>['policy']> {
  const { policy, diagnostics } = readFolder({ 'policy.yaml': HEADER, 'p.yaml': text });
  if (policy === null) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return policy;
}

function violationIn(text: string): GuardrailViolation | undefined {
  const set = policyIn(text);
  return checkGuardrails(set, load(set)).violations[0];
}

it('`under` counts in each namespace by itself', () => {
  const grant = (id: string, at: string): string =>
    `  - { id: ${id}, identity: "okta:${id}", scopes: [resource:read], namespace: ${at} }\n`;
  const rule = (counted: string): string => `guardrails:\n  - { id: g, ${counted} }\ngrants:\n`;
  const most = rule('atMost: { identities: 1, scope: resource:read, under: /p }');
  expect(violationIn(most + grant('a', '/p/a') + grant('b', '/p/b'))).toBeUndefined();
  expect(violationIn(most + grant('a', '/p/a') + grant('b', '/p'))?.requires).toBe(
    'at most 1 person may hold resource:read in any one namespace at or below /p',
  );
  expect(
    violationIn(rule('atLeast: { identities: 1, scope: resource:read, under: /p }') + grant('a', '/p/a'))?.requires,
  ).toBe('at least 1 person must hold resource:read in every namespace at or below /p');
});

it('`except` names those who are in its role for some time only', () => {
  const violation = violationIn(
    'roles:\n  leads: { members: [{ identity: "okta:x", expires: 2027-03-01T00:00:00Z }, "okta:y"], scopes: [resource:write] }\n' +
      'grants:\n  - { id: lead, role: leads, namespace: / }\n' +
      'guardrails:\n  - { id: g, never: { scopes: [resource:write], under: /, except: { roles: [leads] } } }\n',
  );
  expect(violation?.witnesses.map(({ identities }) => identities)).toEqual([['okta:x']]);
  expect(violation?.help).toBe(
    'okta:x: a member with a window is in the role for some time only, and `except` leaves out those who always are',
  );
});

it('a grant without an end is named once, however many members have windows', () => {
  const violation = violationIn(
    'roles:\n  leads: { members: [{ identity: "okta:x", expires: 2027-03-01T00:00:00Z }, { identity: "okta:y", expires: 2027-03-01T00:00:00Z }], scopes: [resource:write] }\n' +
      'grants:\n  - { id: lead, role: leads, namespace: / }\n' +
      'guardrails:\n  - { id: g, expires: { providers: [okta], within: 90d } }\n',
  );
  expect(violation?.requires).toBe('no identity of okta may hold anything for longer than 90d without a break');
  expect(violation?.help).toMatch(/^`lead` has no `notBefore`: /);
});

it('a member has one window in a role, and the message says how to have two', () => {
  const stint = (window: string): string => `{ identity: "okta:x", ${window} }`;
  const { diagnostics } = readFolder({
    'policy.yaml': HEADER,
    'p.yaml': `roles:\n  leads: { members: [${stint('expires: 2027-01-01T00:00:00Z')}, ${stint('notBefore: 2027-06-01T00:00:00Z')}] }\n`,
  });
  expect(diagnostics).toMatchObject([
    {
      code: 'VALUE_REPEATED',
      help: 'a member has one window in a role: put the other into a role of its own, and make that role a member of this one',
    },
  ]);
});

it('diff says how a guardrail changed in the words of the policy, and which change makes it weaker', () => {
  const changed = (was: string, is: string): unknown => {
    const [old, now] = [was, is].map((rule) => policyIn(`guardrails:\n  - { id: g, ${rule} }\n`));
    return old === undefined || now === undefined ? null : guardrailChanges(old, now);
  };
  expect(
    changed('expires: { providers: [okta], within: 90d }', 'expires: { providers: [okta], within: 36h }'),
  ).toMatchObject([{ id: 'g', weaker: false, changes: ['within 90d → 36h'] }]);
  const sides = (more: string): string => `separate: [resource:write, process-run:write${more}]`;
  expect(changed(sides(''), sides(', namespace:write'))).toMatchObject([{ weaker: false }]);
  expect(changed(sides(', namespace:write'), sides(''))).toMatchObject([{ weaker: true }]);
});

it('a flat list of `exclusive` is one mistake, and its help is right', () => {
  const read = (exclusive: string): unknown =>
    readFolder({ 'policy.yaml': `${HEADER}exclusive: ${exclusive}\n` }).diagnostics.map(({ code, help }) => [
      code,
      help,
    ]);
  const help = 'write a list in the list: `[[okta:a, okta-group:g]]`';
  expect(read('["okta:a", okta-group:g]')).toEqual([['VALUE_NOT_LIST', help]]);
  expect(read('[["okta:a", okta-group:g]]')).toEqual([]);
});

it('`except` grows when a member loses its window: that is weaker, and another digest', () => {
  const policyWith = (member: string): ReturnType<typeof policyIn> =>
    policyIn(
      `roles:\n  leads: { members: ["okta:l", ${member}] }\n` +
        'guardrails:\n  - { id: g, never: { scopes: [resource:write], under: /, except: { roles: [leads] } } }\n',
    );
  const [some, always] = [policyWith('{ identity: "okta:w", expires: 2027-01-01T00:00:00Z }'), policyWith('"okta:w"')];
  expect(guardrailChanges(some, always)).toMatchObject([
    { id: 'g', weaker: true, changes: ['`except` gained okta:w'] },
  ]);
  expect(guardrailChanges(always, some)).toMatchObject([{ id: 'g', weaker: false, changes: ['`except` lost okta:w'] }]);
  expect(guardrailChanges(some, some)).toEqual([]);
  expect(digestChecks(some).guardrails.digest).not.toBe(digestChecks(always).guardrails.digest);
});

it('large roles in `to` and `except` are compared in little time', () => {
  const policyOf = (first: number): ReturnType<typeof policyIn> => {
    const members = Array.from({ length: 60_000 }, (_, i) => `"okta:u${String(first + i)}"`).join(', ');
    return policyIn(
      `roles:\n  big: { members: [${members}] }\n` +
        'guardrails:\n' +
        '  - { id: a, never: { scopes: [resource:write], under: /, except: { roles: [big] } } }\n' +
        '  - { id: b, never: { scopes: [resource:write], under: /, to: { roles: [big] } } }\n',
    );
  };
  const [old, changed] = [policyOf(0), policyOf(1)];
  const spent = stopCpu();
  expect(guardrailChanges(old, changed).map(({ weaker }) => weaker)).toEqual([true]);
  expect(spent()).toBeLessThan(3_000);
});

it('`to` is weaker if it loses a role that somebody joins in the same change', () => {
  const [old, changed] = [
    ['roles: [contractors, other]', ''],
    ['roles: [other]', '"okta:new"'],
  ].map(([to, member]) =>
    policyIn(
      `roles:\n  contractors: { members: [${String(member)}], scopes: [resource:write] }\n  other: { members: ["okta:x"] }\n` +
        'grants:\n  - { id: g, role: contractors, namespace: / }\n' +
        `guardrails:\n  - { id: r, never: { scopes: [resource:write], under: /, to: { ${String(to)} } } }\n`,
    ),
  );
  if (old === undefined || changed === undefined) throw new TypeError('two policies');
  const [change] = guardrailChanges(old, changed);
  expect(change).toMatchObject({
    weaker: true,
    changes: ['`to` roles lost contractors', '`to` lost okta:new'],
  });
});

describe('`to` is weaker if a later change could let off somebody unseen', () => {
  const policyWith = (to: string, roles: string, grant = 'role: other'): ReturnType<typeof policyIn> =>
    policyIn(
      `roles:\n  other: { members: ["okta:x"] }\n${roles}` +
        `grants:\n  - { id: g, ${grant}, scopes: [resource:read], namespace: / }\n` +
        `guardrails:\n  - { id: r, never: { scopes: [resource:write], under: /, to: ${to} } }\n`,
    );
  const EMPTY = '  crew: { members: [] }\n';
  const BOTH = '{ roles: [crew, other] }';
  const OTHER = '{ roles: [other] }';
  const INNER = '  crew: { members: [{ role: inner }] }\n  inner: { members: [] }\n';
  const named = (identity: string): string => `{ roles: [other], identities: ["${identity}"] }`;

  test.each<[string, ReturnType<typeof policyIn>, ReturnType<typeof policyIn>, boolean, string]>([
    ['an empty role', policyWith(BOTH, EMPTY), policyWith(OTHER, EMPTY), true, '`to` roles lost crew'],
    ['a role that is gone', policyWith(BOTH, EMPTY), policyWith(OTHER, ''), false, '`to` roles lost crew'],
    [
      'an empty role in a role',
      policyWith(BOTH, INNER),
      policyWith(BOTH, INNER.replace('{ role: inner }', '')),
      true,
      '`to` roles lost inner',
    ],
    [
      'a role that another one has now',
      policyWith(BOTH, EMPTY),
      policyWith('{ roles: [all] }', `${EMPTY}  all: { members: [{ role: crew }, { role: other }] }\n`),
      false,
      '`to` roles lost crew, other; `to` roles gained all',
    ],
    [
      'an identity that only `to` names',
      policyWith(named('okta:z'), ''),
      policyWith(OTHER, ''),
      true,
      '`to` lost okta:z',
    ],
    [
      'an identity that leaves',
      policyWith(named('okta:z'), '', 'identity: "okta:z"'),
      policyWith(OTHER, ''),
      false,
      '`to` lost okta:z',
    ],
    [
      'a group that leaves, whose people stay',
      policyWith(named('okta-group:z'), '', 'identity: "okta-group:z"'),
      policyWith(OTHER, ''),
      true,
      '`to` lost okta-group:z',
    ],
  ])('%s', (_name, old, changed, weaker, text) => {
    const [change] = guardrailChanges(old, changed);
    expect([change?.weaker ?? false, change?.changes.join('; ') ?? text]).toEqual([weaker, text]);
  });
});
