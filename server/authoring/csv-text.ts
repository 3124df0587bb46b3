// Tables for spreadsheets, as CSV (RFC 4180) and as text to paste. Every cell is one line in quotes, and a cell that a spreadsheet would take for a formula begins with an
// apostrophe, as OWASP advises against CSV injection. So does a part of a cell after a separator of another locale.

/** What begins a formula, also in its wide form. Tabs and line ends never occur in a cell that we write. */
const FORMULA = '=+\\-@＝＋－＠';
const BEGINNING = '(?:^|[,;|])["\\s]*';
const HIDDEN = new RegExp(`(${BEGINNING})'+(?=[${FORMULA}])`, 'gu');
const BARE = new RegExp(`(${BEGINNING})(?=[${FORMULA}])`, 'gu');
const WORDS = [
  ...['e', 't', 'z', 'am', 'pm'],
  ...['jan(?:uary)?', 'feb(?:ruary)?', 'mar(?:ch)?', 'apr(?:il)?', 'may', 'june?', 'july?', 'aug(?:ust)?'],
  ...['sept?(?:ember)?', 'oct(?:ober)?', 'nov(?:ember)?', 'dec(?:ember)?'],
].join('|');
/** Digits with the signs and the words of numbers, dates and times in English; and truth values. */
const VALUE = new RegExp(`^(?:(?=\\D*\\d)(?:[\\d\\s.,:/()%$€£-]|(?:${WORDS})(?![a-z]))+|true|false)$`, 'iu');
const LINE_ENDS = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** The text as a cell shows it: one line that is no formula. */
export function cellText(text: string): string {
  return text
    .replace(
      /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
      (one) => LINE_ENDS.get(one) ?? `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`,
    )
    .replace(BARE, "$1'");
}

/**
 * Whether spreadsheets take a text for a number, a date, a time or a truth value, and so write it back in another way:
 * `0042` as `42`, `1e5`, `2.10`, `2027-01-02`, `sep-2`.
 */
export function isTakenForValue(text: string): boolean {
  return VALUE.test(text.trim());
}

/** The text with an apostrophe in front if spreadsheets would take it for a value, so that they keep it. */
export function keptText(text: string): string {
  return isTakenForValue(text) ? `'${text}` : text;
}

/** Texts that are equal if spreadsheets may have made one cell of the other: with or without the apostrophes, and blanks at the ends. */
export function comparableCell(text: string): string {
  const cell = text.trim();
  const bare = cell.replace(/^'+\s*/, '');
  return isTakenForValue(bare) ? bare : cell.replace(HIDDEN, '$1');
}

/** With a byte order mark, without which some spreadsheets do not read UTF-8. */
export function csvText(lines: Iterable<readonly string[]>): string {
  let text = '\ufeff';
  for (const cells of lines)
    text += `${cells.map((cell) => `"${cellText(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
  return text;
}

/** As spreadsheets paste it: lines of cells with tabs between them. */
export function pastedText(lines: Iterable<readonly string[]>): string {
  return Array.from(lines, (cells) => cells.map(cellText).join('\t')).join('\n');
}
