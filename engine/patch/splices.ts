// Changes of one place in the text of a policy file, which leave every other character as it is: an item out of a list or into one, a key
// with another value, a new one or none. What goes takes its own comments with it: those on its lines and those right above it.
import type { Span } from '../model/span.js';
import { commentsOf } from '../source/comments.js';
import type { Entry, ListNode, MappingNode, Node } from '../source/tree.js';

/** What replaces a part of a text. Null where it cannot be done without losing a comment about something else. */
export type Spliced = string | null;

/** The text without one item of a list. An empty list is written `[]`. `key` is the entry that has the list. */
export function withoutItem(text: string, { key, value: list }: ListEntry, index: number): Spliced {
  const item = list.items[index];
  if (item === undefined) return text;
  if (isFlow(text, list)) return withoutFlowPart(text, list, list.items, index);
  const column = columnOf(text, list.start);
  const dash = lineStartOf(text, dashOf(text, { column, from: item.start }));
  const without = cut(text, commentsAbove(text, dash, column), endOfBlock(text, item.end, column));
  return list.items.length > 1 ? without : insert(without, afterColon(text, key.end), ' []');
}

/** The text with one item more at the end of a list. `item` are lines without a dash, the first of which may stand in brackets. */
export function withItem(
  text: string,
  { value: list }: ListEntry,
  item: { flow: string; block: readonly string[] },
): Spliced {
  const last = list.items.at(-1);
  // An empty list is written in brackets.
  if (last === undefined) return insert(text, list.start + 1, item.flow);
  if (isFlow(text, list)) return insert(text, last.end, `, ${item.flow}`);
  const indent = ' '.repeat(columnOf(text, list.start));
  const lines = item.block.map((line, i) => `${indent}${i === 0 ? '- ' : '  '}${line}\n`).join('');
  return insertLines(text, endOfLine(text, last.end), lines);
}

/** The text with an item replaced by one that is written on one line. */
export function withReplaced(text: string, node: Node, written: string): Spliced {
  const { start, end } = node;
  if (hasComment(text, node)) return null;
  const rest = text.slice(start, end);
  return text.slice(0, start) + written + (rest.endsWith('\n') ? '\n' : '') + text.slice(end);
}

/** The text with this value of a key. A new key stands behind the last of those before it in `order`. */
export function withKey(text: string, map: MappingNode, { key, written, order }: KeyValue): Spliced {
  const entry = map.entries.find((one) => one.key.text === key);
  if (entry !== undefined) return replaceValue(text, entry, written);
  const [first, last] = [map.entries[0], map.entries.at(-1)];
  if (isFlow(text, map) || first === undefined || last === undefined)
    return last === undefined
      ? insert(text, map.start + 1, ` ${key}: ${written} `)
      : insert(text, last.value.end, `, ${key}: ${written}`);
  const rank = (one: string): number => order.indexOf(one);
  const before = map.entries.filter((one) => rank(one.key.text) < rank(key)).at(-1) ?? last;
  const line = `${' '.repeat(columnOf(text, first.key.start))}${key}: ${written}\n`;
  return insertLines(text, endOfBlock(text, before.value.end, columnOf(text, first.key.start)), line);
}

export interface KeyValue {
  readonly key: string;
  readonly written: string;
  /** The keys of such a mapping, in the order in which they are written. */
  readonly order: readonly string[];
}

/** The text without a key. */
export function withoutKey(text: string, map: MappingNode, key: string): Spliced {
  const index = map.entries.findIndex((one) => one.key.text === key);
  const entry = map.entries[index];
  if (entry === undefined) return text;
  const parts = map.entries.map((one) => ({ start: one.key.start, end: one.value.end }));
  if (isFlow(text, map)) return withoutFlowPart(text, map, parts, index);
  const start = lineStartOf(text, entry.key.start);
  const next = map.entries[index + 1];
  // The first key of an item stands behind its dash, where the next one takes its place.
  if (text.slice(start, entry.key.start).trim() !== '' && next !== undefined)
    return withoutUpTo(text, { start: entry.key.start, end: entry.value.end }, next.key.start);
  const column = columnOf(text, entry.key.start);
  return cut(text, commentsAbove(text, start, column), endOfBlock(text, entry.value.end, column));
}

/** The text without a part and with what comes next in its place. Comments between the two are about the next unless they are behind the part. */
function withoutUpTo(text: string, { start, end }: Span, next: number): Spliced {
  const below = Math.min(endOfLine(text, end), next);
  return text.slice(below, next).includes('#') ? null : cut(text, start, next);
}

/** A key whose value is a list. */
export interface ListEntry {
  readonly key: Entry['key'];
  readonly value: ListNode;
}

function replaceValue(text: string, { key, value }: Entry, written: string): Spliced {
  const isInline = !text.slice(key.end, value.start).includes('\n');
  const start = isInline ? value.start : afterColon(text, key.end);
  if (hasComment(text, value, start)) return null;
  const isOwnLine = text.slice(start, value.end).endsWith('\n');
  return text.slice(0, start) + (isInline ? '' : ' ') + written + (isOwnLine ? '\n' : '') + text.slice(value.end);
}

/** An item of a list in brackets, or an entry of a mapping in braces, with a comma. */
function withoutFlowPart(text: string, all: Node, parts: readonly Span[], index: number): Spliced {
  const [before, part, next] = [parts[index - 1], parts[index], parts[index + 1]];
  if (part === undefined) return text;
  if (next !== undefined) {
    const [rest] = text.slice(part.end, next.start).split('\n', 1);
    if (rest === text.slice(part.end, next.start)) return cut(text, part.start, next.start);
    // The comma may stand in front of the next one.
    if (!/^\s*,/.test(rest ?? '')) return withoutUpTo(text, part, next.start);
    const line = lineStartOf(text, part.start);
    return cut(text, text.slice(line, part.start).trim() === '' ? line : part.start, endOfLine(text, part.end));
  }
  if (before === undefined) return hasComment(text, all) ? null : cut(text, all.start + 1, all.end - 1);
  if (text.slice(before.end, part.start).includes('#'))
    // The comma before the comment stays, so one behind the part goes, also one behind comments.
    return cut(withoutComma(text, { start: part.end, end: all.end }), part.start, part.end);
  return cut(text, before.end, part.end);
}

/** Without a comma that is the first in the span, but for comments. */
function withoutComma(text: string, { start, end }: Span): string {
  const [found] = /^(?:\s|#.*\n)*,/.exec(text.slice(start, end)) ?? [];
  if (found === undefined) return text;
  const comma = start + found.length - 1;
  return cut(text, found.includes('#') ? comma : start, comma + 1);
}

function isFlow(text: string, { start }: Node): boolean {
  return text[start] === '[' || text[start] === '{';
}

function hasComment(text: string, node: Node, from = node.start): boolean {
  return commentsOf(text.slice(0, node.end), node, from).length > 0;
}

function cut(text: string, start: number, end: number): string {
  return text.slice(0, start) + text.slice(end);
}

function insert(text: string, at: number, what: string): string {
  return text.slice(0, at) + what + text.slice(at);
}

/** A file may lack a line feed at its end. */
function insertLines(text: string, at: number, lines: string): string {
  const isAtLine = at === 0 || text[at - 1] === '\n';
  return isAtLine ? insert(text, at, lines) : insert(text, at, `\n${lines.slice(0, -1)}`);
}

function afterColon(text: string, keyEnd: number): number {
  return text.indexOf(':', keyEnd) + 1;
}

function lineStartOf(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

function columnOf(text: string, offset: number): number {
  return offset - lineStartOf(text, offset);
}

/** The beginning of the next line; of a text of several lines, which ends with one, its own end. */
function endOfLine(text: string, offset: number): number {
  if (text[offset - 1] === '\n') return offset;
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found + 1;
}

/** The dash of an item: the last one in its column, since an item may begin below its dash. */
function dashOf(text: string, { column, from }: { readonly column: number; readonly from: number }): number {
  for (let start = lineStartOf(text, from); ; start = lineStartOf(text, start - 1)) {
    if (text[start + column] === '-' && text.slice(start, start + column).trim() === '') return start + column;
    if (start === 0) return from;
  }
}

/** The end of what ends here, with the comments below it that stand further in than `column`. */
function endOfBlock(text: string, offset: number, column: number): number {
  let end = endOfLine(text, offset);
  for (let next = end; next < text.length;) {
    const line = text.slice(next, endOfLine(text, next + 1));
    const at = line.search(/\S/);
    if (at < 0) next += line.length;
    else if (line[at] === '#' && at > column) end = next += line.length;
    else break;
  }
  return end;
}

/** The beginning of the comments in this column that stand right above a line, without a blank line between them. */
function commentsAbove(text: string, lineStart: number, column: number): number {
  let start = lineStart;
  while (start > 0) {
    const above = lineStartOf(text, start - 1);
    if (text.slice(above, start).search(/\S/) !== column || text[above + column] !== '#') break;
    start = above;
  }
  return start;
}
