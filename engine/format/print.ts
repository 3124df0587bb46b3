// The one layout of policy files. Indentation is two spaces. The keys of an entry are in the order of their shape (`GRANT` says why).
// Brackets stay if the author wrote them and they fit on a line. There is at most one blank line in a row. Sections, entries of lists
// and names keep the author's order. A comment stays with what it stood at, so brackets with comments inside become a block.
import type { MappingShape, ValueShape } from '../source/shape.js';
import type { CommentLine, Element } from './elements.js';
import { blockText, inlineText, type TextPlace } from './scalar.js';

const WIDTH = 120;

/** Sections that always have one entry below the other, however they were written. */
const ALWAYS_BLOCK: ReadonlySet<string> = new Set(['roles', 'people', 'grants', 'guardrails', 'tests']);

/** The formatted text of a file. `shape` is the shape of its top level. */
export function printFile(file: Element, shape: MappingShape): string {
  const lines = file.leading.flatMap((line, index) => commentLines(line, '', index > 0));
  const [first] = file.children;
  if (lines.length > 0 && first?.blankBefore === true) lines.push('');
  const own = first === undefined ? printEmpty(file, '', '') : printLines(file, { kind: 'mapping', shape }, '');
  return `${[...lines, ...own].join('\n')}\n`;
}

function commentLines(line: CommentLine, indent: string, blank: boolean): readonly string[] {
  return line.blankBefore && blank ? ['', indent + line.text] : [indent + line.text];
}

/** The lines of a block: its children in their given order, then the comments at its end. */
function printLines(parent: Element, shape: ValueShape | null, indent: string): string[] {
  const isList = parent.value.kind === 'list';
  const lines: string[] = [];
  for (const child of parent.children) {
    const inner = shapeOf(shape, child);
    const { above, own } = isList ? printItem(child, inner, indent) : printEntry(child, inner, indent);
    for (const line of [...child.leading, ...above]) lines.push(...commentLines(line, indent, lines.length > 0));
    if (child.blankBefore && lines.length > 0) lines.push('');
    // Lines are pushed one by one: a section of a large file has more lines than one call can take as arguments.
    for (const line of own) lines.push(line);
  }
  for (const line of parent.tail) lines.push(...commentLines(line, indent, lines.length > 0));
  return lines;
}

/** The lines of an element, and comments that move from inside it to the lines above. */
interface Printed {
  readonly above: readonly CommentLine[];
  readonly own: readonly string[];
}

/** Keys in the order of their shape. Names that the author chose, and items of lists, keep their order. */
function inOrder(children: readonly Element[], shape: ValueShape | null): readonly Element[] {
  if (shape?.kind !== 'mapping') return children;
  const rank = (child: Element): number => shape.shape.keys.indexOf(child.key?.text ?? '');
  return [...children].sort((a, b) => rank(a) - rank(b));
}

/** The shape of a child of a value with this shape. Null if it is not known. */
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

/** Prints `key: value`. A block goes on the lines below. */
function printEntry(child: Element, shape: ValueShape | null, indent: string): Printed {
  const key = `${indent}${inlineText(child.key?.text ?? '', 'line')}:`;
  if (child.value.kind === 'text') return { above: [], own: printText(child, shape, { before: key, indent }) };
  if (child.children.length === 0) return { above: [], own: printEmpty(child, `${key} `, indent) };
  const flow = flowOf(child, shape);
  const isSection = ALWAYS_BLOCK.has(child.key?.text ?? '') && indent === '';
  if (flow !== null && !isSection && key.length + 1 + flow.length <= WIDTH)
    return { above: [], own: [`${key} ${flow}${behind(child.trailing)}`] };
  // With comments inside the value, the one behind the key stays there. Without any, the one behind the whole value moves to the key.
  const onKey = hasInner(child) ? child.head : child.trailing;
  return { above: [], own: [key + behind(onKey), ...printLines(asBlock(child, shape), shape, `${indent}  `)] };
}

/** Prints `- value`. The first entry of a mapping goes behind the dash, so comments before it go above the dash. */
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
  // A blank line before the author's first key goes before the dash, wherever the key is moved.
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

/** The element as a block. A block has no closing bracket, so a comment behind it becomes the last one inside, if others are inside. */
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

/** Prints `[]` or `{}` with its first comment behind it and any others below. */
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
  // Numbers and booleans must stay without quotes, or they would become strings.
  const inline = shape?.kind === 'text' ? inlineText(text, placeOf(shape)) : text;
  const room = { room: WIDTH - on.before.length - 1, width: WIDTH - indent.length };
  const block = shape?.kind === 'text' ? blockText(text, placeOf(shape), room) : { head: inline, below: [] };
  // A text on several lines has room for only one comment, on its first line, and only for one that came before the text.
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

/** The value in brackets on one line. Null if the author wrote a block or a comment is inside. */
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
