// What an entry that is no YAML still says (design 3.2: all mistakes in one run). Its keys, or the entries of its list, are
// read one by one: the first fault hides its own key alone, and what is wrong with the others is told as well. INVARIANT:
// as in `recover.ts`, what is given here is never used as policy; that a key is missing in it says nothing.
import { makeMapping } from './mapping.js';
import type { YamlSource } from './parse.js';
import { partOf, readPiece } from './pieces.js';
import { splitBlock } from './split.js';
import { splitFlow } from './split-flow.js';
import type { Span } from '../model/span.js';
import type { Entry, Node, SourceFault, TextNode } from './tree.js';

/** `at` is a place in the file. */
export type Tell = (at: Span, fault: SourceFault) => void;

/** A block of `source`, whose first fault has been told; null where nothing is left. */
export function salvage(source: YamlSource, fault: SourceFault, tell: Tell): Node | null {
  const { text, limits } = source;
  if (limits.depth <= 0 || fault.code.startsWith('LIMIT_')) return null;
  const inner = { ...source, limits: { ...limits, depth: limits.depth - 1 } };
  const block = splitBlock(text);
  if (block === null) return salvageFlow(inner, fault, tell);
  const at = { start: source.offset, end: source.offset + text.length };
  if (block.kind === 'mapping') {
    const entries = block.parts.flatMap((part) => readPart(partOf(inner, part.start, part.end), fault, tell));
    const isUseful = entries.some((entry) => entry !== null && entry.value.kind !== 'refused');
    return isUseful ? makeMapping(withoutRepeated(entries), at, source.report) : null;
  }
  const [only, ...others] = block.parts;
  if (only !== undefined && others.length === 0) {
    // Without its dash the entry is a block of its own.
    const dash = text.indexOf('-', only.start);
    const node = salvage({ ...inner, text: `${text.slice(0, dash)} ${text.slice(dash + 1)}` }, fault, tell);
    return node === null ? null : { kind: 'list', items: [node], ...at };
  }
  const items = block.parts.flatMap((part) => readItems(partOf(inner, part.start, part.end), fault, tell));
  return { kind: 'list', items, ...at };
}

/** Where keys come again, another entry has most likely lost its dash, and that has been told. */
function withoutRepeated(entries: readonly (Entry | null)[]): readonly (Entry | null)[] {
  const seen = new Set<string>();
  return entries.map((entry) => {
    if (entry === null || seen.has(entry.key.text)) return null;
    seen.add(entry.key.text);
    return entry;
  });
}

/** The entries of a part that begins with a key. */
function readPart(part: YamlSource, fault: SourceFault, tell: Tell): readonly (Entry | null)[] {
  const read = readOr(part, fault, tell);
  if (read.kind === 'tree') {
    if (read.node.kind === 'mapping') return [...read.node.entries, ...(read.node.partial === true ? [null] : [])];
    return [null];
  }
  const head = headOf(part);
  if (head === null) return [null];
  const { key, colon, line } = head;
  const text = part.text.slice(0, line);
  const isBelow = BARE.test(text.slice(colon + 1));
  const inside = (isBelow ? salvage : salvageFlow)(
    partOf(part, isBelow ? line : colon + 1, part.text.length),
    read.fault,
    tell,
  );
  if (inside !== null && !isBehind(read.fault, inside)) return [{ key, value: inside }];
  const { code } = read.fault;
  // Either of the two keys may be the wrong one.
  if (code === 'YAML_COLON_IN_TEXT') return [null];
  const value = { kind: 'refused', start: key.start, end: part.offset + part.text.length } as const;
  const hasMore = part.text.trimEnd().length > text.trimEnd().length;
  return hasMore || BEFORE_KEYS.has(code) ? [{ key, value }, null] : [{ key, value }];
}

/** Then the value may have been meant to go on. */
function isBehind(fault: SourceFault, value: Span): boolean {
  return fault.start >= value.end;
}

/** Faults that may have swallowed a key. */
const BEFORE_KEYS: ReadonlySet<string> = new Set([
  'YAML_COMMA_MISSING',
  'YAML_QUOTE_UNCLOSED',
  'YAML_TRAILING',
  'YAML_UNCLOSED',
]);

interface Head {
  readonly key: TextNode;
  /** Where its colon stands in the part. */
  readonly colon: number;
  /** Where the first line of the part ends, after the line break. */
  readonly line: number;
}

/** What a part begins with that is a key. */
function headOf({ text, offset }: YamlSource): Head | null {
  const [whole = null, space = '', quote = '', quoted = '', plain = ''] = HEAD.exec(text) ?? [];
  if (whole === null) return null;
  const key = quote === '' ? plain : quoted;
  const start = offset + space.length;
  const end = start + key.length + 2 * quote.length;
  return {
    key: { kind: 'text', plain: quote === '', text: key, start, end },
    colon: text.indexOf(':', end - offset),
    line: whole.length,
  };
}

/** The items of a part that begins with a dash. */
function readItems(part: YamlSource, fault: SourceFault, tell: Tell): readonly Node[] {
  const read = readOr(part, fault, tell);
  const node = read.kind === 'tree' ? read.node : salvage(part, read.fault, tell);
  return node?.kind === 'list' ? node.items : [];
}

/** Faults that leave open where a text ends: what stands behind one on its line is not looked at. */
const OF_QUOTES: ReadonlySet<string> = new Set([
  'YAML_QUOTE_UNCLOSED',
  'YAML_TRAILING',
  'YAML_ESCAPE',
  'YAML_COMMA_MISSING',
]);

/** The same for a list or mapping in brackets, item by item. */
function salvageFlow(source: YamlSource, fault: SourceFault, tell: Tell): Node | null {
  const { text, limits } = source;
  const content = text.trimStart();
  const mark = content.charAt(0);
  if ((mark !== '[' && mark !== '{') || limits.depth <= 0) return null;
  const inner = { ...source, limits: { ...limits, depth: limits.depth - 1 } };
  const start = text.length - content.length;
  const isOpen = (fault.related ?? []).some((place) => place.start === source.offset + start);
  // Where it ends is not known, so that its items may be those of another.
  if (fault.code === 'YAML_UNCLOSED' && isOpen) return null;
  const flow = splitFlow(content);
  const at = { start: source.offset + start, end: source.offset + start + flow.end };
  const items = flow.items.map((item) => partOf(inner, start + item.start, start + item.end));
  const from = Math.min(fault.start, ...(fault.related ?? []).map((place) => place.start));
  const lineEnd = text.indexOf('\n', from - source.offset);
  const isCertain = ({ offset }: YamlSource): boolean =>
    !OF_QUOTES.has(fault.code) || offset < from || (lineEnd >= 0 && offset > lineEnd + source.offset);
  const certain = items.filter(isCertain);
  const nodes = certain.map((item) => readFlowItem(item, { mark, fault, tell }));
  const read = nodes.filter((node) => node !== null);
  if (read.length === 0) return null;
  if (mark === '[') return { kind: 'list', items: read, ...at };
  const entries = nodes.flatMap((node, i): readonly (Entry | null)[] =>
    node?.kind === 'mapping'
      ? [...node.entries, ...(node.partial === true ? [null] : [])]
      : [refusedEntry(certain[i], fault), null],
  );
  return makeMapping([...entries, ...(certain.length < items.length ? [null] : [])], at, source.report);
}

/** Of an item that cannot be read, its key is known where it has one. */
function refusedEntry(item: YamlSource | undefined, fault: SourceFault): Entry | null {
  const head = item === undefined ? null : headOf(item);
  if (item === undefined || head === null || (head.key.start <= fault.start && fault.start < head.key.end)) return null;
  return { key: head.key, value: { kind: 'refused', start: head.key.start, end: item.offset + item.text.length } };
}

function readFlowItem(
  item: YamlSource,
  { mark, fault, tell }: { readonly mark: string; readonly fault: SourceFault; readonly tell: Tell },
): Node | null {
  // An item of a mapping is read as a mapping of its own, so that places stay as they are.
  const text = mark === '{' ? `{${item.text}}` : item.text;
  const read = readOr({ ...item, text, offset: mark === '{' ? item.offset - 1 : item.offset }, fault, (at, found) => {
    // In one without brackets of its own a fault most likely follows from the first.
    if (/^[[{]/.test(item.text)) tell(at, found);
  });
  if (read.kind === 'tree') return read.node.kind === 'refused' ? null : read.node;
  if (mark === '[') return salvageFlow(item, read.fault, tell);
  const head = headOf(item);
  const below = head === null ? null : salvage(partOf(item, head.colon + 1, item.text.length), fault, tell);
  if (head === null || below === null || read.fault !== fault || isBehind(fault, below)) return null;
  return makeMapping([{ key: head.key, value: below }], { start: head.key.start, end: below.end }, item.report);
}

const HEAD = /^([ \n]*)(?:(["'])([^"'\n]*)\2 *:|([^"'\n:]*):(?=[ \n]|$))[^\n]*\n?/;
const BARE = /^ *(?:#.*)?\n?$/;

type Read = { readonly kind: 'tree'; readonly node: Node } | { readonly kind: 'broken'; readonly fault: SourceFault };

/** A part that the fault is in is not read again; the fault of another is told. */
function readOr(part: YamlSource, fault: SourceFault, tell: Tell): Read {
  const end = part.offset + part.text.length;
  const isInside = ({ start }: Span): boolean => part.offset <= start && start < end;
  if ([fault, ...(fault.related ?? [])].some(isInside)) return { kind: 'broken', fault };
  const parsed = readPiece(part);
  switch (parsed.kind) {
    case 'tree':
      return parsed;
    case 'empty':
      return { kind: 'tree', node: { kind: 'refused', start: part.offset, end } };
    case 'broken':
      // A limit that was met has been told, and ends it.
      if (parsed.fault === null) return { kind: 'tree', node: { kind: 'refused', start: part.offset, end } };
      tell({ start: part.offset, end }, parsed.fault);
      return { kind: 'broken', fault: parsed.fault };
  }
}
