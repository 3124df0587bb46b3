// The one layout of policy files: two spaces, keys in the order of their shape, brackets where the author wrote them and
// they fit on a line, at most one blank line. Entries of lists and names keep the author's order.
import type { MappingShape, ValueShape } from '../source/shapes.js';
import type { CommentLine, Element } from './elements.js';
import { blockText, inlineText, type TextPlace } from './scalar.js';

const WIDTH = 120;

/** Sections whose entries stand one below the other, however they were written. */
const ALWAYS_BLOCK: ReadonlySet<string> = new Set(['roles', 'grants', 'guardrails', 'tests']);

/** The text of a file whose top level has this shape. */
export function printFile(file: Element, shape: MappingShape): string {
  const lines = file.leading.flatMap((line, index) => commentLines(line, '', index > 0));
  const [first] = file.children;
  if (lines.length > 0 && first?.blankBefore === true) lines.push('');
  return `${[...lines, ...printChildren(file, { kind: 'mapping', shape }, '')].join('\n')}\n`;
}

function commentLines(line: CommentLine, indent: string, blank: boolean): readonly string[] {
  return line.blankBefore && blank ? ['', indent + line.text] : [indent + line.text];
}

/** The lines of what a block holds, and of the comments at its end. */
function printChildren(parent: Element, shape: ValueShape | null, indent: string): string[] {
  const isList = parent.value.kind === 'list';
  const lines: string[] = [];
  for (const child of inOrder(parent.children, shape)) {
    const inner = shapeOf(shape, child);
    const [head, ...rest] = isList ? printItem(child, inner, indent) : printEntry(child, inner, indent);
    const above = linesAbove(child, inner, isList && isBlockItem(child, inner, indent) ? 'dash' : 'line');
    for (const line of above) lines.push(...commentLines(line, indent, lines.length > 0));
    if (child.blankBefore && lines.length > 0) lines.push('');
    lines.push(head ?? '');
    // One by one: a section of a large file has more lines than a call takes arguments.
    for (const line of rest) lines.push(line);
  }
  for (const line of parent.tail) lines.push(...commentLines(line, indent, lines.length > 0));
  return lines;
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
function printEntry(child: Element, shape: ValueShape | null, indent: string): readonly string[] {
  const key = `${indent}${inlineText(child.key?.text ?? '', 'line')}:`;
  const trailing = trailingOf(child);
  if (child.value.kind === 'text') return printText(child, shape, { before: `${key} `, indent, trailing });
  const flow = flowOf(child, shape);
  const isBlock = child.children.length > 0 && ALWAYS_BLOCK.has(child.key?.text ?? '') && indent === '';
  if (flow !== null && !isBlock && key.length + 1 + flow.length <= WIDTH) return [`${key} ${flow}${trailing}`];
  return [key + trailing, ...printChildren(child, shape, `${indent}  `)];
}

/** `- value`; of a mapping the first entry stands behind the dash. */
function printItem(child: Element, shape: ValueShape | null, indent: string): readonly string[] {
  const trailing = trailingOf(child);
  if (child.value.kind === 'text') return printText(child, shape, { before: `${indent}- `, indent, trailing });
  if (!isBlockItem(child, shape, indent)) return [`${indent}- ${flowOf(child, shape) ?? ''}${trailing}`];
  const [first, ...others] = inOrder(child.children, shape);
  const bare = first === undefined ? [] : [{ ...first, leading: [], blankBefore: false }, ...others];
  const [head = '', ...rest] = printChildren({ ...child, children: bare }, shape, `${indent}  `);
  return [`${indent}- ${head.slice(indent.length + 2)}`, ...rest];
}

function isBlockItem(child: Element, shape: ValueShape | null, indent: string): boolean {
  const flow = flowOf(child, shape);
  return child.value.kind !== 'text' && (flow === null || indent.length + 2 + flow.length > WIDTH);
}

function printText(
  child: Element,
  shape: ValueShape | null,
  on: { readonly before: string; readonly indent: string; readonly trailing: string },
): readonly string[] {
  const text = child.value.kind === 'text' ? child.value : null;
  const indent = `${on.indent}  `;
  const room = { room: WIDTH - on.before.length, width: WIDTH - indent.length };
  // Numbers and truth values are texts without quotes that read as something else, and have to stay so.
  const written =
    shape?.kind === 'text' ? blockText(text?.text ?? '', placeOf(shape), room) : { head: text?.text ?? '', below: [] };
  return [on.before + written.head + on.trailing, ...written.below.map((line) => (line === '' ? '' : indent + line))];
}

function placeOf(shape: ValueShape & { readonly kind: 'text' }): TextPlace {
  return shape.syntax === 'free-text' || shape.syntax === 'test-name' ? 'prose' : 'line';
}

/** In brackets on one line; null where the author wrote a block, or a comment stands inside. */
function flowOf(element: Element, shape: ValueShape | null): string | null {
  const { value, children } = element;
  if (value.kind === 'text') return shape?.kind === 'text' ? inlineText(value.text, 'flow') : value.text;
  if (children.length === 0) return value.kind === 'list' ? '[]' : '{}';
  if (!element.flow || element.tail.length > 0) return null;
  const parts: string[] = [];
  for (const child of inOrder(children, shape)) {
    const text = flowOf(child, shapeOf(shape, child));
    if (text === null || child.leading.length > 0 || child.trailing.length > 0) return null;
    parts.push(child.key === null ? text : `${inlineText(child.key.text, 'flow')}: ${text}`);
  }
  return value.kind === 'list' ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`;
}

/** One comment behind the line; where there are more, the others go above it. */
function trailingOf(child: Element): string {
  const last = child.trailing.at(-1);
  return last === undefined ? '' : ` ${last}`;
}

/** The comments above an entry: behind a dash that its first key follows there is no room for one. */
function linesAbove(child: Element, shape: ValueShape | null, behind: 'dash' | 'line'): readonly CommentLine[] {
  const moved = behind === 'dash' ? child.trailing : child.trailing.slice(0, -1);
  const ofFirst = behind === 'dash' ? (inOrder(child.children, shape)[0]?.leading ?? []) : [];
  const inEmpty = child.children.length === 0 ? child.tail : [];
  return [...child.leading, ...moved.map((text) => ({ text, blankBefore: false })), ...ofFirst, ...inEmpty];
}
