// Tables for spreadsheets: no text of a policy becomes a formula or another cell, neither in a file nor on the clipboard.
import { describe, expect, it, test } from '@jest/globals';
import { comparableCell, csvText, keptText, pastedText } from '../../../server/authoring/csv-text.js';

const CELLS = [
  ['a formula', '=HYPERLINK("http://evil.example")', `'=HYPERLINK("http://evil.example")`],
  ['one behind blanks', '  +1', "  '+1"],
  ['one behind the separator of another locale', 'a;@SUM(1)', "a;'@SUM(1)"],
  ['one in wide characters', '＝1', "'＝1"],
  ['a line end and a tab', 'a\r\n=1\t-2', 'a\\r\\n=1\\t-2'],
  ['what turns text around', 'a\u202eb', 'a\\u{202e}b'],
  ['an identity', 'orcid:0000-0002-1825-0097', 'orcid:0000-0002-1825-0097'],
] as const;

describe('a cell with', () => {
  test.each(CELLS)('%s', (_, text, shown) => {
    expect(csvText([['x', text]])).toBe(`\ufeff"x","${shown.replaceAll('"', '""')}"\r\n`);
    expect(pastedText([['x', text], [text]])).toBe(`x\t${shown}\n${shown}`);
  });
});

describe('a text that spreadsheets', () => {
  const values = [
    '0042',
    '42',
    '1e5',
    '2.10',
    '1,5',
    '(5)',
    '50%',
    '$3',
    '12:30',
    '2027-01-02',
    '1/2',
    'sep-2',
    'MARCH1',
  ];
  test.each([...values, '2 dec 2027', '2027-01-02T00:00:00Z', 'true', 'FALSE', ' 7 '])(
    'take for a value is kept by an apostrophe: %s',
    (text) => {
      expect(keptText(text)).toBe(`'${text}`);
      expect([keptText(text), text].map(comparableCell)).toEqual([text.trim(), text.trim()]);
    },
  );

  test.each([
    '',
    'never',
    'amx-1',
    'march',
    'mars-1',
    'v2',
    'orcid:0000-0002-1825-0097',
    '2027-01-02 00:00:00 UTC',
    'r-1e5',
  ])('leave alone stays as it is: %s', (text) => {
    expect(keptText(text)).toBe(text);
    expect(comparableCell(`'${text}`)).toBe(`'${text}`);
  });

  it('is told in time from one of many digits that is none', () => {
    expect(keptText(`${'1'.repeat(100_000)}!`)).toMatch(/^1/);
  });
});
