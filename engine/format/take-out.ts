// A policy file without some of its grants and members, or with fewer scopes in a grant, in the layout of `bailiwick fmt`. Comments go
// with what they are about. What stands above an entry with a blank line between is about what follows, too, and stays.
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import { invariant } from '../model/invariant.js';
import { firstFrom } from '../model/row-lists.js';
import { commentsOf } from '../source/comments.js';
import { readTree } from '../source/read-tree.js';
import { HEADER, HEADER_FILE, SECTIONS } from '../source/shapes.js';
import type { Node } from '../source/tree.js';
import { type CommentLine, type Element, makeElements } from './elements.js';
import { printFile } from './print.js';

/** Everything is named by an offset within it. */
export interface TakenOut {
  /** Items of lists, in ascending order. */
  readonly items: readonly number[];
  /** What is left of the scopes of grants. */
  readonly scopes: ReadonlyMap<number, readonly string[]>;
}

/** The text is of a file that was read without a mistake. */
export function takeOut(
  { path, text }: { readonly path: string; readonly text: string },
  taken: TakenOut,
  limits: EngineLimits = ENGINE_LIMITS,
): string {
  const root = treeOf(text, limits);
  if (root === null) return text;
  const file = makeElements(text, root, commentsOf(text, root));
  return printFile(without(file, taken, limits), path === HEADER_FILE ? HEADER : SECTIONS);
}

function treeOf(text: string, limits: EngineLimits): Node | null {
  const parsed = readTree({
    text,
    limits,
    report: () => {
      invariant(false, 'a file that was read can be read again');
    },
  });
  return parsed.kind === 'tree' ? parsed.node : null;
}

function without(element: Element, taken: TakenOut, limits: EngineLimits): Element {
  const children: Element[] = [];
  let loose: readonly CommentLine[] = [];
  for (const child of element.children) {
    if (element.value.kind === 'list' && holdsOne(taken.items, child)) {
      if (child.blankBefore) loose = [...loose, ...child.leading];
      continue;
    }
    const kept = without(child, taken, limits);
    children.push(loose.length === 0 ? kept : { ...kept, leading: [...loose, ...kept.leading] });
    loose = [];
  }
  const left = { ...element, children, tail: [...loose, ...element.tail] };
  return element.key === null && element.value.kind === 'mapping' ? rescoped(left, taken, limits) : left;
}

function holdsOne(offsets: readonly number[], { start, end }: Element): boolean {
  const first = firstFrom(offsets.length, (i) => (offsets[i] ?? Infinity) >= start);
  return (offsets[first] ?? Infinity) < end;
}

/** An entry with the scopes that are left to it, if any are given. */
function rescoped(entry: Element, { scopes }: TakenOut, limits: EngineLimits): Element {
  const id = entry.children.find(({ key }) => key?.text === 'id');
  const left = id === undefined ? undefined : scopes.get(id.value.start);
  if (left === undefined) return entry;
  const written = `scopes: ${JSON.stringify(left)}\n`;
  const root = treeOf(written, limits);
  const [made] = root === null ? [] : makeElements(written, root, []).children;
  invariant(made !== undefined, 'scopes are an entry');
  const old = entry.children.find(({ key }) => key?.text === 'scopes');
  if (old === undefined) return { ...entry, children: [...entry.children, made] };
  const leading = [...old.leading, ...commentsWithin(old).map((text) => ({ text, blankBefore: false }))];
  const fresh = { ...made, leading, trailing: old.trailing, blankBefore: old.blankBefore };
  return { ...entry, children: entry.children.map((child) => (child === old ? fresh : child)) };
}

function commentsWithin({ head, children, tail }: Element): readonly string[] {
  return [
    ...head,
    ...children.flatMap((child) => [
      ...child.leading.map(({ text }) => text),
      ...commentsWithin(child),
      ...child.trailing,
    ]),
    ...tail.map(({ text }) => text),
  ];
}
