// The tree of a policy file with its comments and blank lines. A comment above an entry or behind it belongs to that entry. Any other
// comment belongs to the end of the collection with the same indentation. So comments move with what they are about.
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
  /** The children of a list or mapping. */
  readonly children: readonly Element[];
  /** Written in brackets. */
  readonly flow: boolean;
  /** Where the children of a block begin, counted from 0. */
  readonly column: number;
  readonly blankBefore: boolean;
  /** Comments above the element; for the file, those before everything else. */
  readonly leading: CommentLine[];
  /**
   * Comments between its key, dash or bracket and its content. A list or mapping has only the comment on that line here, a text has all.
   */
  readonly head: string[];
  /** A comment after its end, on the same line. There is at most one. */
  readonly trailing: string[];
  /** Comments after its last child. */
  readonly tail: CommentLine[];
}

export function makeElements(text: string, root: Node, comments: readonly Comment[]): Element {
  const file = toElement(text, null, root);
  let before: PlacedComment = { text: '', start: 0, end: 0, ownLine: true, isFresh: false, column: -1 };
  for (const comment of comments) {
    const between = text.slice(before.end, comment.start);
    // A comment right below another can only be as far in as that one or less: comments close collections but never open one.
    const furthest = between.trim() === '' && before.isFresh ? before.column : Infinity;
    const behindDash = isBehindDash(between);
    before = {
      ...comment,
      isFresh: comment.ownLine || behindDash,
      column: behindDash ? -1 : Math.min(columnOf(text, comment.start), furthest),
    };
    attach(text, file, before);
  }
  return file;
}

/** Whether the string ends, apart from spaces, in a line with only dashes. A comment after that is about what follows. */
function isBehindDash(text: string): boolean {
  const trimmed = text.trimEnd();
  return /^[ -]*-$/.test(trimmed.slice(trimmed.lastIndexOf('\n') + 1));
}

interface PlacedComment extends Comment {
  /** Nothing before it on its line could be what it is about. */
  readonly isFresh: boolean;
  /** The largest indentation at which it may belong; -1 behind a dash. */
  readonly column: number;
}

function toElement(text: string, key: TextNode | null, value: Node): Element {
  const start = key?.start ?? value.start;
  const children = childrenOf(text, value);
  const flow = value.kind !== 'text' && /[[{]/.test(text.charAt(value.start));
  return {
    key,
    value,
    start,
    // A block ends where its last child ends. The end that a parser reports may lie behind comments.
    end: (flow ? undefined : children.at(-1)?.end) ?? Math.max(value.end, key?.end ?? 0),
    children,
    flow,
    column: columnOf(text, value.start),
    blankBefore: followsBlank(text, start),
    leading: [],
    head: [],
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

/** Adds a comment to the element that it is about, behind the comments already there. */
function attach(text: string, file: Element, comment: PlacedComment): void {
  const line = { text: comment.text, blankBefore: followsBlank(text, comment.start) };
  let within = file;
  for (;;) {
    const index = within.children.findIndex((child) => child.start > comment.start);
    const next = index < 0 ? undefined : within.children[index];
    const last = index < 0 ? within.children.at(-1) : within.children[index - 1];
    if (last === undefined) {
      // The comment is before the first child: on the line of the key or bracket, or above the child.
      const opens = within.key?.end ?? within.value.start;
      if (within === file) file.leading.push(line);
      else if (next === undefined || isOnLine(text, opens, comment)) within.head.push(comment.text);
      else next.leading.push(line);
      return;
    }
    if (comment.start < last.end) {
      if (last.value.kind === 'text') {
        last.head.push(comment.text);
        return;
      }
      within = last;
    } else if (!comment.isFresh && isOnLine(text, last.end, comment)) {
      lastOf(last).trailing.push(comment.text);
      return;
    } else if (isPartOf(last, within, comment)) {
      within = last;
    } else {
      (next?.leading ?? within.tail).push(line);
      return;
    }
  }
}

function isOnLine(text: string, offset: number, comment: Comment): boolean {
  return offset <= comment.start && !text.slice(offset, comment.start).includes('\n');
}

/** The innermost block element that ends where this one does. */
function lastOf(element: Element): Element {
  let last = element;
  for (let inner = last.flow ? undefined : last.children.at(-1); inner !== undefined;) {
    last = inner;
    inner = last.flow ? undefined : last.children.at(-1);
  }
  return last;
}

/** Whether a comment on its own line after a block is indented like part of the block. */
function isPartOf(last: Element, within: Element, { column }: PlacedComment): boolean {
  return !last.flow && last.children.length > 0 && column > within.column;
}
