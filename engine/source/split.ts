// Large files in pieces: the `yaml` package keeps some 10 KiB per grant while it reads, so a file of 100,000 grants is cut
// where a top-level entry, or an entry of its list or mapping, begins. INVARIANT: in a file that is valid as a whole such
// a line can begin nothing else (whatever continues a text or a flow collection is indented further), and pieces that
// are valid make a valid whole; so the cut changes neither what is accepted nor what it means. A property test holds it.
import type { Span } from '../model/span.js';

/** One top-level entry; `pieces` cut its value where it is long, and are empty where the entry is read in one. */
export interface EntryText extends Span {
  readonly key: Span;
  readonly pieces: readonly Span[];
}

/** `key:` alone or with a value on its line. */
const ENTRY = /^([A-Za-z]+):(?: .*)?$/;
const PLAIN_KEY = /^[A-Za-z0-9][A-Za-z0-9._-]*:(?: |$)/;
const BARE = /^[A-Za-z]+:\s*(?:#.*)?$/;

/** Null where the text has anything at its left edge that is not an entry, a comment or a dash. */
export function splitEntries(text: string, pieceLength: number): readonly EntryText[] | null {
  const starts: { readonly start: number; readonly lineEnd: number }[] = [];
  for (const { start, end } of linesOf(text, { start: 0, end: text.length })) {
    // Before the first entry nothing may stand, be it indented; what follows one belongs to it.
    const at = starts.length === 0 ? afterSpaces(text, start) : start;
    if (!isContentAt(text, at, end) || (starts.length > 0 && isDashAt(text, start))) continue;
    if (at > start || !ENTRY.test(text.slice(start, end))) return null;
    starts.push({ start, lineEnd: end });
  }
  return starts.map(({ start, lineEnd }, index) => {
    const end = starts[index + 1]?.start ?? text.length;
    const line = text.slice(start, lineEnd);
    const body = { start: Math.min(lineEnd + 1, end), end };
    const key = { start, end: start + line.indexOf(':') };
    return { key, start, end, pieces: BARE.test(line) ? splitBody(text, body, pieceLength) : [] };
  });
}

/** Pieces of at least `pieceLength`, each beginning with an entry of the body; none if the body is short or odd. */
function splitBody(text: string, body: Span, pieceLength: number): readonly Span[] {
  if (body.end - body.start < pieceLength) return [];
  let indent = -1;
  let dashes = false;
  let start = body.start;
  const pieces: Span[] = [];
  for (const line of linesOf(text, body)) {
    const at = afterSpaces(text, line.start);
    if (!isContentAt(text, at, line.end)) continue;
    if (indent < 0) {
      indent = at - line.start;
      dashes = isDashAt(text, at);
      if (!dashes && indent === 0) return [];
    }
    if (at - line.start === indent) {
      if (dashes ? !isDashAt(text, at) : !PLAIN_KEY.test(text.slice(at, line.end))) return [];
      if (line.start - start >= pieceLength) {
        pieces.push({ start, end: line.start });
        start = line.start;
      }
    }
  }
  return pieces.length === 0 ? [] : [...pieces, { start, end: body.end }];
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

function* linesOf(text: string, span: Span): Generator<Span> {
  for (let start = span.start; start < span.end;) {
    const found = text.indexOf('\n', start);
    const end = found < 0 || found > span.end ? span.end : found;
    yield { start, end };
    start = end + 1;
  }
}

/** A part of a broken file that can be read for itself: a top-level entry, or an entry of its list or mapping. */
export interface LoosePiece extends Span {
  /** How it stands to the entries around it. */
  readonly fit: 'fits' | 'left-of-entries' | 'no-dash';
}

export interface LooseEntry extends Span {
  /** Null for what begins at the left edge and is no entry. */
  readonly key: Span | null;
  /** Null where the value is on the line of its key. */
  readonly body: { readonly kind: 'list' | 'mapping'; readonly pieces: readonly LoosePiece[] } | null;
}

/**
 * Cuts a text that cannot be read as a whole where, by its indentation, an entry seems to begin: what is wrong in one
 * entry then does not reach the next. May cut within a text or a bracket that is not closed.
 */
export function splitLoosely(text: string): readonly LooseEntry[] {
  const starts: Span[] = [];
  for (const line of linesOf(text, { start: 0, end: text.length })) {
    const code = text.charCodeAt(line.start);
    const isInner = code === SPACE || isClosing(code) || isDashAt(text, line.start);
    if (
      starts.length === 0
        ? isContentAt(text, afterSpaces(text, line.start), line.end)
        : !isInner && isContentAt(text, line.start, line.end)
    )
      starts.push(line);
  }
  return starts.map((line, index) => {
    const span = { start: line.start, end: starts[index + 1]?.start ?? text.length };
    const head = text.slice(line.start, line.end);
    if (!ENTRY.test(head)) return { ...span, key: null, body: null };
    const key = { start: line.start, end: line.start + head.indexOf(':') };
    if (!BARE.test(head)) return { ...span, key, body: null };
    return { ...span, key, body: splitBodyLoosely(text, { start: Math.min(line.end + 1, span.end), end: span.end }) };
  });
}

function splitBodyLoosely(text: string, body: Span): LooseEntry['body'] {
  let indent = -1;
  let kind: 'list' | 'mapping' = 'mapping';
  const pieces: LoosePiece[] = [];
  for (const line of linesOf(text, body)) {
    const at = afterSpaces(text, line.start);
    const code = text.charCodeAt(at);
    if (!isContentAt(text, at, line.end) || isClosing(code)) continue;
    if (indent < 0) {
      indent = at - line.start;
      if (code === DASH) kind = 'list';
    }
    if (at - line.start > indent) continue;
    const hasDash = isDashAt(text, at);
    const before = pieces.at(-1);
    // Keys one below the other that should have a dash are one entry.
    if (before?.fit === 'no-dash' && at - line.start === indent && kind === 'list' && !hasDash && code !== DASH)
      continue;
    if (before !== undefined) pieces[pieces.length - 1] = { ...before, end: line.start };
    const fit = at - line.start < indent ? 'left-of-entries' : kind === 'list' && !hasDash ? 'no-dash' : 'fits';
    pieces.push({ start: line.start, end: body.end, fit });
  }
  return { kind, pieces };
}

/** A block by its keys or its dashes, those of the first column. */
export interface Block {
  readonly kind: 'list' | 'mapping';
  readonly parts: readonly Span[];
}

const KEY = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*|"[^"\n]*"|'[^'\n]*'):(?: |$)/;

/** Null where the text does not begin with a key or a dash. What does not either, further down, belongs to what is above. */
export function splitBlock(text: string): Block | null {
  let indent = -1;
  let kind: Block['kind'] = 'mapping';
  const starts: number[] = [];
  for (const line of linesOf(text, { start: 0, end: text.length })) {
    const at = afterSpaces(text, line.start);
    if (!isContentAt(text, at, line.end)) continue;
    if (indent < 0) {
      indent = at - line.start;
      if (isDashAt(text, at)) kind = 'list';
    }
    if (at - line.start !== indent) continue;
    if (kind === 'list' ? isDashAt(text, at) : KEY.test(text.slice(at, line.end))) starts.push(line.start);
    else if (starts.length === 0) return null;
  }
  if (starts.length === 0) return null;
  return { kind, parts: starts.map((start, i) => ({ start, end: starts[i + 1] ?? text.length })) };
}

const DASH = 0x2d;

function isClosing(code: number): boolean {
  return code === 0x5d || code === 0x7d;
}
