// Independent mistakes in one entry are reported together: correcting one does not reveal another that was already there
// (docs/language.md "Mistakes").
import { expect, test } from '@jest/globals';
import { readExample, readFolder, summary } from './support.js';

const ROLES = 'roles:\n  crew: { members: [orcid:ana] }\n';
const grant = (text: string): string => `${ROLES}grants:\n  - { ${text} }\n`;
const guardrail = (text: string): string => `guardrails:\n  - { id: g, ${text} }\n`;
const expects = (text: string): string => `tests:\n  - { name: t, actor: { identities: [orcid:ana] }, ${text} }\n`;

test.each<[string, string, readonly string[]]>([
  [
    'a grant with two principals: both are looked up',
    grant('id: a, role: nope, identity: "visitor:x", namespace: /labs, scopes: [resource:read]'),
    ['ROLE_UNKNOWN nope', 'GRANT_PRINCIPAL identity', 'PROVIDER_UNKNOWN "visitor:x"'],
  ],
  [
    'and both are read',
    grant('id: a, role: 7, identity: ana, namespace: /labs, scopes: [resource:read]'),
    ['VALUE_NOT_TEXT 7', 'GRANT_PRINCIPAL identity', 'IDENTITY_INVALID ana'],
  ],
  [
    'neither has scopes',
    grant('id: a, role: crew, identity: orcid:x, namespace: /labs'),
    ['GRANT_SCOPES_MISSING a', 'GRANT_PRINCIPAL identity'],
  ],
  [
    'scopes that nothing can give, whatever the identity should be',
    grant('id: a, identity: ana, namespace: /labs'),
    ['GRANT_SCOPES_MISSING a', 'IDENTITY_INVALID ana'],
  ],
  [
    'scopes whose key is misspelt: that they are missing is not another mistake',
    grant('id: a, identity: orcid:x, namespace: /labs, scope: [resource:read]'),
    ['KEY_UNKNOWN scope'],
  ],
  [
    'scopes whose key is misspelt in the role, for all grants that rely on it',
    'roles:\n  crew: { members: [orcid:ana], Scopes: [resource:read] }\ngrants:\n  - { id: a, role: crew, namespace: /labs }\n  - { id: b, role: crew, namespace: /labs }\n',
    ['KEY_UNKNOWN Scopes'],
  ],
  [
    'scopes that are missing beside another key that is none',
    grant('id: a, identity: orcid:x, namespace: /labs, resaon: x'),
    ['GRANT_SCOPES_MISSING a', 'KEY_UNKNOWN resaon'],
  ],
  [
    'scopes that a role may give, once it is known',
    grant('id: a, role: nope, namespace: /labs'),
    ['ROLE_UNKNOWN nope'],
  ],
  [
    'an identity, the window, the namespace, the scopes and the id of one grant',
    grant(
      'id: "A b", identity: "visitor:x", namespace: labs, scopes: [resource:reed], notBefore: 2027-01-01T00:00:00Z, expires: 2026-01-01T00:00:00Z',
    ),
    [
      'NAME_INVALID "A b"',
      'PROVIDER_UNKNOWN "visitor:x"',
      'NAMESPACE_NOT_CANONICAL labs',
      'SCOPE_UNKNOWN resource:reed',
      'GRANT_WINDOW 2026-01-01T00:00:00Z',
    ],
  ],
  [
    'a namespace that is written wrong and is not within the bound',
    `within: /labs\n${grant('id: a, role: crew, namespace: beamlines/, scopes: [resource:read]')}`,
    ['GRANT_OUTSIDE_WITHIN beamlines/', 'NAMESPACE_NOT_CANONICAL beamlines/'],
  ],
  [
    'a bound that is written wrong, and is none for a grant',
    `within: labs\n${grant('id: a, role: crew, namespace: /beamlines, scopes: [resource:read]')}`,
    ['NAMESPACE_NOT_CANONICAL labs', 'GRANT_OUTSIDE_WITHIN /beamlines'],
  ],
  [
    'a guardrail with two rules: both are read and looked up',
    guardrail(
      'never: { scopes: [resource:reed], under: /, except: { roles: [nope] } }, expires: { providers: [visitor], within: 90 }',
    ),
    [
      'SCOPE_UNKNOWN resource:reed',
      'ROLE_UNKNOWN nope',
      'GUARDRAIL_KIND expires',
      'PROVIDER_UNKNOWN visitor',
      'DURATION_INVALID 90',
    ],
  ],
  [
    'a count of scopes that are given twice, and wrong',
    guardrail('atMost: { identities: 1, scope: a, scopes: [b], at: "/A" }'),
    ['SCOPE_UNKNOWN a', 'GUARDRAIL_SCOPES scopes', 'SCOPE_UNKNOWN b', 'NAMESPACE_INVALID "/A"'],
  ],
  [
    'one side, and that is none',
    guardrail('separate: [resource:reed]'),
    ['GUARDRAIL_SIDES [resource:reed]', 'SCOPE_UNKNOWN resource:reed'],
  ],
  [
    'an expectation with a wrong scope at a wrong place',
    expects('allow: ["resource:reed /Labs", "*:read labs"]'),
    [
      'SCOPE_UNKNOWN resource:reed',
      'NAMESPACE_INVALID /Labs',
      'SCOPE_NOT_SINGLE *:read',
      'NAMESPACE_NOT_CANONICAL labs',
    ],
  ],
  [
    'an identity in parts, one missing and one wrong',
    'tests:\n  - { name: t, actor: { identities: [{ subject: 7 }, { provider: "A b" }] }, deny: ["resource:read /"] }\n',
    ['KEY_MISSING subject', 'VALUE_NOT_TEXT 7', 'KEY_MISSING provider', 'NAME_INVALID "A b"'],
  ],
  [
    'a role twice, with unknown members in both',
    'roles:\n  a: { members: [{ role: no }, "x:y"], scopes: [z] }\n  b: { members: [{ role: a }, { role: nor }] }\ngrants:\n  - { id: g, role: a, namespace: /labs }\n  - { id: g, role: nope, namespace: /labs }\n',
    [
      'ROLE_UNKNOWN no',
      'PROVIDER_UNKNOWN "x:y"',
      'SCOPE_UNKNOWN z',
      'ROLE_UNKNOWN nor',
      'GRANT_DUPLICATE g',
      'ROLE_UNKNOWN nope',
    ],
  ],
])('%s', (_, text, found) => {
  expect(summary(readExample(text))).toEqual(found);
});

test('a `policy.yaml` without providers is one mistake, in every version that is read', () => {
  const header = (providers: string): string => `bailiwick: 1\nname: p\n${providers}`;
  const roles =
    'roles:\n  a: { members: ["orcid:x", "github-group:y"], scopes: [resource:read] }\n  b: { members: ["orcid:z"] }\n';
  for (const none of ['', 'providers: {}\n', '']) {
    const { diagnostics } = readFolder({ 'policy.yaml': header(none), 'a.yaml': roles });
    expect(diagnostics.map(({ code, file, message, help }) => [code, file, message, help])).toEqual([
      [
        'PROVIDER_UNKNOWN',
        'policy.yaml',
        '`policy.yaml` declares no provider, so no identity can be named',
        'add `providers: { github: {}, orcid: {} }` to it',
      ],
    ]);
    expect(diagnostics[0]?.related).toMatchObject([
      { file: 'a.yaml', message: 'an identity of `orcid` is named here' },
    ]);
  }
  expect(readFolder({ 'policy.yaml': header('providers: { orcid: {} }\n'), 'a.yaml': roles }).diagnostics).toHaveLength(
    1,
  );
  expect(readFolder({ 'policy.yaml': header(''), 'a.yaml': 'roles:\n  a: { members: [] }\n' }).diagnostics).toEqual([]);
});
