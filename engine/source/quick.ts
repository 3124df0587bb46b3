// The quick reader: many times faster than the whole parser, for the plain part of YAML that nearly all policy lines use (block lists
// and mappings, flow collections, texts on one line, comments). INVARIANT: it never refuses and never repairs. At anything that it does
// not fully understand it gives up with null, and the whole parser reads the piece instead. So it can only be wrong by returning a
// different tree, and a property test compares the two.
import { keyFault } from './mapping.js';
import { takeNode, type Entry, type Node, type NodeBudget, type TextNode } from './tree.js';

export interface QuickSource {
  readonly text: string;
  /** The offset of `text` in its file. */
  readonly offset: number;
  readonly depth: number;
  readonly budget: NodeBudget;
}

interface Cursor extends QuickSource {
  at: number;
}

/** Thrown and caught only in this file: the text is not for this reader. */
class NotQuick extends Error {}

/** The tree, or null if the whole parser is needed. The budget is only spent when there is a tree. */
export function readQuickly(source: QuickSource): Node | null {
  const cursor: Cursor = { ...source, at: 0, budget: { left: source.budget.left } };
  try {
    const column = nextContent(cursor);
    const flow = isFlowAt(cursor);
    if (column < 0 || (flow && column !== 0)) return null;
    const node = flow ? readFlow(cursor, -1, 1) : readBlock(cursor, column, 1);
    if (flow) endLine(cursor);
    if (nextContent(cursor) >= 0) return null;
    source.budget.left = cursor.budget.left;
    return node;
  } catch (error) {
    if (error instanceof NotQuick) return null;
    throw error;
  }
}

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const APOSTROPHE = 0x27;
const COMMA = 0x2c;
const DASH = 0x2d;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_MAPPING = 0x7b;
const CLOSE_MAPPING = 0x7d;

function giveUp(): never {
  throw new NotQuick();
}

/** Moves from the beginning of a line over blank lines and comments to the next content. Returns its column, or -1 at the end. */
function nextContent(cursor: Cursor): number {
  const { text } = cursor;
  for (;;) {
    const lineStart = cursor.at;
    while (text.charCodeAt(cursor.at) === SPACE) cursor.at += 1;
    const code = text.charCodeAt(cursor.at);
    if (code === HASH) skipLine(cursor);
    else if (code === NEWLINE) cursor.at += 1;
    else return cursor.at >= text.length ? -1 : cursor.at - lineStart;
  }
}

function skipLine(cursor: Cursor): void {
  const end = cursor.text.indexOf('\n', cursor.at);
  cursor.at = end < 0 ? cursor.text.length : end + 1;
}

/** Moves to the next line after a value. Only spaces and a comment may follow the value on its line. */
function endLine(cursor: Cursor): void {
  const { text } = cursor;
  const from = cursor.at;
  while (text.charCodeAt(cursor.at) === SPACE) cursor.at += 1;
  const code = text.charCodeAt(cursor.at);
  if (cursor.at < text.length && code !== NEWLINE && !(code === HASH && cursor.at > from)) giveUp();
  skipLine(cursor);
}

function isFlowAt(cursor: Cursor): boolean {
  const code = cursor.text.charCodeAt(cursor.at);
  return code === OPEN_LIST || code === OPEN_MAPPING;
}

function isDashAt(cursor: Cursor): boolean {
  const after = cursor.text.charCodeAt(cursor.at + 1);
  return cursor.text.charCodeAt(cursor.at) === DASH && (after === SPACE || after === NEWLINE || Number.isNaN(after));
}

/** A block list or mapping whose first entry begins at the cursor, in `column`. */
function readBlock(cursor: Cursor, column: number, depth: number): Node {
  if (depth > cursor.depth) giveUp();
  return isDashAt(cursor) ? readBlockList(cursor, column, depth) : readBlockMapping(cursor, column, depth);
}

/** Moves to the next line with content. True if that is another entry of the collection in `column`. */
function goesOn(cursor: Cursor, column: number): boolean {
  const lineStart = cursor.at;
  const next = nextContent(cursor);
  if (next > column) giveUp();
  if (next === column) return true;
  cursor.at = lineStart;
  return false;
}

function readBlockList(cursor: Cursor, column: number, depth: number): Node {
  const start = cursor.at + cursor.offset;
  const items: Node[] = [];
  for (;;) {
    const dash = cursor.at;
    cursor.at += 1;
    while (cursor.text.charCodeAt(cursor.at) === SPACE) cursor.at += 1;
    if (isKeyAt(cursor)) items.push(readBlock(cursor, column + cursor.at - dash, depth + 1));
    else {
      items.push(readInline(cursor, column, depth));
      endLine(cursor);
    }
    if (!goesOn(cursor, column)) break;
    // A list may stand in the same column as its key. Then the next key ends it.
    if (!isDashAt(cursor)) {
      cursor.at -= column;
      break;
    }
  }
  return { kind: 'list', items, start, end: items.at(-1)?.end ?? start };
}

function readBlockMapping(cursor: Cursor, column: number, depth: number): Node {
  const start = cursor.at + cursor.offset;
  const entries: Entry[] = [];
  const keys: Keys = { texts: [], many: null };
  do {
    const key = readKey(cursor);
    addKey(keys, key);
    cursor.at += 1; // the colon
    entries.push({ key, value: readBlockValue(cursor, column, { depth, key }) });
  } while (goesOn(cursor, column));
  return { kind: 'mapping', entries, start, end: entries.at(-1)?.value.end ?? start };
}

/** Reads what follows `key:`, on the same line or on further indented lines below. A list may be indented as far as the key. */
function readBlockValue(cursor: Cursor, column: number, of: { readonly depth: number; readonly key: TextNode }): Node {
  while (cursor.text.charCodeAt(cursor.at) === SPACE) cursor.at += 1;
  const code = cursor.text.charCodeAt(cursor.at);
  if (cursor.at < cursor.text.length && code !== NEWLINE && code !== HASH) {
    const value = readInline(cursor, column, of.depth);
    endLine(cursor);
    return value;
  }
  skipLine(cursor);
  const lineStart = cursor.at;
  const next = nextContent(cursor);
  if (next > column || (next === column && isDashAt(cursor))) {
    if (!isDashAt(cursor) && !isKeyAt(cursor)) giveUp();
    return readBlock(cursor, next, of.depth + 1);
  }
  cursor.at = lineStart;
  return { kind: 'text', plain: true, text: '', start: of.key.start, end: of.key.end };
}

/** A text on one line, or a flow collection. `column` is the column of the block collection around it. */
function readInline(cursor: Cursor, column: number, depth: number): Node {
  if (isFlowAt(cursor)) return readFlow(cursor, column, depth + 1);
  const code = cursor.text.charCodeAt(cursor.at);
  if (code === QUOTE || code === APOSTROPHE) return readQuoted(cursor, code);
  return takeText(cursor, PLAIN_IN_BLOCK);
}

// The first characters exclude everything with a meaning in YAML. Inside, a colon is text if no space follows it, a hash is text if no
// space precedes it, and a space is text if more text follows. A longer text has more of these than the stack of a pattern holds, and is
// left to the whole parser.
const PLAIN_IN_BLOCK = /[A-Za-z0-9/_.+][^ \n:#]*(?:(?::(?![ \n]|$)|(?<! )#| +(?![ \n#]|$))[^ \n:#]*){0,10000}/y;
const PLAIN_IN_FLOW =
  /[A-Za-z0-9/_.+][^ \n:#,[\]{}]*(?:(?::(?![ \n,[\]{}]|$)|(?<! )#| +(?![ \n#,[\]{}:]|$))[^ \n:#,[\]{}]*){0,10000}/y;
/** One word. The keys of `sees` also have a path behind it. */
const KEY = /[A-Za-z0-9][A-Za-z0-9._-]{0,200}(?: \/[A-Za-z0-9._~/-]{0,600})?(?=:(?:[ \n]|$))/y;
const QUOTED_KEY = /"[^"\\\n]{0,200}"(?=:(?:[ \n]|$))/y;

function isKeyAt(cursor: Cursor): boolean {
  KEY.lastIndex = cursor.at;
  if (KEY.test(cursor.text)) return true;
  QUOTED_KEY.lastIndex = cursor.at;
  return QUOTED_KEY.test(cursor.text);
}

function readKey(cursor: Cursor): TextNode {
  KEY.lastIndex = cursor.at;
  if (KEY.test(cursor.text)) return takeTo(cursor, KEY.lastIndex);
  QUOTED_KEY.lastIndex = cursor.at;
  return QUOTED_KEY.test(cursor.text) ? readQuoted(cursor, QUOTE) : giveUp();
}

/** The keys of a mapping so far. Most mappings have few keys, so these are compared one by one. */
interface Keys {
  readonly texts: string[];
  many: Set<string> | null;
}

const FEW_KEYS = 12;

function addKey(keys: Keys, key: TextNode): void {
  const { texts } = keys;
  const isTaken = keys.many === null ? texts.includes(key.text) : keys.many.has(key.text);
  if (isTaken || keyFault(key, undefined) !== null) giveUp();
  texts.push(key.text);
  if (keys.many !== null) keys.many.add(key.text);
  else if (texts.length > FEW_KEYS) keys.many = new Set(texts);
}

function takeText(cursor: Cursor, pattern: RegExp): TextNode {
  pattern.lastIndex = cursor.at;
  return pattern.test(cursor.text) ? takeTo(cursor, pattern.lastIndex) : giveUp();
}

function takeTo(cursor: Cursor, end: number): TextNode {
  const { at, offset } = cursor;
  if (!takeNode(cursor.budget)) giveUp();
  cursor.at = end;
  return { kind: 'text', plain: true, text: cursor.text.slice(at, end), start: at + offset, end: end + offset };
}

/** Without escapes, on one line. */
function readQuoted(cursor: Cursor, quote: number): TextNode {
  const { text, at } = cursor;
  let end = at + 1;
  for (let code = text.charCodeAt(end); code !== quote; code = text.charCodeAt(end)) {
    if (end >= text.length || code === NEWLINE || (code === 0x5c && quote === QUOTE)) giveUp();
    end += 1;
  }
  if (text.charCodeAt(end + 1) === quote || !takeNode(cursor.budget)) giveUp();
  cursor.at = end + 1;
  const start = at + cursor.offset;
  return { kind: 'text', plain: false, text: text.slice(at + 1, end), start, end: start + end + 1 - at };
}

/** Skips spaces and line ends inside a flow collection. Its lines must be indented further than the collection around it. */
function skipFlowSpace(cursor: Cursor, column: number): void {
  const { text } = cursor;
  while (text.charCodeAt(cursor.at) === SPACE) cursor.at += 1;
  while (text.charCodeAt(cursor.at) === NEWLINE) {
    const lineStart = cursor.at + 1;
    cursor.at = lineStart;
    while (text.charCodeAt(cursor.at) === SPACE) cursor.at += 1;
    if (text.charCodeAt(cursor.at) !== NEWLINE && cursor.at - lineStart <= column) giveUp();
  }
}

function readFlow(cursor: Cursor, column: number, depth: number): Node {
  if (depth > cursor.depth) giveUp();
  const start = cursor.at + cursor.offset;
  const mapping = cursor.text.charCodeAt(cursor.at) === OPEN_MAPPING;
  const close = mapping ? CLOSE_MAPPING : CLOSE_LIST;
  const items: Node[] = [];
  const entries: Entry[] = [];
  const keys: Keys = { texts: [], many: null };
  cursor.at += 1;
  skipFlowSpace(cursor, column);
  while (cursor.text.charCodeAt(cursor.at) !== close) {
    if (mapping) entries.push(readFlowEntry(cursor, column, { depth, keys }));
    else items.push(readFlowValue(cursor, column, depth));
    skipFlowSpace(cursor, column);
    const code = cursor.text.charCodeAt(cursor.at);
    if (code === COMMA) {
      cursor.at += 1;
      skipFlowSpace(cursor, column);
      if (cursor.text.charCodeAt(cursor.at) === close) giveUp();
    } else if (code !== close) giveUp();
  }
  cursor.at += 1;
  const end = cursor.at + cursor.offset;
  return mapping ? { kind: 'mapping', entries, start, end } : { kind: 'list', items, start, end };
}

function readFlowEntry(cursor: Cursor, column: number, of: { readonly depth: number; readonly keys: Keys }): Entry {
  const code = cursor.text.charCodeAt(cursor.at);
  const key = code === QUOTE ? readQuoted(cursor, QUOTE) : takeText(cursor, KEY);
  if (cursor.text.charCodeAt(cursor.at) !== COLON) giveUp();
  addKey(of.keys, key);
  cursor.at += 1;
  skipFlowSpace(cursor, column);
  return { key, value: readFlowValue(cursor, column, of.depth) };
}

function readFlowValue(cursor: Cursor, column: number, depth: number): Node {
  if (isFlowAt(cursor)) return readFlow(cursor, column, depth + 1);
  const code = cursor.text.charCodeAt(cursor.at);
  const value = code === QUOTE || code === APOSTROPHE ? readQuoted(cursor, code) : takeText(cursor, PLAIN_IN_FLOW);
  // A pair inside a list (`[a: b]`), or text that continues, is left to the whole parser.
  if (cursor.text.charCodeAt(cursor.at) === COLON) giveUp();
  return value;
}
