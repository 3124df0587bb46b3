// Text that is not YAML is reported once and causes no further reports: for each broken entry its first fault, plus the mistakes in the
// entries that can be read.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fromRoot } from '../../support/root.js';
import { testRuns } from '../../support/test-runs.js';
import { readExample, readFolder, summary } from './support.js';
import { stopCpu } from '../../support/cpu-time.js';

describe('of an entry with several slips the first is reported, and so are the mistakes of the other entries', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'grants',
      'grants:\n  - id: a\n    role: "st\n    namespace: /Labs\n    inherit: @yes\n  - { id: b, role: staff, namespace: /labs, scopes: [resource:raed] }\n',
      ['YAML_QUOTE_UNCLOSED t', 'SCOPE_UNKNOWN resource:raed'],
    ],
    [
      'a grant, and one with a slip of its own',
      'grants:\n  - id: a\n    role staff\n    scopes: [resource:read\n  - { id: b, role: staff, namespace: [ }\n  - { id: c, role: staff, namespace: /Labs }\n',
      ['YAML_COLON_MISSING role staff', 'YAML_UNCLOSED }', 'NAMESPACE_INVALID /Labs'],
    ],
    [
      'a dash too far left inside of an entry',
      'grants:\n  - id: a\n    role: staff\n    scopes:\n      - resource:read\n     - resource:write\n    namespace: /Labs\n  - { id: b, role: staff, namespace: /Labs }\n',
      ['YAML_INDENT - resource:write', 'NAMESPACE_INVALID /Labs'],
    ],
    [
      'a role, whose name is then not called unknown',
      'roles:\n  a:\n    description: "x\n    members: [visitor:q]\n  b: { members: [{ role: nope }, visitor:p] }\ngrants:\n  - { id: g, role: a, namespace: /labs, scopes: [resource:raed] }\n',
      ['YAML_QUOTE_UNCLOSED x', 'PROVIDER_UNKNOWN visitor:p', 'SCOPE_UNKNOWN resource:raed'],
    ],
    [
      'braces on one line, which are one entry',
      'grants: [{ id: a, role: staff }, { id: b role: staff }, { id: c, scopes: [z }]\nroles:\n  a: { members: [visitor:q] }\n',
      ['YAML_COLON_IN_TEXT b role: staff ', 'PROVIDER_UNKNOWN visitor:q'],
    ],
    [
      'a file of JSON, which is one entry',
      '{ "grants": [\n  { "id": "a" "role": "nope", "namespace": "/A" },\n  { "id":"c","scopes":["z" }\n] }\n',
      ['YAML_COLON_IN_TEXT "a" "role": "nope"'],
    ],
    [
      'a quote left open in braces',
      'grants:\n  - { id: a, role: "staff, or, else: nobody, namespace: /labs }\n  - { id: b, role: nope, namespace: /labs, scopes: [resource:read] }\n',
      ['YAML_QUOTE_UNCLOSED }', 'ROLE_UNKNOWN nope'],
    ],
    [
      'text behind a closing quote',
      'grants:\n  - id: a\n    role: "staff"y\n    scopes: [resource:read] z\n  - { id: b, role: staff, namespace: /Labs }\n',
      ['YAML_TRAILING y', 'NAMESPACE_INVALID /Labs'],
    ],
    [
      'a section that is indented: what it declares is not called missing',
      'grants:\n  - { id: a, role: x, namespace: /labs }\n  roles:\n    x: {}\n',
      ['YAML_DASH_MISSING roles:'],
    ],
  ])('%s', (_, text, expected) => {
    const reading = readExample(text);
    expect(summary(reading)).toEqual(expected);
    expect(reading.policy).toBeNull();
  });
});

describe('one slip is reported once', () => {
  const grants = Array.from({ length: 5_000 }, (_, i) => `id: g${String(i)}\nrole: staff\nnamespace: /labs\n`);
  test.each<[string, string, readonly string[]]>([
    ['a list opened and its entries at the left edge', `grants: [\n${grants.join('')}`, ['YAML_UNCLOSED [']],
    [
      'the same in braces',
      `grants: [\n${grants.map((text) => `{ ${text.trim().replaceAll('\n', ', ')} },\n`).join('')}`,
      ['YAML_UNCLOSED ['],
    ],
    [
      'a first entry without its dash',
      `grants:\n    id: a\n    role: staff\n    namespace: /labs\n${grants.map((text) => `  - ${text.trim().replaceAll('\n', '\n    ')}\n`).join('')}`,
      ['YAML_INDENT - id: g0'],
    ],
  ])('%s', (_, text, expected) => {
    expect(summary(readExample(text))).toEqual(expected);
  });

  test('where a provider lost its colon, what names it is not wrong', () => {
    const reading = readFolder({
      'policy.yaml': 'bailiwick: 1\nname: a\nproviders:\n  orcid { description: x }\n  github: {}\n',
      'roles.yaml': 'roles:\n  a: { members: [orcid:a, orcid:b] }\n',
    });
    expect(reading.diagnostics.filter(({ file }) => file === 'roles.yaml')).toEqual([]);
    expect(reading.policy).toBeNull();
  });

  // Every line of the policy that ships, broken as a hand may break it.
  const BREAKS: readonly (readonly [RegExp, string])[] = [
    [/^ +/, ''],
    [/^ +/, '\t'],
    [/^ /, ''],
    [/^/, '  '],
    [/: /, ':'],
    [/:/, ''],
    [/: /, ': "'],
    [/: /, ": '"],
    [/: /, ': ['],
    [/: /, ': {'],
    [/: /, ': @'],
    [/: /, ': *'],
    [/[\]}]/, ''],
    [/[[{]/, ''],
    [/$/, ' }'],
    [/, /, ' '],
    [/, /, ', , '],
    [/- /, '  '],
    [/- /, '-'],
    [/$/, '\r\r'],
    [/.{5}$/, ''],
  ];

  it('wherever a line of the shipped policy is broken', () => {
    const root = fromRoot('policies');
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.yaml') && statSync(join(root, path)).isFile())
      .map((path) => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n') }));
    const broken = fc.record({
      file: fc.constantFrom(...files),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      by: fc.constantFrom(...BREAKS),
    });
    fc.assert(
      fc.property(broken, ({ file, at, by: [pattern, replacement] }) => {
        const line = Math.floor(at * file.lines.length);
        const lines = file.lines.with(line, (file.lines[line] ?? '').replace(pattern, replacement));
        const folder = Object.fromEntries(files.map(({ path, lines: own }) => [path, own.join('\n')]));
        const { diagnostics, policy } = readFolder({ ...folder, [file.path]: lines.join('\n') });
        const syntax = diagnostics.filter(({ code }) => /^(?:YAML|TEXT)_/.test(code));
        // An alias is refused besides what it breaks; a run of CR is one fault.
        expect(syntax.length).toBeLessThanOrEqual(2);
        if (syntax.length > 0) {
          expect(policy).toBeNull();
          expect(diagnostics.length).toBeLessThanOrEqual(6);
          expect(diagnostics.find(({ file: of }) => of === file.path)?.range.start.line).toBeGreaterThanOrEqual(line);
        }
      }),
      testRuns({ usual: 25, deep: 120 }),
    );
  });
});

describe('a hostile file of megabytes answers soon and in few words', () => {
  const fill = (line: (index: number) => string, length = 3 * 1024 * 1024): string => {
    const lines: string[] = [];
    for (let left = length; left > 0; left -= lines.at(-1)?.length ?? 0) lines.push(line(lines.length));
    return lines.join('');
  };
  const grant = (i: number): string => `  - { id: g${String(i)}, role: nope, namespace: /labs, scopes: [x] }\n`;
  const kinds = [
    (i: number) => `  - { id: G ${String(i)}, rol: a, identity: b, namespace: x, scopes: [y], inherit: no }\n`,
    (i: number) => `  - { id: g, role: 7, namespace: /A/${String(i)}, scopes: ~, expires: x, notBefore: 1, why: z }\n`,
    (i: number) => `  - { id: g${String(i)}, role: [a, namespace: /labs }\n`,
    (i: number) => `  - { id: g${String(i)}, role: "a, namespace: /labs }\n`,
    (i: number) => `  - id: a\n    id: b\n    role:x${String(i)}\n`,
    () => `  - !t { a: &b c, d: *b }\n`,
    () => `  - 7\n  -\n  - a: @\n`,
    (i: number) =>
      `  - { id: ${'x'.repeat(2_000)}${String(i)}, role: ${'y'.repeat(2_000)}, namespace: ${'/Z'.repeat(900)} }\n`,
  ];
  test.each<[string, string]>([
    ['many unknown names', `grants:\n${fill(grant)}`],
    ['many mistakes of every kind', `grants:\n${fill((i) => kinds[i % kinds.length]?.(i) ?? '')}`],
    [
      'many faults of characters',
      `grants:\n${fill(() => '  - {\tid: a,\u0000 role: e\u0301,\u00a0 namespace: \u0007 }\r\r  \n')}`,
    ],
    ['keys at the left edge', fill((i) => `key${String.fromCharCode(97 + (i % 26))}: [\n`)],
    ['open brackets in many entries', `grants:\n${fill(() => '  - [\n')}`],
  ])('%s', (_, text) => {
    const spent = stopCpu();
    const { diagnostics } = readExample(text);
    const words = JSON.stringify(diagnostics);
    expect(words.length).toBeLessThan(300_000);
    expect(diagnostics.length).toBeGreaterThan(0);
    expect(spent()).toBeLessThan(30_000);
  });
});
