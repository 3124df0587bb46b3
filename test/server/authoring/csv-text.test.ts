// Tables for spreadsheets: no text of a policy becomes a formula or another cell, neither in a file nor on the clipboard.
import { describe, expect, test } from '@jest/globals';
import { csvText, pastedText } from '../../../server/authoring/csv-text.js';

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
