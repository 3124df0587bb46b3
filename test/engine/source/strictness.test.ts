// What policy files must not contain (docs/language.md "Strictness") and how it is reported: the code, and the text under the span.
import { describe, expect, it, test } from '@jest/globals';
import { readExample, readFolder, POLICY, summary } from './support.js';

const grant = (rest: string): string => `grants:\n  - { id: a, role: staff, namespace: /labs, ${rest} }\n`;

describe('refused', () => {
  test.each<[string, string, readonly string[]]>([
    ['a YAML 1.1 truth value in place of true', grant('inherit: yes'), ['VALUE_NOT_BOOLEAN yes']],
    ['a truth value in other case', grant('inherit: True'), ['VALUE_NOT_BOOLEAN True']],
    ['a quoted truth value', grant('inherit: "false"'), ['VALUE_NOT_BOOLEAN "false"']],
    ['a number where text is due', grant('reason: 1e3'), ['VALUE_NOT_TEXT 1e3']],
    ['an octal-looking number', grant('reason: 0123'), ['VALUE_NOT_TEXT 0123']],
    ['infinity', grant('reason: .inf'), ['VALUE_NOT_TEXT .inf']],
    ['a truth value where text is due', grant('reason: TRUE'), ['VALUE_NOT_TEXT TRUE']],
    ['a tilde', grant('reason: ~'), ['VALUE_NULL ~']],
    ['null in a list of scopes', grant('scopes: [null]'), ['VALUE_NULL null']],
    ['an unquoted pattern that is an alias', grant('scopes: [*:read]'), ['YAML_ALIAS *:read']],
    ['a scope with a space in it', grant('scopes: [resource: read]'), ['VALUE_NOT_TEXT resource: read']],
    [
      'other wildcards',
      grant('scopes: ["*", "**:read", "resource:re*"]'),
      ['SCOPE_UNKNOWN "*"', 'SCOPE_UNKNOWN "**:read"', 'SCOPE_UNKNOWN "resource:re*"'],
    ],
    ['a scope twice', grant('scopes: [resource:read, "resource:read"]'), ['VALUE_REPEATED "resource:read"']],
    ['an instant without offset', grant('expires: 2027-06-30T00:00:00'), ['INSTANT_INVALID 2027-06-30T00:00:00']],
    ...['notBefore: "0000-01-01T00:00:00+00:01"', 'expires: "9999-12-31T23:59:59-23:59"'].map(
      (field): [string, string, readonly string[]] => [
        `an instant of a year that RFC 3339 cannot write: ${field}`,
        grant(field),
        [`INSTANT_INVALID ${field.slice(field.indexOf('"'))}`],
      ],
    ),
    ['a leap second', grant('expires: 2016-12-31T23:59:60Z'), ['INSTANT_INVALID 2016-12-31T23:59:60Z']],
    ['microseconds', grant('expires: 2027-01-01T00:00:00.000001Z'), ['INSTANT_INVALID 2027-01-01T00:00:00.000001Z']],
    ['an anchor and its alias', 'roles:\n  a: &x { members: [] }\n  b: *x\n', ['YAML_ANCHOR &x', 'YAML_ALIAS *x']],
    ['a merge of an alias', 'roles:\n  a: { <<: *x }\n', ['YAML_MERGE_KEY <<', 'YAML_ALIAS *x']],
    ['tags of every kind', 'roles:\n  a: !!map { description: !x y }\n', ['YAML_TAG !!map', 'YAML_TAG !x']],
    [
      'a key twice under different spellings',
      'roles:\n  role: {}\n  "r\\x6fle": {}\n',
      ['YAML_DUPLICATE_KEY "r\\x6fle"'],
    ],
    ['a number key and its quoted twin', 'roles:\n  1: {}\n  "1": {}\n', ['YAML_KEY_NOT_TEXT 1']],
    ['a list as a key', 'roles:\n  [a]: {}\n', ['YAML_KEY_NOT_TEXT [a]']],
    [
      'keys that programs trip over',
      'roles:\n  __proto__: {}\n  prototype: {}\n',
      ['KEY_FORBIDDEN __proto__', 'KEY_FORBIDDEN prototype'],
    ],
    ['a directive before the document', '%TAG ! x:\n---\ngrants: []\n', ['YAML_DIRECTIVE %TAG ! x:']],
    ['a list at the top', '- a\n', ['VALUE_NOT_MAPPING - a']],
    ['a text at the top', 'hello\n', ['VALUE_NOT_MAPPING hello']],
    ['nothing in a list', 'roles:\n  a:\n    members:\n      -\n', ['VALUE_NULL -']],
    [
      'text that a colon makes a mapping',
      'roles:\n  a: { description: "x" }\n  b:\n    description: a: b\n',
      ['YAML_COLON_IN_TEXT a: b'],
    ],
    ['an unclosed quote', 'roles:\n  a: { description: "x }\n', ['YAML_QUOTE_UNCLOSED }']],
    ['a principal of both kinds', grant('identity: orcid:x'), ['GRANT_PRINCIPAL identity']],
    ['text that looks like a template, as a scope', grant('scopes: ["{{x}}"]'), ['SCOPE_UNKNOWN "{{x}}"']],
    [
      'a role that is an Object property',
      'grants:\n  - { id: a, role: constructor, namespace: / }\n',
      ['ROLE_UNKNOWN constructor'],
    ],
    [
      'a subject with white space at its end',
      'roles:\n  a: { members: ["orcid:x "] }\n',
      ['IDENTITY_INVALID "orcid:x "'],
    ],
    [
      'a group of a provider that is not declared',
      'roles:\n  a: { members: [ldap-group:x] }\n',
      ['PROVIDER_UNKNOWN ldap-group:x'],
    ],
    [
      'a family pattern in a role',
      'roles:\n  a: { members: [], scopes: ["*-template:*"] }\n',
      ['SCOPE_TEMPLATE_PATTERN "*-template:*"'],
    ],
    ['sections of policy.yaml elsewhere', 'bailiwick: 1\ngrants: []\n', ['KEY_MISPLACED bailiwick']],
  ])('%s', (_, text, expected) => {
    const reading = readExample(text);
    expect(summary(reading)).toEqual(expected);
    expect(reading.policy).toBeNull();
  });

  test.each<[string, Uint8Array, string]>([
    ['UTF-16', new Uint8Array([0xff, 0xfe, 0x67, 0x00]), 'TEXT_NOT_UTF8'],
    ['an overlong slash', new Uint8Array([0x23, 0xc0, 0xaf]), 'TEXT_NOT_UTF8'],
    ['an encoded surrogate', new Uint8Array([0x23, 0xed, 0xa0, 0x80]), 'TEXT_NOT_UTF8'],
    ['a cut-off character', new Uint8Array([0x23, 0xe2, 0x82]), 'TEXT_NOT_UTF8'],
    ['a code point beyond Unicode', new Uint8Array([0x23, 0xf4, 0x90, 0x80, 0x80]), 'TEXT_NOT_UTF8'],
    ['a raw NUL', new Uint8Array([0x23, 0x00]), 'TEXT_NUL'],
    ['a byte order mark within', new Uint8Array([0x23, 0xef, 0xbb, 0xbf]), 'TEXT_BOM'],
    ['a line separator', new TextEncoder().encode('# a\u2028grants: []'), 'TEXT_CONTROL'],
    ['a paragraph separator', new TextEncoder().encode('# a\u2029'), 'TEXT_CONTROL'],
    ['an interlinear annotation', new TextEncoder().encode('# \uFFF9'), 'TEXT_CONTROL'],
    ['a next-line control', new Uint8Array([0x23, 0xc2, 0x85]), 'TEXT_CONTROL'],
  ])('%s', (_, bytes, code) => {
    expect(readExample(bytes).diagnostics.map((diagnostic) => diagnostic.code)).toEqual([code]);
  });
});

describe('accepted', () => {
  test.each<[string, string]>([
    ['CRLF line ends', 'roles:\r\n  a:\r\n    members: [github:x]\r\n'],
    ['a first document mark', '# head\n---\nroles:\n  a: { members: [] }\n'],
    ['a document end mark', 'roles:\n  a: { members: [] }\n...\n'],
    ['JSON', '{"roles":{"a":{"members":["github:x"]}}}'],
    ['JSON on many lines', '{\n "roles": {\n  "a": {\n   "members": [\n    "github:x"\n   ]\n  }\n }\n}'],
    ['block texts', 'roles:\n  a:\n    description: |\n      two\n      lines\n    members: []\n'],
    ['an explicit key', 'roles:\n  ? a\n  : members: []\n'],
    ['YAML 1.1 words as the text that they are', grant('reason: no')],
    ['overlapping patterns', grant('scopes: ["resource:*", "*:read"]')],
    ['a group of a declared provider', 'roles:\n  a: { members: ["github-group:staff"] }\n'],
    ['a subject with colons', 'roles:\n  a: { members: ["orcid:https://orcid.org/0"] }\n'],
    ['hostile data as data', grant(`reason: "' OR 1=1 -- {{x}} \${y}"`)],
    ['numbers in quotes', grant('reason: "0123"')],
  ])('%s', (_, text) => {
    const reading = readExample(text);
    expect(summary(reading)).toEqual([]);
    expect(reading.policy).not.toBeNull();
  });
});

describe('all mistakes of one run', () => {
  it('are reported in order of file and place, once, and do not cascade', () => {
    const reading = readFolder({
      'b.yaml':
        'grants:\n  - { id: x, role: nobody, namespace: /Labs, scopes: [resource:red], expire: 1 }\n  - { id: x, role: a, namespace: /l }\n',
      'policy.yaml': POLICY,
      'a.yaml': 'roles:\n  a: { members: [gihub:x], scopes: [resource:raed] }\n',
    });
    expect(reading.diagnostics.map((d) => `${d.file}:${String(d.range.start.line)} ${d.code}`)).toEqual([
      'a.yaml:2 PROVIDER_UNKNOWN',
      'a.yaml:2 SCOPE_UNKNOWN',
      'b.yaml:2 ROLE_UNKNOWN',
      'b.yaml:2 NAMESPACE_INVALID',
      'b.yaml:2 SCOPE_UNKNOWN',
      'b.yaml:2 KEY_UNKNOWN',
      'b.yaml:3 GRANT_DUPLICATE',
    ]);
  });

  it('do not call unknown what an unreadable file may declare', () => {
    const files = { 'policy.yaml': POLICY, 'roles.yaml': 'roles: {', 'g.yaml': grant('scopes: [resource:read]') };
    expect(readFolder(files).diagnostics.map((diagnostic) => diagnostic.code)).toEqual(['YAML_UNCLOSED']);
    const noHeader = { 'roles.yaml': 'roles:\n  staff: { members: [orcid:x] }\n' };
    expect(readFolder(noHeader).diagnostics.map((diagnostic) => diagnostic.code)).toEqual(['POLICY_MISSING']);
    const invoices = `${noHeader['roles.yaml']}grants:\n  - { id: g, role: staff, scopes: [invoice:pay], namespace: /x }\n`;
    for (const header of ['', `# ${POLICY.trimEnd().replaceAll('\n', '\n# ')}\n`])
      expect(readFolder({ 'policy.yaml': header, 'roles.yaml': invoices }).diagnostics).toMatchObject([
        { code: 'POLICY_MISSING', message: '`policy.yaml` has no content' },
      ]);
  });

  it('refer to where a name was first declared', () => {
    const [duplicate] = readFolder({
      'policy.yaml': POLICY,
      'a.yaml': 'roles: { x: {} }\n',
      'b.yaml': 'roles: { x: {} }\n',
    }).diagnostics;
    expect(duplicate).toMatchObject({
      code: 'ROLE_DUPLICATE',
      file: 'b.yaml',
      related: [{ file: 'a.yaml', range: { start: { line: 1, column: 10 } } }],
    });
  });
});

describe('help', () => {
  const rule = (text: string): string => `guardrails:\n  - { id: g, ${text} }\n`;
  test.each<[string, string, string]>([
    ['a grant', grant('scopes:'), 'name at least one scope, or remove the key'],
    ['a role', 'roles:\n  a: { scopes: ~ }\n', 'name at least one scope, or remove the key'],
    ['a guardrail', rule('never: { scopes: null, under: / }'), 'name at least one scope'],
    ['a separation', rule('separate: { scopes: null }'), 'name at least two scopes or patterns'],
    ['providers', rule('expires: { providers: null, within: 1d }'), 'name at least one provider'],
    [
      'an exemption',
      rule('never: { scopes: ["*:write"], under: /, except: null }'),
      'name `roles` or `identities`, or remove it',
    ],
    ['members, which may be none', 'roles:\n  a: { members: ~ }\n', 'write `[]` for none, or remove the key'],
  ])('for nothing in %s proposes only what is taken', (_, text, help) => {
    expect(readExample(text).diagnostics.map(({ code, help: said }) => [code, said])).toEqual([['VALUE_NULL', help]]);
  });

  test.each([
    ['2027-01-01T00:00:00Z', 'the grant is never in force: it expires when it begins'],
    ['2026-01-01T00:00:00Z', 'the grant is never in force: it expires before it begins'],
  ])('a grant from 2027 until %s: %s', (expires, message) => {
    const window = grant(`scopes: [resource:read], notBefore: 2027-01-01T00:00:00Z, expires: ${expires}`);
    expect(readExample(window).diagnostics.map((found) => [found.code, found.message])).toEqual([
      ['GRANT_WINDOW', message],
    ]);
  });

  test.each([
    [
      'an actor',
      'tests:\n  - { name: t, actor: { identities: [staff] }, allow: [resource:read /x] }\n',
      'a role is not possible here',
    ],
    [
      'an identity',
      grant('identity: staff').replace('role: staff, ', ''),
      'to name a role, write `role: …` in place of `identity`',
    ],
    ['a member', 'roles:\n  a: { members: [staff] }\n', 'to name a role, write `{ role: … }`'],
  ])('for a role as %s is one that works', (_, text, help) => {
    const found = readExample(text).diagnostics.find(({ code }) => code === 'IDENTITY_INVALID');
    expect(found?.help).toBe(`write \`provider:subject\`; ${help}`);
  });
});
