// Typical mistakes of people who write policy by hand. Each is reported once, at its place, with what to do, and hides no other mistake
// in its file (docs/language.md "Mistakes").
import { describe, expect, it, test } from '@jest/globals';
import { POLICY, readExample, readFolder, ROLES, summary, textUnder } from './support.js';

const GRANT = '    role: staff\n    namespace: /labs\n';
/** A last entry with a mistake of its own, which must be told whatever stands before it. */
const LAST = '  - id: z\n    role: staff\n    namespace: /Labs\n';
const FOUND = 'NAMESPACE_INVALID /Labs';
/** The same for a file of roles. */
const LAST_ROLE = '  zoo: { member: [] }\n';
const FOUND_ROLE = 'KEY_UNKNOWN member';

describe('a slip in one grant is reported, and the next grant is still checked', () => {
  test.each<[string, string, readonly string[]]>([
    ['indented too little', `  - id: a\n    role: staff\n   namespace: /labs\n`, ['YAML_INDENT namespace: /labs']],
    ['indented too far', `  - id: a\n      role: staff\n      namespace: /labs\n`, ['YAML_INDENT role: staff']],
    [
      'an entry further left',
      `  - id: a\n${GRANT} - id: b\n   role: staff\n   namespace: /x\n`,
      ['YAML_INDENT - id: b'],
    ],
    [
      'a dash left out, in its column',
      `  - id: a\n${GRANT}  id: b\n  role: staff\n  namespace: /x\n`,
      ['YAML_DASH_MISSING id: b'],
    ],
    ['a dash left out, the rest in place', `  - id: a\n${GRANT}  id: b\n${GRANT}`, ['YAML_DASH_MISSING id: b']],
    ['a dash left out, in the column of the keys', `  - id: a\n${GRANT}    id: b\n${GRANT}`, ['YAML_DUPLICATE_KEY id']],
    [
      'no space after the dash',
      `  - id: y\n${GRANT}  -id: a\n   role: staff\n   namespace: /x\n`,
      ['YAML_DASH_SPACE -id:'],
    ],
    ['no space after a colon', `  - id: a\n    role:staff\n    namespace: /labs\n`, ['YAML_COLON_SPACE role:staff']],
    [
      'no space after the colon of the last key',
      `  - id: a\n    role: staff\n    namespace:/labs\n`,
      ['YAML_COLON_SPACE namespace:/labs'],
    ],
    ['no space after colons in braces', `  - {id:a, role: staff, namespace: /labs}\n`, ['KEY_UNKNOWN id:a']],
    ['no colon', `  - id: a\n    role staff\n    namespace: /labs\n`, ['YAML_COLON_MISSING role staff']],
    ['an equals sign', `  - id = a\n`, ['VALUE_NOT_MAPPING id = a']],
    ['a colon in a text', `  - id: a\n    reason: see: this\n${GRANT}`, ['YAML_COLON_IN_TEXT see: this']],
    ['a double quote left open', `  - id: a\n    reason: "because\n${GRANT}`, ['YAML_QUOTE_UNCLOSED e']],
    ['a single quote left open', `  - { id: a, role: 'staff, namespace: /labs }\n`, ['YAML_QUOTE_UNCLOSED }']],
    ['an apostrophe in single quotes', `  - id: a\n    reason: 'it's'\n${GRANT}`, ["YAML_TRAILING s'"]],
    ['a bracket left open', `  - id: a\n    scopes: [resource:read\n${GRANT}`, ['YAML_UNCLOSED d']],
    [
      'a bracket left open over lines',
      `  - id: a\n    scopes: [resource:read,\n      resource:write\n${GRANT}`,
      ['YAML_UNCLOSED e'],
    ],
    ['a brace left open', `  - { id: a, role: staff, namespace: /labs\n`, ['YAML_UNCLOSED s']],
    ['one bracket too many', `  - { id: a, role: staff, namespace: /labs }}\n`, ['YAML_BRACKET_EXTRA }']],
    [
      'a comma left out',
      `  - { id: a, role: staff namespace: /labs }\n`,
      ['YAML_COLON_IN_TEXT staff namespace: /labs '],
    ],
    [
      'a comma left out after a bracket',
      `  - { id: a, role: staff, scopes: [resource:read] namespace: /labs }\n`,
      ['YAML_COMMA_MISSING namespace:'],
    ],
    ['a comma too many', `  - { id: a, , role: staff, namespace: /labs }\n`, ['YAML_COMMA_EXTRA ,']],
    [
      'scopes that are no list',
      `  - { id: a, role: staff, namespace: /labs, scopes: resource:read }\n`,
      ['VALUE_NOT_LIST resource:read'],
    ],
    ['a pattern without quotes', `  - id: a\n    scopes: *:read\n${GRANT}`, ['YAML_ALIAS *:read']],
    ['an at sign', `  - id: a\n    reason: @team\n${GRANT}`, ['YAML_SCALAR_START @']],
    ['a path of Windows', `  - id: a\n    reason: "C:\\q"\n${GRANT}`, ['YAML_ESCAPE \\q']],
    [
      'a list beginning on the line of its key',
      `  - id: a\n    scopes: - resource:read\n${GRANT}`,
      ['YAML_LIST_INLINE -'],
    ],
    ['a comment without space', `  - { id: a, role: staff, namespace: /labs }#x\n`, ['YAML_COMMENT_SPACE #x']],
    ['a tab in the indentation', `  - id: a\n\trole: staff\n    namespace: /labs\n`, ['TEXT_TAB \t']],
    ['a tab behind a colon', `  - id:\ta\n${GRANT}`, ['TEXT_TAB \t']],
    ['a tab in a name', `  - id: a\tb\n${GRANT}`, ['TEXT_TAB \t']],
    [
      'a no-break space',
      `  - id: a\n\u00a0\u00a0\u00a0\u00a0role: staff\n    namespace: /labs\n`,
      ['TEXT_SPACE \u00a0\u00a0\u00a0\u00a0'],
    ],
    ['a NUL in a name', `  - id: a\u0000b\n${GRANT}`, ['TEXT_NUL \u0000']],
    ['a decomposed name', `  - id: cafe\u0301\n${GRANT}`, ['TEXT_NOT_NFC cafe\u0301']],
    ['a lone CR', `  - id: a\r    role: staff\n    namespace: /labs\n`, ['TEXT_LONE_CR \r']],
    [
      'two slips in two grants',
      `  - id:a\n${GRANT}  - id: b\n    scopes: [x\n${GRANT}`,
      ['YAML_COLON_SPACE id:a', 'YAML_UNCLOSED x'],
    ],
  ])('%s', (_, grants, expected) => {
    const reading = readExample(`grants:\n${grants}${LAST}`);
    expect(summary(reading)).toEqual([...expected, FOUND]);
    expect(reading.policy).toBeNull();
    for (const { help } of reading.diagnostics) expect(help).toBeDefined();
  });
});

describe('a slip in one role is reported, and the next role is still checked', () => {
  test.each<[string, string, readonly string[]]>([
    ['a role without colon', '  optics\n    members: []\n', ['YAML_COLON_MISSING optics']],
    ['keys beside their role', '  optics:\n  members: [github:x]\n', ['YAML_INDENT members']],
    [
      'a key further left than all roles',
      '  optics:\n    members: []\n description: x\n',
      ['YAML_INDENT description: x'],
    ],
    [
      'members without space after the dash',
      '  optics:\n    members:\n      -github:x\n      -github:y\n',
      ['VALUE_NOT_LIST -github:x'],
    ],
    [
      'one member without dash',
      '  optics:\n    members:\n      - github:x\n      github:y\n',
      ['YAML_DASH_MISSING github:y'],
    ],
    [
      'one member without space after the dash',
      '  optics:\n    members:\n      - github:x\n      -github:y\n',
      ['YAML_DASH_SPACE -github:y'],
    ],
    ['a question mark', '  optics: { members: [github:x, ? , github:y] }\n', ['YAML_KEY_NOT_TEXT ?']],
    ['a dash with nothing', '  optics:\n    members:\n      - github:x\n      -\n', ['VALUE_NULL -']],
    ['commas with nothing between', '  optics: { members: [github:x,, github:y] }\n', ['YAML_COMMA_EXTRA ,']],
    ['a number as name', '  7: { members: [] }\n', ['YAML_KEY_NOT_TEXT 7']],
    ['a tab of two columns', '  optics:\n  \tmembers: [github:x]\n', ['TEXT_TAB \t']],
    [
      'tabs of eight columns',
      '  optics:\n\tmembers: [github:x]\n\tscopes: [resource:read]\n',
      ['TEXT_TAB \t', 'TEXT_TAB \t'],
    ],
  ])('%s', (_, roles, expected) => {
    const reading = readExample(`roles:\n${roles}${LAST_ROLE}`);
    expect(summary(reading)).toEqual([...expected, FOUND_ROLE]);
    for (const { help } of reading.diagnostics) expect(help).toBeDefined();
  });
});

describe('a slip at the left edge', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'a section without colon',
      `roles:\n${LAST_ROLE}grants\n  - id: a\n${GRANT}`,
      [FOUND_ROLE, 'YAML_COLON_MISSING grants'],
    ],
    ['a file that begins with an empty line', `\ngrants:\n  id: a\n    role: x\n`, ['YAML_INDENT role: x']],
    ['a section without space', `grants:[]\nroles:\n${LAST_ROLE}`, ['YAML_COLON_SPACE grants:[]', FOUND_ROLE]],
    ['a section alone without space', 'grants:[]\n', ['VALUE_NOT_MAPPING grants:[]']],
    ['a first section that is indented', `  roles:\n    a: {}\ngrants:\n${LAST}`, [`YAML_INDENT grants:`, FOUND]],
    ['a byte order mark', `\uFEFFgrants:\n${LAST}`, ['TEXT_BOM \uFEFF', FOUND]],
    ['a byte order mark before a comment, and CRLF', `\uFEFF# x\r\ngrants:\r\n${LAST}`, ['TEXT_BOM \uFEFF', FOUND]],
    ['a bracket too many', `roles:\n${LAST_ROLE}grants: []\n}\n`, [FOUND_ROLE, 'YAML_BRACKET_EXTRA }']],
    ['keys of a grant', 'grants:\n- id: a\nrole: staff\nnamespace: /labs\n', ['YAML_INDENT role']],
    [
      'the key of a person',
      'people:\n  ana:\n  identities: [orcid:a]\n  bo: {}\n',
      ['YAML_INDENT identities', 'KEY_MISSING {}'],
    ],
    ['a second document', `roles:\n${LAST_ROLE}---\ngrants:\n${LAST}`, [FOUND_ROLE, 'YAML_DOCUMENTS ---', FOUND]],
    ['a second document with the same section', `grants: []\n---\ngrants:\n${LAST}`, ['YAML_DOCUMENTS ---']],
    [
      'a list that ends in a comma on the left',
      'grants: [\n  { id: a, role: staff, namespace: /labs }\n',
      ['YAML_UNCLOSED }'],
    ],
  ])('%s', (_, text, expected) => {
    expect(summary(readExample(text))).toEqual(expected);
  });
});

describe('what a broken part may have declared', () => {
  const folder = (text: string): readonly string[] =>
    summary(
      readFolder({
        'policy.yaml': POLICY,
        'roles.yaml': ROLES,
        'x.yaml': text,
        'z.yaml': 'grants:\n  - { id: z, role: optics, namespace: / }\n',
      }),
    );

  it('is not called missing', () => {
    expect(folder('roles:\n  optics: { members: [ }\n')).toEqual(['YAML_UNCLOSED }']);
    expect(folder('roles\n  optics: { members: [] }\n')).toEqual(['YAML_COLON_MISSING roles']);
    expect(folder('roles:\n  o\tptics: { members: [] }\n')).toEqual(['TEXT_TAB \t']);
  });

  it('is, where no role can have been lost', () => {
    expect(folder('grants:\n  - { id: a, role: staff, namespace: [ }\n')).toEqual([
      'YAML_UNCLOSED }',
      'ROLE_UNKNOWN optics',
    ]);
  });

  it('is not called missing in policy.yaml either', () => {
    const header = 'bailiwick: 1\nname: a: b\nproviders: { orcid: {} }\n';
    expect(summary(readFolder({ 'policy.yaml': header, 'x.yaml': 'roles: { a: { members: [gitub:x] } }\n' }))).toEqual([
      'YAML_COLON_IN_TEXT a: b',
      'PROVIDER_UNKNOWN gitub:x',
    ]);
    const broken = 'bailiwick: 1\nname: a\nproviders: { orcid: {}\n';
    expect(summary(readFolder({ 'policy.yaml': broken, 'x.yaml': 'roles: { a: { members: [gitub:x] } }\n' }))).toEqual([
      'YAML_UNCLOSED }',
    ]);
  });
});

test('a key of a provider that stands beside its name is told once', () => {
  const policy = 'bailiwick: 1\nname: a\nproviders:\n  orcid:\n  description: x\n  github: {}\n';
  const reading = readFolder({ 'policy.yaml': policy, 'x.yaml': 'roles: { a: { members: [orcid:x, gitub:x] } }\n' });
  expect(summary(reading)).toEqual(['YAML_INDENT description', 'PROVIDER_UNKNOWN gitub:x']);
});

test('a mistake in a guardrail hides no name that the same rule gets wrong', () => {
  const except = 'except: { roles: [nosuch], identities: ["githb:x", 7] }';
  const rules = [
    `never: { scopes: [x], under: /x, ${except} }`,
    `separate: { scopes: [resource:write], under: /X, ${except} }`,
    'expires: { providers: [orchid], within: soon }',
    'never: { scopes: [resource:write], under: /x, except: { roles: [nosuch], identities: 7 } }',
  ];
  const guardrails = rules.map((rule, index) => `  - { id: g${String(index)}, ${rule} }\n`).join('');
  const names = ['ROLE_UNKNOWN nosuch', 'PROVIDER_UNKNOWN "githb:x"', 'IDENTITY_INVALID 7'];
  expect([...summary(readExample(`guardrails:\n${guardrails}`))].sort()).toEqual(
    [
      ...names,
      ...names,
      'SCOPE_UNKNOWN x',
      'GUARDRAIL_SIDES [resource:write]',
      'NAMESPACE_INVALID /X',
      'PROVIDER_UNKNOWN orchid',
      'DURATION_INVALID soon',
      'ROLE_UNKNOWN nosuch',
      'VALUE_NOT_LIST 7',
    ].sort(),
  );
});

describe('what is offered is what was meant', () => {
  const guardrail = (rule: string): string => `guardrails:\n  - { id: a, ${rule} }\n`;
  const counted = (at: string): string => guardrail(`atLeast: { identities: 2, scope: resource:write, at: ${at} }`);
  const actor = (text: string): string => `tests:\n  - name: t\n    actor: ${text}\n    allow: [resource:read /x]\n`;
  const DAYS = 'write `90d` if days are meant; for example `30s`, `15m`, `24h` or `90d`';
  const TOP = 'did you mean `every-top-level`?';
  test.each([
    ['a place misspelt', counted('every-toplevel'), 'NAMESPACE_INVALID every-toplevel', TOP],
    ['a place cut short', counted('top-level'), 'NAMESPACE_INVALID top-level', TOP],
    ['a place with underscores', counted('every_top_level'), 'NAMESPACE_INVALID every_top_level', TOP],
    ['another place', counted('labs'), 'NAMESPACE_NOT_CANONICAL labs', 'write `/labs`'],
    ['days', guardrail('expires: { providers: [orcid], within: 90 }'), 'DURATION_INVALID 90', DAYS],
    ['days in quotes', guardrail('expires: { providers: [orcid], within: "90" }'), 'DURATION_INVALID "90"', DAYS],
    ['one identity', actor('orcid:a'), 'VALUE_NOT_MAPPING orcid:a', 'write `{ identities: [orcid:a] }`'],
    ['some', actor('[orcid:a, github:b]'), null, 'write `{ identities: [orcid:a, github:b] }`'],
    ['an equals sign', actor('identities = x'), null, 'write `identities: x`'],
    ['a dash alone', 'grants:\n  -\n', 'VALUE_NULL -', 'it needs `id`, `namespace` and one of `role`, `identity`'],
    [
      'a member with a space in it',
      'roles:\n  a:\n    members:\n      - orcid: 0000-0001\n',
      'VALUE_NOT_TEXT orcid: 0000-0001',
      'remove the space: `orcid:0000-0001`',
    ],
    [
      'a member in words',
      'roles:\n  a: { members: [{ member: orcid:a }] }\n',
      'VALUE_NOT_TEXT { member: orcid:a }',
      'write `orcid:a`',
    ],
    ['a member role', 'roles:\n  a: { members: [{ roel: staff }] }\n', 'KEY_UNKNOWN roel', 'did you mean `role`?'],
  ])('for %s', (_, text, code, help) => {
    const reading = readExample(text);
    expect(reading.diagnostics.map((diagnostic) => diagnostic.help)).toEqual([help]);
    if (code !== null) expect(summary(reading)).toEqual([code]);
  });
});

test('many unclosed brackets are each reported, though they seem to be nested', () => {
  const grants = Array.from(
    { length: 50 },
    (_, i) => `  - { id: g${String(i)}, role: staff, scopes: [x, namespace: /labs }\n`,
  );
  expect(summary(readExample(`grants:\n${grants.join('')}${LAST}`))).toEqual([
    ...grants.map(() => 'YAML_UNCLOSED }'),
    FOUND,
  ]);
});

test('an unclosed bracket or quote is reported with the place where it was opened', () => {
  const opened = (text: string): readonly string[] => {
    const reading = readExample(text);
    return reading.diagnostics.flatMap(({ related }) =>
      related.map((place) => `${place.message} ${textUnder(reading, place)}`),
    );
  };
  expect(opened('grants:\n  - id: a\n    reason: "x\n')).toEqual(['opened here "']);
  expect(opened("grants:\n  - id: a\n    reason: 'x\n")).toEqual(["opened here '"]);
  expect(opened('roles:\n  a: { members: [github:x }\n')).toEqual(['opened here [']);
  expect(opened('roles:\n  a: { members: [github:x]\n  b: {}\n')).toEqual(['opened here {']);
});
