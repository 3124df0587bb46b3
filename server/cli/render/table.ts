// Rows under headings, in columns that are as wide as their widest cell.
import { displayWidth } from './width.js';

/** Cells are printable texts of one line. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(displayWidth(heading), ...rows.map((row) => displayWidth(row[column] ?? ''))),
  );
  return [headings, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(Math.max((widths[column] ?? 0) - displayWidth(cell), 0)))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
