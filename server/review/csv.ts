// Reads what spreadsheets write of CSV (RFC 4180).

export interface CsvLine {
  /** Counts from 1, as a text editor counts. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** What is wrong, at which line. */
export interface CsvFault {
  readonly line: number;
  readonly fault: string;
}

/** Reads what spreadsheets write: separated by commas, semicolons or tabs, whichever the first line has most of. Blank lines are left out. */
export function parseCsv(input: string): readonly CsvLine[] | CsvFault {
  const text = input.startsWith('\ufeff') ? input.slice(1) : input;
  const separator = separatorOf(text);
  const lines: CsvLine[] = [];
  let line = 1;
  for (let at = 0; at < text.length;) {
    const first = line;
    const cells: string[] = [];
    for (let isOpen = true; isOpen;) {
      let cell: string;
      if (text[at] === '"') {
        const end = endOfQuotes(text, at);
        if (end < 0) return { line: first, fault: 'a quotation mark is never closed' };
        cell = text.slice(at + 1, end).replaceAll('""', '"');
        line += cell.split('\n').length - 1;
        at = end + 1;
        if (at < text.length && text[at] !== separator && !isLineEnd(text[at]))
          return { line, fault: 'text follows a closing quotation mark' };
      } else {
        const start = at;
        while (at < text.length && text[at] !== separator && !isLineEnd(text[at])) at += 1;
        cell = text.slice(start, at);
      }
      cells.push(cell);
      isOpen = text[at] === separator;
      if (isOpen) at += 1;
    }
    if (text[at] === '\r' && text[at + 1] === '\n') at += 1;
    at += 1;
    line += 1;
    if (cells.some((cell) => cell.trim() !== '')) lines.push({ line: first, cells });
  }
  return lines;
}

function isLineEnd(character: string | undefined): boolean {
  return character === '\n' || character === '\r';
}

/** The index of the closing mark; -1 if there is none. */
function endOfQuotes(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at;
  return -1;
}

function separatorOf(text: string): string {
  const [first = ''] = text.split(/[\r\n]/, 1);
  const count = (separator: string): number => first.split(separator).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}
