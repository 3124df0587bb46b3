// Mistakes that can occur anywhere: characters that no file may have, and arbitrary changes to a policy.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { stopCpu } from '../../support/cpu-time.js';
import { fromRoot } from '../../support/root.js';
import { testRuns } from '../../support/test-runs.js';
import { readExample, readFolder, summary, textUnder } from './support.js';

const LAST_ROLE = '  zoo: { member: [] }\n';
const FOUND_ROLE = 'KEY_UNKNOWN member';

describe('faults of characters', () => {
  it('are all reported, up to a limit and with the number of the others', () => {
    const text = `roles:\n${Array.from({ length: 9 }, (_, i) => `  r${String(i)}:\t{ members: [] }\n`).join('')}${LAST_ROLE}`;
    expect(summary(readExample(text))).toEqual([...Array.from({ length: 9 }, () => 'TEXT_TAB \t'), FOUND_ROLE]);
    const limited = readExample(text, { codeDiagnostics: 4 });
    expect(limited.diagnostics.map(({ code }) => code)).toEqual([
      ...Array.from({ length: 4 }, () => 'TEXT_TAB'),
      'LIMIT_DIAGNOSTICS',
      'KEY_UNKNOWN',
    ]);
    expect(limited.diagnostics[4]?.message).toBe('5 more of TEXT_TAB in this file are not listed');
  });

  it('of several bytes that are not UTF-8 are one each', () => {
    const latin1 = Buffer.from(`roles:\n  a: { description: "Caf\u00e9, R\u00e4ume" }\n${LAST_ROLE}`, 'latin1');
    expect(summary(readExample(new Uint8Array(latin1)))).toEqual([
      'TEXT_NOT_UTF8 \uFFFD',
      'TEXT_NOT_UTF8 \uFFFD',
      FOUND_ROLE,
    ]);
  });

  test.each<[string, Uint8Array]>([
    ['with a byte order mark', new Uint8Array(Buffer.from('\uFEFFgrants: []\n', 'utf16le'))],
    ['with one of the other order', new Uint8Array([0xfe, 0xff, 0, 0x67, 0, 0x72])],
    ['without one', new Uint8Array(Buffer.from('grants: []\n', 'utf16le'))],
  ])('UTF-16 %s is one', (_, bytes) => {
    expect(readExample(bytes).diagnostics.map(({ code, message }) => [code, message])).toEqual([
      ['TEXT_NOT_UTF8', 'the file is UTF-16 text'],
    ]);
  });

  it('that fill a file are not all looked at', () => {
    const cpu = stopCpu();
    const hostile = readExample(`grants: []\n${'x\u0000'.repeat(1_000_000)}`);
    expect(new Set(hostile.diagnostics.map(({ code }) => code))).toEqual(new Set(['TEXT_NUL', 'LIMIT_DIAGNOSTICS']));
    expect(readExample(`a:${' \u00a0'.repeat(500_000)}${'\t '.repeat(4_000)}x\n`).diagnostics.length).toBeGreaterThan(
      0,
    );
    expect(cpu()).toBeLessThan(10_000);
  });
});

/** The policy that ships. */
function shipped(): readonly { readonly path: string; readonly text: string }[] {
  const root = fromRoot('policies');
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml') && statSync(join(root, path)).isFile())
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

test('whatever is done to a policy, each mistake underlines something, has help, and leaves no policy', () => {
  const files = shipped();
  expect(files.length).toBeGreaterThan(3);
  const junk = fc.constantFrom(
    '',
    ' ',
    '  ',
    '\t',
    '\n',
    ':',
    ': ',
    '"',
    "'",
    '[',
    ']',
    '{',
    '}',
    ',',
    '- ',
    '-',
    '#',
    '*',
    '&',
    '!',
    '\r',
    '\u0000',
    '\uFEFF',
    '?',
    '|',
    'x',
    '\u0301',
    '\u00a0',
    '---\n',
  );
  const mutation = fc.record({
    file: fc.nat(files.length - 1),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.nat(6),
    insert: junk,
  });
  fc.assert(
    fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
      const texts = files.map(({ text }) => text);
      for (const { file, at, cut, insert } of mutations) {
        const text = texts[file] ?? '';
        const from = Math.floor(at * text.length);
        texts[file] = text.slice(0, from) + insert + text.slice(from + cut);
      }
      const reading = readFolder(Object.fromEntries(files.map(({ path }, index) => [path, texts[index] ?? ''])));
      const wanting = reading.diagnostics.filter((diagnostic) => {
        const isTextLost = (reading.sources.get(diagnostic.file) ?? '') !== '' && textUnder(reading, diagnostic) === '';
        return isTextLost || (diagnostic.severity === 'error' && diagnostic.help === undefined);
      });
      expect(wanting).toEqual([]);
      expect(reading.policy === null).toBe(reading.diagnostics.some(({ severity }) => severity === 'error'));
    }),
    { ...testRuns({ usual: 30, deep: 60 }), endOnFailure: true },
  );
});
