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
  return text.charCodeAt(at) === 0x2d && /^[ \n]?$/.test(text.charAt(at + 1));
}

function* linesOf(text: string, span: Span): Generator<Span> {
  for (let start = span.start; start < span.end;) {
    const found = text.indexOf('\n', start);
    const end = found < 0 || found > span.end ? span.end : found;
    yield { start, end };
    start = end + 1;
  }
}
