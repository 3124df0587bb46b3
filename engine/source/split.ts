// Cuts large files into pieces: the `yaml` package keeps about 10 KiB per grant while it reads. A file is cut where a top-level entry
// begins, or an entry of its list or mapping. INVARIANT: in a valid file such a line cannot begin anything else, since the continuation
// of a text or flow collection is indented further. Valid pieces together are a valid text. So the cut changes neither what is accepted nor
// what it means. A property test checks this.
import type { Span } from '../model/span.js';

/** One top-level entry. A long value is cut into `pieces`; if they are empty, the entry is read at once. */
export interface EntryText extends Span {
  readonly key: Span;
  readonly pieces: readonly Span[];
}

/** `key:` alone or with a value on its line. */
const ENTRY = /^([A-Za-z]+):(?: .*)?$/;
const PLAIN_KEY = /^[A-Za-z0-9][A-Za-z0-9._-]*:(?: |$)/;
const BARE = /^[A-Za-z]+:\s*(?:#.*)?$/;

/** Null if the text has anything at the left edge other than an entry, a comment or a dash. */
export function splitEntries(text: string, pieceLength: number): readonly EntryText[] | null {
  const starts: number[] = [];
  for (let start = 0, end: number; start < text.length; start = end + 1) {
    end = lineEnd(text, start, text.length);
    // Nothing may stand before the first entry, not even indented. Indented lines after an entry belong to it.
    const at = starts.length === 0 ? afterSpaces(text, start) : start;
    if (!isContentAt(text, at, end) || (starts.length > 0 && isDashAt(text, start))) continue;
    if (at > start || !ENTRY.test(text.slice(start, end))) return null;
    starts.push(start);
  }
  return starts.map((start, index) => {
    const entry = { start, end: starts[index + 1] ?? text.length };
    const { key = entry, body = null } = bodyOf(text, entry) ?? {};
    return { ...entry, key, pieces: body === null ? [] : splitBody(text, body, pieceLength) };
  });
}

/** Pieces of at least `pieceLength`, each beginning at an entry of the body. Empty if the body is short or odd. */
function splitBody(text: string, body: Span, pieceLength: number): readonly Span[] {
  if (body.end - body.start < pieceLength) return [];
  const { starts, isOdd } = entriesOf(text, body);
  if (isOdd) return [];
  const pieces: Span[] = [];
  let { start } = body;
  for (const end of starts) {
    if (end - start < pieceLength) continue;
    pieces.push({ start, end });
    start = end;
  }
  return pieces.length === 0 ? [] : [...pieces, { start, end: body.end }];
}

/** The key at the beginning of a text, and the list or mapping on the lines below it. Null if the text does not begin with a key. */
export function bodyOf(text: string, part: Span): { readonly key: Span; readonly body: Span | null } | null {
  const headEnd = lineEnd(text, part.start, part.end);
  const head = text.slice(part.start, headEnd);
  if (!ENTRY.test(head)) return null;
  const key = { start: part.start, end: part.start + head.indexOf(':') };
  const body = { start: Math.min(headEnd + 1, part.end), end: part.end };
  return { key, body: BARE.test(head) && text.slice(body.start, body.end).trim() !== '' ? body : null };
}

export interface BodyEntries {
  readonly kind: 'list' | 'mapping';
  /** The offsets at which the lines of its entries begin. The first is the beginning of the body. */
  readonly starts: readonly number[];
  /** Whether something in the column of the entries is not an entry, or something stands left of that column. */
  readonly isOdd: boolean;
}

/** The entries of a list or mapping, found by its first column. Odd lines belong to the entry above. */
export function entriesOf(text: string, body: Span): BodyEntries {
  const starts = [body.start];
  let indent = -1;
  let isList = false;
  let isOdd = false;
  for (let start = body.start, end: number; start < body.end; start = end + 1) {
    end = lineEnd(text, start, body.end);
    const at = afterSpaces(text, start);
    if (!isContentAt(text, at, end)) continue;
    const isFirst = indent < 0;
    if (isFirst) {
      indent = at - start;
      isList = isDashAt(text, at);
      isOdd = !isList && indent === 0;
    }
    if (at - start > indent) continue;
    const isEntry = at - start === indent && (isList ? isDashAt(text, at) : PLAIN_KEY.test(text.slice(at, end)));
    if (!isEntry) isOdd = true;
    else if (!isFirst) starts.push(start);
  }
  return { kind: isList ? 'list' : 'mapping', starts, isOdd };
}

const SPACE = 0x20;

function afterSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === SPACE) at += 1;
  return at;
}

function isContentAt(text: string, at: number, lineEnd: number): boolean {
  return at < lineEnd && text.charCodeAt(at) !== SPACE && text.charCodeAt(at) !== 0x23;
}

/** A dash that begins an entry of a list. */
function isDashAt(text: string, at: number): boolean {
  return text.charCodeAt(at) === DASH && /^[ \n]?$/.test(text.charAt(at + 1));
}

export function* linesOf(text: string, span: Span): Generator<Span> {
  for (let start = span.start, end: number; start < span.end; start = end + 1) {
    end = lineEnd(text, start, span.end);
    yield { start, end };
  }
}

/** The end of the line that begins at `start`: before its line feed, but not past `end`. */
function lineEnd(text: string, start: number, end: number): number {
  const found = text.indexOf('\n', start);
  return found < 0 || found > end ? end : found;
}

const DASH = 0x2d;
