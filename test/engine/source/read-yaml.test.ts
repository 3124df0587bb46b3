// Settings and keyrings are read as strictly as policy: a value is refused if YAML reads it differently from how it looks.
import { expect, test } from '@jest/globals';
import { readYaml } from '../../../engine/compiler.js';

const read = (text: string): ReturnType<typeof readYaml> =>
  readYaml({ path: 'bailiwick.yaml', bytes: new TextEncoder().encode(text) });

test.each([
  ['0123', 'VALUE_NOT_TEXT'],
  ['0x10', 'VALUE_NOT_TEXT'],
  ['0o17', 'VALUE_NOT_TEXT'],
  ['.inf', 'VALUE_NOT_TEXT'],
  ['.nan', 'VALUE_NOT_TEXT'],
  ['1e999', 'VALUE_NOT_TEXT'],
  ['+1', 'VALUE_NOT_TEXT'],
  ['.5', 'VALUE_NOT_TEXT'],
  ['9007199254740993', 'VALUE_NOT_TEXT'],
  ['1e-400', 'VALUE_NOT_TEXT'],
  ['-0.1e-400', 'VALUE_NOT_TEXT'],
  ['TRUE', 'VALUE_NOT_BOOLEAN'],
  ['False', 'VALUE_NOT_BOOLEAN'],
  ['~', 'VALUE_NULL'],
  ['NULL', 'VALUE_NULL'],
])('%s is refused, with its place and what to write', (text, code) => {
  const { diagnostics } = read(`rate:\n  perActor: ${text}\n`);
  expect(diagnostics.map((one) => [one.code, one.range.start])).toEqual([[code, { line: 2, column: 13 }]]);
  expect(diagnostics[0]?.help).toContain('quotes');
  expect(read(`rate:\n  perActor: "${text}"\n`)).toMatchObject({
    diagnostics: [],
    value: { rate: { perActor: text } },
  });
});

test.each<[string, unknown]>([
  ['0', 0],
  ['-12', -12],
  ['2.5', 2.5],
  ['1e3', 1000],
  ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ['true', true],
  ['null', null],
  ['', null],
  ['yes', 'yes'],
  ['12h', '12h'],
])('%j is what it says', (text, value) => {
  expect(read(`a: ${text}\n`)).toMatchObject({ diagnostics: [], value: { a: value } });
});

test('of a file that is not YAML the first fault is reported', () => {
  const { diagnostics } = read('a: [1\nb: "x\nc: {\n');
  expect(diagnostics.map(({ code }) => code)).toEqual(['YAML_UNCLOSED']);
  expect(read('a: 1\tb\n').diagnostics.map(({ code }) => code)).toEqual(['TEXT_TAB']);
});
