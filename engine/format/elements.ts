// The tree of a policy file with its comments and blank lines: every comment belongs to the entry that it stands above or
// behind, or to the end of the collection that it is indented like, so that it moves with what it speaks of.
import type { Comment } from '../source/comments.js';
import type { Node, TextNode } from '../source/tree.js';

export interface CommentLine {
  readonly text: string;
  readonly blankBefore: boolean;
}

/** An entry of a mapping, an item of a list, or the whole file. */
export interface Element {
  /** Null for an item of a list and for the file. */
  readonly key: TextNode | null;
  readonly value: Node;
  readonly start: number;
  readonly end: number;
  /** Of a list or mapping. */
  readonly children: readonly Element[];
  /** Written in brackets. */
  readonly flow: boolean;
  /** Where the children of a block begin, counted from 0. */
  readonly column: number;
  readonly blankBefore: boolean;
  /** Above it; for the file, before everything. */
  readonly leading: CommentLine[];
  /** Behind it, on its line. */
  readonly trailing: string[];
  /** After its last child. */
  readonly tail: CommentLine[];
}

export function makeElements(text: string, root: Node, comments: readonly Comment[]): Element {
  const file = toElement(text, null, root);
  for (const comment of comments) {
    const target = comment.ownLine ? null : headOn(text, file, comment);
    if (target === null) attachLine(text, file, comment);
    else target.trailing.push(comment.text);
  }
  return file;
}

function toElement(text: string, key: TextNode | null, value: Node): Element {
  const start = key?.start ?? value.start;
  return {
    key,
    value,
    start,
    end: Math.max(value.end, key?.end ?? 0),
    children: childrenOf(text, value),
    flow: value.kind !== 'text' && /[[{]/.test(text.charAt(value.start)),
    column: columnOf(text, value.start),
    blankBefore: followsBlank(text, start),
    leading: [],
    trailing: [],
    tail: [],
  };
}

function childrenOf(text: string, value: Node): readonly Element[] {
  if (value.kind === 'list') return value.items.map((item) => toElement(text, null, item));
  if (value.kind === 'mapping') return value.entries.map((entry) => toElement(text, entry.key, entry.value));
  return [];
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}

/** Whether the line above is blank. */
function followsBlank(text: string, offset: number): boolean {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  if (lineStart === 0) return false;
  const before = text.lastIndexOf('\n', lineStart - 2) + 1;
  return text.slice(before, lineStart).trim() === '';
}

/** The element that ends, or whose key ends, on the line of a comment before it; null if only a dash stands there. */
function headOn(text: string, file: Element, comment: Comment): Element | null {
  let found = file;
  for (;;) {
    const last = found.children.findLast((child) => child.start < comment.start);
    if (last === undefined) break;
    found = last;
    if (last.flow && comment.start >= last.end) break;
  }
  if (found === file) return null;
  const endsAt = found.end <= comment.start ? found.end : (found.key?.end ?? found.start);
  return text.slice(endsAt, comment.start).includes('\n') ? null : found;
}

/** A comment on a line of its own, or behind nothing but a dash. */
function attachLine(text: string, file: Element, comment: Comment): void {
  const line = { text: comment.text, blankBefore: followsBlank(text, comment.start) };
  // Behind a dash it speaks of what comes, wherever it stands.
  const column = comment.ownLine ? columnOf(text, comment.start) : -1;
  let within = file;
  for (;;) {
    const index = within.children.findIndex((child) => child.start > comment.start);
    const next = index < 0 ? undefined : within.children[index];
    const last = index < 0 ? within.children.at(-1) : within.children[index - 1];
    if (last !== undefined && last.children.length > 0 && isInside(last, comment, column > within.column)) {
      within = last;
      continue;
    }
    const owner = last !== undefined && comment.start < last.end ? last : next;
    // What stands before everything stays there, also where the first section moves.
    if (within === file && last === undefined) file.leading.push(line);
    else if (owner !== undefined) owner.leading.push(line);
    else within.tail.push(line);
    return;
  }
}

/** Between the first and the last of it, or after a block and indented like a part of it. */
function isInside(element: Element, comment: Comment, indented: boolean): boolean {
  return comment.start < element.end || (!element.flow && indented);
}
