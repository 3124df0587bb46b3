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
  test.each<[string, string, string]>([
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
