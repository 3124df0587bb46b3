// Each limit at its value and one above, and hostile sizes against the real limits.
import { describe, expect, it, test } from '@jest/globals';
import type { EngineLimits } from '../../../engine/compiler.js';
import { readExample, readFolder, POLICY, ROLES, summary } from './support.js';
import { stopCpu } from '../../support/cpu-time.js';

const size = (text: string): number => new TextEncoder().encode(text).length;
const LONG = `# ${'x'.repeat(500)}\nroles: {}\n`;
const ONE_TEST = { name: 'a', actor: { identities: ['github:x'] }, deny: ['resource:read /', 'resource:read /a'] };

// The folder around a text has 3 files, 2 providers, 2 roles, 2 members, and roles within roles to a depth of 1.
describe('at the limit a policy loads, and above it is refused', () => {
  test.each<[keyof EngineLimits, number, string, string]>([
    ['files', 3, 'roles: {}\n', 'FILE_TOO_MANY'],
    ['fileBytes', size(LONG), LONG, 'FILE_TOO_LARGE'],
    ['totalBytes', size(POLICY) + size(ROLES) + size(LONG), LONG, 'FILE_TOTAL_TOO_LARGE'],
    ['depth', 5, 'roles: { a: { members: [{ role: staff }] } }\n', 'LIMIT_DEPTH'],
    [
      'nodes',
      13,
      'guardrails:\n- { id: a, atLeast: { identities: 2, scopes: ["*:read", "*:write"], at: / }, description: a b }\n',
      'LIMIT_NODES',
    ],
    [
      'pieceTexts',
      12,
      'guardrails:\n- { id: a, atLeast: { identities: 2, scopes: ["*:read"], at: / }, description: a b, }\n',
      'LIMIT_NODES',
    ],
    ['providers', 2, 'roles: {}\n', 'LIMIT_COUNT'],
    ['roles', 4, 'roles: { a: {}, b: {} }\n', 'LIMIT_COUNT'],
    ['members', 4, 'roles: { a: { members: [github:x] }, b: { members: [github:x] } }\n', 'LIMIT_COUNT'],
    ['roleDepth', 2, 'roles: { a: { members: [{ role: staff }] } }\n', 'LIMIT_ROLE_DEPTH'],
    [
      'grants',
      2,
      'grants: [{ id: a, role: staff, namespace: / }, { id: b, role: staff, namespace: / }]\n',
      'LIMIT_COUNT',
    ],
    ['people', 2, 'people: { a: { identities: [github:x] }, b: { identities: [github:y] } }\n', 'LIMIT_COUNT'],
    ['tests', 2, JSON.stringify({ tests: [ONE_TEST, { ...ONE_TEST, name: 'b' }] }), 'LIMIT_COUNT'],
    ['expectations', 2, JSON.stringify({ tests: [ONE_TEST] }), 'LIMIT_COUNT'],
    ['guardrails', 1, 'guardrails: [{ id: a, separate: [resource:read, resource:write] }]\n', 'LIMIT_COUNT'],
    ['freeTextBytes', 5, 'roles: { a: { description: "ä€" } }\n', 'VALUE_TOO_LONG'],
  ])('%s', (name, limit, text, code) => {
    expect(summary(readExample(text, { [name]: limit }))).toEqual([]);
    expect(readExample(text, { [name]: limit - 1 }).diagnostics.map((diagnostic) => diagnostic.code)).toEqual([code]);
  });

  test('diagnostics', () => {
    const text = 'grant: []\nrole: []\ntest: []\n';
    expect(summary(readExample(text, { diagnostics: 3 }))).toEqual([
      'KEY_UNKNOWN grant',
      'KEY_UNKNOWN role',
      'KEY_UNKNOWN test',
    ]);
    expect(summary(readExample(text, { diagnostics: 1 }))).toEqual(['KEY_UNKNOWN grant', 'LIMIT_DIAGNOSTICS role']);
    expect(readExample('', { diagnostics: 0 }).policy).toBeNull();
  });
});

describe('hostile sizes', () => {
  test.each<[string, string | Uint8Array, string]>([
    ['5,000 lists in flow style', `grants: ${'['.repeat(5_000)}${']'.repeat(5_000)}\n`, 'LIMIT_DEPTH'],
    ['a million open brackets', '['.repeat(1_000_000), 'LIMIT_DEPTH'],
    ['a million dashes', '- '.repeat(1_000_000), 'LIMIT_DEPTH'],
    [
      '5,000 mappings inside each other',
      Array.from({ length: 5_000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      'LIMIT_DEPTH',
    ],
    ['a text of 10 MiB', `roles:\n  a: { description: "${'x'.repeat(10 * 1024 * 1024)}" }\n`, 'VALUE_TOO_LONG'],
    ['a million dashes in lines', '-\n'.repeat(1_000_000), 'LIMIT_NODES'],
    ['a million commas', `a: [${','.repeat(1_000_000)}]\n`, 'YAML_COMMA_EXTRA'],
    ['10 MB of aliases in a line', `roles: [${'*a, '.repeat(2_500_000)}*a]\n`, 'YAML_ALIAS'],
    ['10 MB of tags in a line', `roles: [${'!a , '.repeat(2_000_000)}x]\n`, 'YAML_TAG'],
    ['a plain text of 10 MB', `roles:\n  a: { description: ${'a '.repeat(5_000_000)}b }\n`, 'VALUE_TOO_LONG'],
    [
      'a plain text of 10 MB in block style',
      `roles:\n  a:\n    description: ${'a:'.repeat(5_000_000)}b\n`,
      'VALUE_TOO_LONG',
    ],
    ['5 million dashes before an odd space', `${'- '.repeat(5_000_000)}\u00a0b\n`, 'LIMIT_DEPTH'],
    [
      'a merge conflict with 200,000 lines that look like its middle',
      `<<<<<<< a\n${'======= x\n'.repeat(200_000)}=======\n>>>>>>> b\n`,
      'TEXT_MERGE_CONFLICT',
    ],
    ['2 million lines of merge conflicts', '=======\n'.repeat(2_000_000), 'TEXT_MERGE_CONFLICT'],
    ['2 million control characters', `# ${'\u0001a'.repeat(2_000_000)}`, 'TEXT_CONTROL'],
    [
      '2 million bytes that are not UTF-8',
      new Uint8Array(4_000_000).map((_, i) => (i % 2 === 0 ? 0xff : 0x61)),
      'TEXT_NOT_UTF8',
    ],
    ['an alias bomb', `roles:\n  a: &a [${'x, '.repeat(1_000)}x]\n  b: [${'*a, '.repeat(99)}*a]\n`, 'YAML_ANCHOR'],
  ])('%s: refused soon', (_, text, code) => {
    const spent = stopCpu();
    const codes = readExample(text).diagnostics.map((diagnostic) => diagnostic.code);
    expect(codes).toContain(code);
    expect(spent()).toBeLessThan(5_000);
  });

  it.each([
    ['comments', '# a\n'],
    ['empty lines', '\n'],
  ])('reads what stands below three million %s', (_, line) => {
    const text = `${line.repeat(3_000_000)}---\ntests: []\n`;
    const spent = stopCpu();
    expect(summary(readExample(text))).toEqual([]);
    expect(summary(readExample(text.replace('---\n', '')))).toEqual([]);
    expect(spent()).toBeLessThan(20_000);
  });

  it.each<[string, string, readonly string[]]>([
    ['a comment of many words', `grants:\n${'# '.repeat(60)}x\nend\n`, ['FILE_IGNORED']],
    ['five million comments', `grants:\n${'#\n'.repeat(5_000_000)}`, ['FILE_IGNORED']],
    ['comments before a list', `grants:\n${'# a b\n\n'.repeat(1_000)}  - { id: a }\n`, ['FILE_MISNAMED']],
    ['comments with CR before a mapping', `roles: # a\r\n  # b\r\n  { a: {} }\r\n`, ['FILE_MISNAMED']],
  ])('judges a text beside the policy soon: %s', (_, text, codes) => {
    const spent = stopCpu();
    const { diagnostics } = readFolder({ 'policy.yaml': POLICY, 'roles.yaml': ROLES, 'notes.txt': text });
    expect(diagnostics.map(({ code }) => code)).toEqual(codes);
    expect(spent()).toBeLessThan(2_000);
  });

  it('looks for the providers that were meant in bounded time', () => {
    const provider = (i: number): string => `${'a'.repeat(50)}${String(i).padStart(4, '0')}${'b'.repeat(10)}`;
    const providers = Array.from({ length: 1_000 }, (_, i) => `  ${provider(i)}: {}\n`).join('');
    const members = Array.from({ length: 5_000 }, (_, i) => `"${'c' + provider(i) + 'd'}:x"`).join(', ');
    const spent = stopCpu();
    const { diagnostics } = readFolder({
      'policy.yaml': `bailiwick: 1\nname: p\nproviders:\n${providers}`,
      'roles.yaml': `roles:\n  a: { scopes: [resource:read], members: [${members}] }\n`,
    });
    expect(diagnostics[0]).toMatchObject({ code: 'PROVIDER_UNKNOWN', help: `did you mean \`${provider(0)}\`?` });
    expect(spent()).toBeLessThan(10_000);
  });

  it('lists a hundred mistakes of one code in a file, and counts the rest', () => {
    const text = `grants:\n${Array.from({ length: 3_000 }, (_, i) => `  - { id: g${String(i)}, role: x${String(i)}, namespace: / }\n`).join('')}`;
    const { diagnostics } = readFolder({ 'policy.yaml': POLICY, 'roles.yaml': ROLES, 'g.yaml': text });
    expect(diagnostics.slice(0, 100).map(({ code }) => code)).toEqual(
      Array.from({ length: 100 }, () => 'ROLE_UNKNOWN'),
    );
    expect(diagnostics.slice(100).map(({ code, range, message }) => [code, range.start.line, message])).toEqual([
      ['LIMIT_DIAGNOSTICS', 102, '2,900 more of ROLE_UNKNOWN in this file are not listed'],
    ]);
  });
});
