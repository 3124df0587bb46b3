// Output for people: nothing can steer the terminal, and an underline is exactly under what it refers to.
import { describe, expect, test } from '@jest/globals';
import type { Diagnostic, GuardrailViolation, PolicyTestFailure, Witness } from '../../engine/compiler.js';
import { canonicalize, groupDigits } from '../../engine/index.js';
import { count, displayWidth, percentText, renderTable } from '../../server/cli/render/text.js';
import { renderDiagnostics, summarize } from '../../server/cli/render/diagnostics.js';
import { escapeJson, escapeText } from '../../server/cli/render/escape.js';
import { guardrailsJson, renderViolations } from '../../server/cli/render/guardrails.js';
import { paintFor, plain } from '../../server/cli/render/terminal.js';
import { renderTestFailures } from '../../server/cli/render/test-failures.js';
import { makeIo } from '../support/cli-io.js';

describe('escaping', () => {
  test.each([
    ['a line end', 'a\nb', 'a\\nb'],
    ['a colour', '\u001b[31mred', '\\x1b[31mred'],
    ['an 8-bit escape', '\u009b31m', '\\x9b31m'],
    ['delete', 'a\u007f', 'a\\x7f'],
    ['a right-to-left override', 'a\u202eb', 'a\\u{202e}b'],
    ['a zero-width space', 'a\u200bb', 'a\\u{200b}b'],
    ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
    ['half a pair', 'a\ud800b', 'a\\u{d800}b'],
    ['a tag character', '\u{e0041}', '\\u{e0041}'],
    ['plain text of any language', 'Zoë 光子 🙂 `x`', 'Zoë 光子 🙂 `x`'],
  ])('%s', (_name, text, expected) => {
    expect(escapeText(text)).toBe(expected);
  });

  test('escaped JSON parses to the same value and holds nothing that a terminal obeys', () => {
    const value = { 'k\u009b': 'a\u001b[31m\u007f\u202e\u2028\ud800\u{e0041} é' };
    const json = escapeJson(JSON.stringify(value));
    expect(JSON.parse(json)).toEqual(value);
    expect(escapeText(json)).toBe(json);
  });
});

test.each([
  ['abc', 3],
  ['é', 1],
  ['e\u0301', 1],
  ['光子', 4],
  ['🙂', 2],
  ['', 0],
])('the display width of %j is %d', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

describe('diagnostics', () => {
  const at = (line: number, from: number, to: number, endLine = line): Diagnostic['range'] => ({
    start: { line, column: from },
    end: { line: endLine, column: to },
  });
  const make = (range: Diagnostic['range'], more: Partial<Diagnostic> = {}): Diagnostic => ({
    code: 'SCOPE_UNKNOWN',
    severity: 'error',
    file: 'grants/a.yaml',
    range,
    message: 'unknown scope `resource:raed`',
    related: [],
    ...more,
  });
  const render = (text: string, diagnostic: Diagnostic): string[] =>
    renderDiagnostics([diagnostic], new Map([['grants/a.yaml', text]]), plain).split('\n');

  test('place, severity, code and message, then the source line with what is meant underlined', () => {
    const help = 'did you mean `resource:read`?';
    const related = [{ file: 'roles/b.yaml', range: at(3, 5, 6), message: 'first declared here' }];
    expect(render('one\nscopes: [resource:raed]\n', make(at(2, 10, 23), { help, related }))).toEqual([
      'grants/a.yaml:2:10 error SCOPE_UNKNOWN unknown scope `resource:raed`',
      '   2 | scopes: [resource:raed]',
      '     |          ^^^^^^^^^^^^^',
      '  help: did you mean `resource:read`?',
      '  roles/b.yaml:3:5: first declared here',
      '',
    ]);
  });

  test.each([
    ['after a tab', '\tkey: x', at(1, 7, 8), '    key: x', '         ^'],
    ['after wide characters', '光: x', at(1, 4, 5), '光: x', '    ^'],
    ['on wide characters', 'a: 光子', at(1, 4, 6), 'a: 光子', '   ^^^^'],
    ['on an escape', 'a: \u001b!', at(1, 4, 5), 'a: \\x1b!', '   ^^^^'],
    ['of no length', 'abc', at(1, 2, 2), 'abc', ' ^'],
    ['past the end of the line', 'abc', at(1, 9, 12), 'abc', '   ^'],
    ['over several lines', 'abc\ndef', at(1, 2, 3, 2), 'abc', ' ^^'],
    ['with CRLF', 'abc\r\ndef', at(1, 1, 9), 'abc', '^^^'],
  ])('underlines what stands %s', (_name, text, range, line, underline) => {
    const lines = render(text, make(range));
    expect(lines[1]).toBe(`   1 | ${line}`);
    expect(lines[2]).toBe(`     | ${underline}`);
  });

  test('a very long line is shown around what is meant', () => {
    const text = `${'x'.repeat(5000)}HERE${'y'.repeat(5000)}`;
    const [, line = '', underline = ''] = render(text, make(at(1, 5001, 5005)));
    expect(line.length).toBeLessThan(200);
    const from = underline.indexOf('^');
    expect(line.slice(from, underline.lastIndexOf('^') + 1)).toBe('HERE');
  });

  test('a file without text has no snippet, and its name cannot steer the terminal', () => {
    const text = renderDiagnostics([make(at(1, 1, 1), { file: 'a\n\u001b[2Jb.yaml' })], new Map(), plain);
    expect(text).toBe('a\\n\\x1b[2Jb.yaml:1:1 error SCOPE_UNKNOWN unknown scope `resource:raed`\n');
  });

  test('the summary counts each severity', () => {
    const warning = make(at(1, 1, 1), { severity: 'warning' });
    expect(summarize([make(at(1, 1, 1)), make(at(1, 1, 2)), warning], 14)).toBe('2 errors, 1 warning in 14 files');
    expect(summarize([warning], 1)).toBe('1 warning in 1 file');
    expect(summarize([], 1)).toBe('');
  });
});

describe('colours', () => {
  test.each([
    ['a terminal', true, {}, true],
    ['a pipe', false, {}, false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, true],
    ['a dumb terminal', true, { TERM: 'dumb' }, false],
  ])('%s', (_name, terminal, env, expected) => {
    const { io } = makeIo({ env, terminal });
    expect(paintFor(io, 'stdout')('error', 'x') !== 'x').toBe(expected);
  });
});

describe('numbers', () => {
  test.each([
    [0, '0 files'],
    [1, '1 file'],
    [999, '999 files'],
    [1000, '1,000 files'],
    [1_234_567, '1,234,567 files'],
  ])('%d with its noun', (number, text) => {
    expect(count(number, 'file')).toBe(text);
  });

  test('as large as they come', () => {
    expect(groupDigits(2n ** 64n)).toBe('18,446,744,073,709,551,616');
  });

  test.each([
    [0, '0%'],
    [0.05, '<0.1%'],
    [0.1, '0.1%'],
    [37.77, '37.7%'],
    [99.99, '99.9%'],
    [100, '100%'],
  ])('%d percent', (percent, text) => {
    expect(percentText(percent)).toBe(text);
  });
});

describe('long lists are shown by their beginning', () => {
  const numbered = (length: number, name: string): readonly string[] =>
    Array.from({ length }, (_, index) => `${name}${String(index).padStart(4, '0')}`);
  const grants = (length: number): readonly { readonly id: string }[] => numbered(length, 'g').map((id) => ({ id }));
  const namespace = canonicalize('/labs');
  if (!namespace.ok) throw new Error('it is canonical');

  const violation = (witnesses: number, each: number): GuardrailViolation => {
    const witness: Witness = {
      identities: numbered(each, 'orcid:'),
      namespace: namespace.path,
      extent: 'subtree',
      scopes: ['resource:write'],
      from: null,
      until: null,
      grants: grants(each),
    };
    return {
      guardrail: 'nobody',
      description: null,
      requires: 'nobody may',
      file: 'a.yaml',
      line: 3,
      witnesses: Array.from({ length: witnesses }, () => witness),
      repair: grants(each),
    };
  };

  test('of witnesses, of the identities and grants of each, and of what to remove', () => {
    const lines = renderViolations({ violations: [violation(71_200, 1500)] }, plain)
      .trimEnd()
      .split('\n');
    const [head, requires, who, ...rest] = lines;
    expect([head, requires]).toEqual(['a.yaml:3 violated guardrail nobody', '  requires: nobody may']);
    expect(who).toMatch(
      /^ {2}orcid:0000, .*, orcid:0007 and 1,492 more identities: resource:write at and below \/labs$/,
    );
    expect(rest.slice(0, 9)).toEqual([
      ...numbered(8, 'g').map((id) => `    grant: ${id}`),
      '    and 1,492 more grants',
    ]);
    expect(lines.filter((line) => line.includes('at and below'))).toHaveLength(20);
    expect(lines.slice(-2)).toEqual([
      '  and 71,180 more witnesses: --format json lists all',
      `  help: removing these 1,500 grants would satisfy it: ${numbered(20, 'g').join(', ')} and 1,480 more grants: --format json lists all`,
    ]);
  });

  test('and whole where they are short', () => {
    const text = renderViolations({ violations: [violation(20, 8)] }, plain);
    expect(text).not.toContain('more');
    expect(text.match(/grant: g0007/g)).toHaveLength(20);
  });

  test('of the places and times where the same identities break it', () => {
    const [witness, ...witnesses] = violation(1, 1).witnesses;
    if (witness === undefined) throw new Error('a witness');
    const also = Array.from({ length: 1200 }, () => witness);
    const one = { ...violation(1, 1), witnesses: [{ ...witness, also }, ...witnesses] };
    expect(renderViolations({ violations: [one] }, plain)).toContain(
      '    grant: g0000\n    and 1,200 more places or times: --format json lists all\n  help: removing this grant would satisfy it: g0000\n',
    );
    const report = { held: 0, violated: 1, violations: [one] };
    const told = (guardrailsJson(report) as { violations: (typeof one)[] }).violations[0]?.witnesses[0]?.also ?? [];
    expect(told).toHaveLength(1200);
    expect(told[0]).toMatchObject({ namespace: '/labs', from: null, until: null });
  });

  test('of the grants of a failed test', () => {
    const failure: PolicyTestFailure = {
      test: 't',
      file: null,
      line: null,
      request: 'resource:read /labs',
      expected: 'deny',
      actual: 'allow',
      at: null,
      grants: grants(22),
    };
    const lines = renderTestFailures([failure], plain).trimEnd().split('\n');
    expect(lines.slice(-2)).toEqual(['  grant: g0019', '  and 2 more grants']);
  });
});

test('a table may have more rows than one call can take as arguments', () => {
  const text = renderTable(['name', 'size'], Array<readonly string[]>(200_000).fill(['lens', '1']));
  expect(text.slice(0, 19)).toBe('name  size\nlens  1\n');
});
