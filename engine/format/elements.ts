// The tree of a policy file with its comments and blank lines. A comment above an entry or behind it belongs to that entry. Any other
// comment belongs to the end of the collection with the same indentation. So comments move with what they are about.
import { firstFrom } from '../model/row-lists.js';
import { type LineTable, lineTableOf, positionAt } from '../model/span.js';
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

/** A file, and where its lines begin: looked for from each of its places, one long line would take its square. */
interface Source {
  readonly text: string;
  readonly lines: LineTable;
}

export function makeElements(text: string, root: Node, comments: readonly Comment[]): Element {
  const source = { text, lines: lineTableOf(text) };
  const file = toElement(source, null, root);
  let before: PlacedComment = { text: '', start: 0, end: 0, ownLine: true, isFresh: false, column: -1 };
  for (const comment of comments) {
    const between = text.slice(before.end, comment.start);
    // A comment right below another can only be as far in as that one or less: comments close collections but never open one.
    const furthest = between.trim() === '' && before.isFresh ? before.column : Infinity;
    const behindDash = isBehindDash(between);
    before = {
      ...comment,
      isFresh: comment.ownLine || behindDash,
      column: behindDash ? -1 : Math.min(columnOf(source, comment.start), furthest),
    };
    attach(source, file, before);
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

function toElement(source: Source, key: TextNode | null, value: Node): Element {
  const start = key?.start ?? value.start;
  const children = childrenOf(source, value);
  const flow = value.kind !== 'text' && /[[{]/.test(source.text.charAt(value.start));
  return {
    key,
    value,
    start,
    // A block ends where its last child ends. The end that a parser reports may lie behind comments.
    end: (flow ? undefined : children.at(-1)?.end) ?? Math.max(value.end, key?.end ?? 0),
    children,
    flow,
    column: columnOf(source, value.start),
    blankBefore: followsBlank(source, start),
    leading: [],
    head: [],
    trailing: [],
    tail: [],
  };
}

function childrenOf(source: Source, value: Node): readonly Element[] {
  if (value.kind === 'list') return value.items.map((item) => toElement(source, null, item));
  if (value.kind === 'mapping') return value.entries.map((entry) => toElement(source, entry.key, entry.value));
  return [];
}

function columnOf({ lines }: Source, offset: number): number {
  return positionAt(lines, offset).column - 1;
}

/** Whether the line above is blank. */
function followsBlank({ text, lines }: Source, offset: number): boolean {
  const { line } = positionAt(lines, offset);
  return line > 1 && text.slice(lines[line - 2], lines[line - 1]).trim() === '';
}

/** Adds a comment to the element that it is about, behind the comments already there. */
function attach(source: Source, file: Element, comment: PlacedComment): void {
  const { text } = source;
  const line = { text: comment.text, blankBefore: followsBlank(source, comment.start) };
  let within = file;
  for (;;) {
    const { children } = within;
    const index = firstFrom(children.length, (i) => (children[i]?.start ?? Infinity) > comment.start);
    const [last, next] = [children[index - 1], children[index]];
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
