// Places in source text: offsets inside, lines and columns only where a person or a file reads them.
import { firstFrom } from './row-lists.js';

/** Lines and columns count from 1, columns in UTF-16 code units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The end is exclusive. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** Offsets into the text of a file, in UTF-16 code units; the end is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Something that was read, and where. */
export interface Located<T> extends Span {
  readonly value: T;
}

/** The offset at which each line begins. */
export type LineTable = Uint32Array;

export function lineTableOf(text: string): LineTable {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  const starts = new Uint32Array(count);
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    starts[line] = at + 1;
    line += 1;
  }
  return starts;
}

/** Line and column of an offset, both from 1. */
export function positionAt(lines: LineTable, offset: number): Position {
  const line = firstFrom(lines.length, (i) => (lines[i] ?? 0) > offset) - 1;
  return { line: line + 1, column: offset - (lines[line] ?? 0) + 1 };
}

/** Where something is missing there is nothing to underline: then the last character that can be seen before it is. */
export function visibleSpan(text: string, { start, end }: Span): Span {
  if (end > start || text === '') return { start, end };
  let last = Math.min(start, text.length) - 1;
  while (last > 0 && /\s/.test(text.charAt(last))) last -= 1;
  const at = Math.max(0, last);
  return { start: at, end: at + 1 };
}

export function rangeOf(lines: LineTable, span: Span): Range {
  return { start: positionAt(lines, span.start), end: positionAt(lines, span.end) };
}

/** The line on which something begins. */
export function lineOf({ lines, start }: { readonly lines: LineTable; readonly start: number }): number {
  return positionAt(lines, start).line;
}

/** The place of a finding about a file: its first character. */
export const FILE_START: Range = Object.freeze({
  start: Object.freeze({ line: 1, column: 1 }),
  end: Object.freeze({ line: 1, column: 1 }),
});
