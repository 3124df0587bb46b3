// The one layout of policy files: two spaces, keys of an entry in the order of their shape (`GRANT` says why), brackets where
// the author wrote them and they fit on a line, at most one blank line. Sections, entries of lists and names keep the
// author's order. A comment stays with what it stood at: brackets with comments inside become a block.
import type { MappingShape, ValueShape } from '../source/shape.js';
import type { CommentLine, Element } from './elements.js';
import { blockText, inlineText, type TextPlace } from './scalar.js';

const WIDTH = 120;

/** Sections whose entries stand one below the other, however they were written. */
const ALWAYS_BLOCK: ReadonlySet<string> = new Set(['roles', 'people', 'grants', 'guardrails', 'tests']);

/** The text of a file whose top level has this shape. */
export function printFile(file: Element, shape: MappingShape): string {
  const lines = file.leading.flatMap((line, index) => commentLines(line, '', index > 0));
  const [first] = file.children;
  if (lines.length > 0 && first?.blankBefore === true) lines.push('');
  return `${[...lines, ...printLines(file, { kind: 'mapping', shape }, '')].join('\n')}\n`;
}

function commentLines(line: CommentLine, indent: string, blank: boolean): readonly string[] {
  return line.blankBefore && blank ? ['', indent + line.text] : [indent + line.text];
}

/** The lines of what a block holds, in this order, and of the comments at its end. */
function printLines(parent: Element, shape: ValueShape | null, indent: string): string[] {
  const isList = parent.value.kind === 'list';
  const lines: string[] = [];
  for (const child of parent.children) {
    const inner = shapeOf(shape, child);
    const { above, own } = isList ? printItem(child, inner, indent) : printEntry(child, inner, indent);
    for (const line of [...child.leading, ...above]) lines.push(...commentLines(line, indent, lines.length > 0));
    if (child.blankBefore && lines.length > 0) lines.push('');
    // One by one: a section of a large file has more lines than a call takes arguments.
    for (const line of own) lines.push(line);
  }
  for (const line of parent.tail) lines.push(...commentLines(line, indent, lines.length > 0));
  return lines;
}

/** An element on its lines, and comments that stand above them though they were in it. */
interface Printed {
  readonly above: readonly CommentLine[];
  readonly own: readonly string[];
}

/** Keys in the order of their shape; the author's own names, and items, as they are. */
function inOrder(children: readonly Element[], shape: ValueShape | null): readonly Element[] {
  if (shape?.kind !== 'mapping') return children;
  const rank = (child: Element): number => shape.shape.keys.indexOf(child.key?.text ?? '');
  return [...children].sort((a, b) => rank(a) - rank(b));
}

/** What a child of a value of this shape is. */
function shapeOf(shape: ValueShape | null, child: Element): ValueShape | null {
  const inner =
    shape?.kind === 'mapping'
      ? (shape.shape.fields.get(child.key?.text ?? '')?.value ?? null)
      : shape?.kind === 'list' || shape?.kind === 'named'
        ? shape.of
        : null;
  if (inner?.kind !== 'either') return inner;
  const isLike = (candidate: ValueShape): boolean =>
    (candidate.kind === 'list' || candidate.kind === 'mapping' ? candidate.kind : 'text') === child.value.kind;
  return inner.of.find(isLike) ?? null;
}

/** `key: value`, the value below if it is a block. */
function printEntry(child: Element, shape: ValueShape | null, indent: string): Printed {
  const key = `${indent}${inlineText(child.key?.text ?? '', 'line')}:`;
  if (child.value.kind === 'text') return { above: [], own: printText(child, shape, { before: key, indent }) };
  if (child.children.length === 0) return { above: [], own: printEmpty(child, `${key} `, indent) };
  const flow = flowOf(child, shape);
  const isSection = ALWAYS_BLOCK.has(child.key?.text ?? '') && indent === '';
  if (flow !== null && !isSection && key.length + 1 + flow.length <= WIDTH)
    return { above: [], own: [`${key} ${flow}${behind(child.trailing)}`] };
  // Behind the key stands what was behind it, or else behind the whole of it if nothing was said in between.
  const onKey = hasInner(child) ? child.head : child.trailing;
  return { above: [], own: [key + behind(onKey), ...printLines(asBlock(child, shape), shape, `${indent}  `)] };
}

/** `- value`; of a mapping the first entry stands behind the dash, so that comments before it stand above the dash. */
function printItem(child: Element, shape: ValueShape | null, indent: string): Printed {
  const dash = `${indent}- `;
  if (child.value.kind === 'text') {
    const bare = { ...child, head: [] };
    return { above: child.head.map(toLine), own: printText(bare, shape, { before: `${indent}-`, indent }) };
  }
  if (child.children.length === 0) return { above: [], own: printEmpty(child, dash, indent) };
  const flow = flowOf(child, shape);
  if (flow !== null && dash.length + flow.length <= WIDTH)
    return { above: [], own: [`${dash}${flow}${behind(child.trailing)}`] };
  const moved = hasInner(child) ? child.head : child.trailing;
  // A blank line before the author's first key stands before the dash, wherever the key goes.
  const children = child.children.map((key, index) => (index === 0 ? { ...key, blankBefore: false } : key));
  const block = asBlock({ ...child, children }, shape);
  const [first, ...others] = block.children;
  const bare = first === undefined ? [] : [{ ...first, leading: [], blankBefore: false }, ...others];
  const [head = '', ...rest] = printLines({ ...block, children: bare }, shape, `${indent}  `);
  return {
    above: [...moved.map(toLine), ...(first?.leading ?? [])],
    own: [`${dash}${head.slice(dash.length)}`, ...rest],
  };
}

/** Whether comments stand between the beginning and the end of a list or mapping. */
function hasInner(element: Element): boolean {
  const { head, tail, children } = element;
  return (
    head.length + tail.length > 0 ||
    children.some((child) => child.leading.length + child.trailing.length > 0 || hasInner(child))
  );
}

/** As a block, which has no closing bracket: a comment behind that comes last inside, if others came before it. */
function asBlock(element: Element, shape: ValueShape | null): Element {
  const { trailing, tail } = element;
  const below = hasInner(element) ? [...tail, ...trailing.map(toLine)] : tail;
  return { ...element, children: inOrder(element.children, shape), tail: below };
}

function toLine(text: string): CommentLine {
  return { text, blankBefore: false };
}

function behind([comment]: readonly string[]): string {
  return comment === undefined ? '' : ` ${comment}`;
}

/** `[]` or `{}`; of several comments in it the others stand below. */
function printEmpty(child: Element, before: string, indent: string): readonly string[] {
  const [first, ...more] = [...child.head, ...child.tail.map(({ text }) => text), ...child.trailing];
  const brackets = child.value.kind === 'list' ? '[]' : '{}';
  return [before + brackets + behind(first === undefined ? [] : [first]), ...more.map((text) => indent + text)];
}

/** `before` is the key or the dash. */
function printText(
  child: Element,
  shape: ValueShape | null,
  on: { readonly before: string; readonly indent: string },
): readonly string[] {
  const { head, trailing } = child;
  const text = child.value.kind === 'text' ? child.value.text : '';
  const indent = `${on.indent}  `;
  // Numbers and truth values are texts without quotes that read as something else, and have to stay so.
  const inline = shape?.kind === 'text' ? inlineText(text, placeOf(shape)) : text;
  const room = { room: WIDTH - on.before.length - 1, width: WIDTH - indent.length };
  const block = shape?.kind === 'text' ? blockText(text, placeOf(shape), room) : { head: inline, below: [] };
  // Of a text on several lines only the first has room for a comment, and that one comes before it.
  if (block.below.length > 0 && trailing.length === 0 && head.length < 2) {
    return [
      `${on.before} ${block.head}${behind(head)}`,
      ...block.below.map((line) => (line === '' ? '' : indent + line)),
    ];
  }
  const [first, ...more] = head;
  if (first === undefined) return [`${on.before} ${inline}${behind(trailing)}`];
  return [`${on.before} ${first}`, ...more.map((line) => indent + line), `${indent}${inline}${behind(trailing)}`];
}

function placeOf(shape: ValueShape & { readonly kind: 'text' }): TextPlace {
  return shape.syntax === 'free-text' || shape.syntax === 'test-name' ? 'prose' : 'line';
}

/** In brackets on one line; null if the author wrote a block, or a comment stands inside. */
function flowOf(element: Element, shape: ValueShape | null): string | null {
  if (element.value.kind !== 'text' && element.children.length > 0 && (!element.flow || hasInner(element))) return null;
  return inBrackets(element, shape);
}

function inBrackets({ value, children }: Element, shape: ValueShape | null): string {
  if (value.kind === 'text') return shape?.kind === 'text' ? inlineText(value.text, 'flow') : value.text;
  if (children.length === 0) return value.kind === 'list' ? '[]' : '{}';
  const parts = inOrder(children, shape).map((child) => {
    const text = inBrackets(child, shapeOf(shape, child));
    return child.key === null ? text : `${inlineText(child.key.text, 'flow')}: ${text}`;
  });
  return value.kind === 'list' ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`;
}
