// Turns bytes into text (docs/language.md "Strictness"): strict UTF-8, CRLF read as LF, and no characters that a reader could not see or
// that two programs could interpret differently. All faults are found, so that the rest can still be read (`recover.ts`).
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import { firstFrom } from '../model/row-lists.js';
import type { Span } from '../model/span.js';
import { conflictFaults } from './merge-conflicts.js';
import { MOST_FAULTS, type SourceFault } from './tree.js';

export interface DecodedText {
  /** With LF line ends. Bytes that are not UTF-8 become replacement characters. Empty if nothing is readable. */
  readonly text: string;
  /** In order, not overlapping. */
  readonly faults: readonly SourceFault[];
}

/** Lines of printable ASCII, as most files are, have no fault. */
const NOT_ASCII = /[^\n -~]/;
/** Stands for bytes that are not UTF-8. */
const REPLACEMENT = '\uFFFD';

export function decodeText(bytes: Uint8Array): DecodedText {
  if (isUtf16(bytes)) {
    const message = 'the file is UTF-16 text';
    const fault = { code: 'TEXT_NOT_UTF8', start: 0, end: 0, message, help: 'save the file as UTF-8' } as const;
    return { text: '', faults: [fault] };
  }
  const { text, faults } = decodeUtf8(bytes);
  const conflicts = conflictFaults(text);
  if (faults.length === 0 && !NOT_ASCII.test(text)) return { text, faults: conflicts };
  const all = [...faults, ...characterFaults(text), ...spaceFaults(text), ...normalFormFaults(text)];
  return {
    text,
    faults: [...conflicts, ...(conflicts.length === 0 ? all : all.filter((fault) => !isInside(fault, conflicts)))].sort(
      byPlace,
    ),
  };
}

function byPlace(a: Span, b: Span): number {
  return a.start - b.start;
}

function isInside(fault: Span, conflicts: readonly Span[]): boolean {
  const next = conflicts[firstFrom(conflicts.length, (place) => (conflicts[place]?.end ?? 0) > fault.start)];
  return next !== undefined && next.start <= fault.start;
}

/** Recognized by a byte order mark, or by the NUL in every second byte of ASCII text. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const sample = bytes.subarray(0, 64);
  return (
    sample.length >= 4 &&
    sample.filter((byte, index) => (byte === 0) === (index % 2 === (first === 0 ? 0 : 1))).length === sample.length
  );
}

function decodeUtf8(bytes: Uint8Array): { readonly text: string; readonly faults: readonly SourceFault[] } {
  const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
  const decode = (from: number, to: number): string =>
    decoder.decode(bytes.subarray(from, to)).replaceAll('\r\n', '\n');
  const parts: string[] = [];
  const faults: SourceFault[] = [];
  let length = 0;
  let from = 0;
  for (
    let invalid = nextInvalidByte(bytes, 0);
    invalid < bytes.length && faults.length < MOST_FAULTS;
    invalid = nextInvalidByte(bytes, from)
  ) {
    const part = decode(from, invalid);
    length += part.length;
    parts.push(part, REPLACEMENT);
    from = invalid + 1;
    while (from < bytes.length && sequenceLength(bytes, from) === 0) from += 1;
    const message = from - invalid === 1 ? 'a byte that is not UTF-8' : 'bytes that are not UTF-8';
    faults.push({ code: 'TEXT_NOT_UTF8', start: length, end: length + 1, message, help: 'save the file as UTF-8' });
    length += 1;
  }
  parts.push(decode(from, bytes.length));
  return { text: parts.join(''), faults };
}

/** The offset of the next byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7). */
function nextInvalidByte(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length =
    first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  if (length === 0) return 0;
  const second = bytes[at + 1] ?? 0;
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let i = 2; i < length; i += 1) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

interface CharacterRule {
  readonly code: DiagnosticCode;
  /** Matches runs of refused characters. */
  readonly pattern: RegExp;
  readonly message: string;
  readonly help: string;
}

/** The patterns are written as escapes, since the characters themselves would be invisible or misleading here. */
const CHARACTER_RULES: readonly CharacterRule[] = [
  {
    code: 'TEXT_BOM',
    pattern: /\uFEFF+/g,
    message: 'the file has a byte order mark',
    help: 'save the file as UTF-8 without byte order mark (BOM)',
  },
  { code: 'TEXT_NUL', pattern: /\0+/g, message: 'a NUL character', help: 'remove it' },
  { code: 'TEXT_TAB', pattern: /\t+/g, message: 'a tab', help: 'use spaces' },
  {
    code: 'TEXT_LONE_CR',
    pattern: /\r+/g,
    message: 'a carriage return without a line feed',
    help: 'end lines with LF',
  },
  {
    code: 'TEXT_BIDI',
    pattern: /\p{Bidi_Control}+/gu,
    message: 'a character that changes the direction of text',
    help: 'remove it: it makes a line look different from what it says; where it is meant, write an escape such as `"\\u202e"`',
  },
  {
    code: 'TEXT_CONTROL',
    // Editors show U+2028 and U+2029 as line ends, and YAML does not: a comment would look like policy.
    pattern: /(?:(?![\0\t\n\r])[\p{Cc}\u2028\u2029\uFFF9-\uFFFB])+/gu,
    message: 'a control character',
    help: 'remove it',
  },
];

const ANY_FAULTY = /(?!\n)[\p{Cc}\p{Bidi_Control}\uFEFF\u2028\u2029\uFFF9-\uFFFB]/u;

function characterFaults(text: string): SourceFault[] {
  if (!ANY_FAULTY.test(text)) return [];
  return CHARACTER_RULES.flatMap(({ code, pattern, message, help }) =>
    Array.from(firstMatches(text, pattern), ({ index, 0: run }) => ({
      code,
      start: index,
      end: index + run.length,
      message,
      help,
    })),
  );
}

function* firstMatches(text: string, pattern: RegExp): Generator<RegExpExecArray> {
  let left = MOST_FAULTS;
  for (const match of text.matchAll(pattern)) {
    yield match;
    left -= 1;
    if (left === 0) return;
  }
}

const ODD_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]+/g;
/**
 * The indentation of a line, its dashes, its key, and the spaces behind them. Here spaces have a meaning. More dashes are nested too
 * deeply to be read.
 */
const LINE_HEAD =
  /^[ \u00A0\u2000-\u200A\u202F\u205F\u3000]*(?:-[ \u00A0\u2000-\u200A\u202F\u205F\u3000]+){0,1000}(?:[A-Za-z]+:[ \u00A0\u2000-\u200A\u202F\u205F\u3000]*)?/gm;

/** Finds odd spaces in the heads of lines. Inside a text they are legal. */
function spaceFaults(text: string): SourceFault[] {
  if (text.search(ODD_SPACES) < 0) return [];
  const faults: SourceFault[] = [];
  for (const { index: lineStart, 0: head } of text.matchAll(LINE_HEAD)) {
    if (faults.length >= MOST_FAULTS) break;
    for (const { index, 0: run } of head.matchAll(ODD_SPACES)) {
      const start = lineStart + index;
      const message = 'a space that is not the plain one';
      const help = 'write a plain space; such spaces come with text that is copied from a page';
      faults.push({ code: 'TEXT_SPACE', start, end: start + run.length, message, help });
    }
  }
  return faults;
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const NOT_NORMAL = 'text that is not in normal form C';

/** One fault for each word that normal form C writes differently. A line without words counts as one word. */
function normalFormFaults(text: string): SourceFault[] {
  if (text.normalize('NFC') === text) return [];
  const faults: SourceFault[] = [];
  let offset = 0;
  for (const line of text.split('\n')) {
    if (faults.length >= MOST_FAULTS) break;
    if (line.normalize('NFC') !== line) {
      const words = Array.from(firstMatches(line, WORD)).filter(({ 0: word }) => word.normalize('NFC') !== word);
      for (const { index, 0: word } of words) {
        const start = offset + index;
        const help = `write it in composed form: \`${word.normalize('NFC')}\``;
        faults.push({ code: 'TEXT_NOT_NFC', start, end: start + word.length, message: NOT_NORMAL, help });
      }
      if (words.length === 0) faults.push(lineFault(line, offset));
    }
    offset += line.length + 1;
  }
  return faults;
}

/** A fault at the first character that differs in normal form C. */
function lineFault(line: string, offset: number): SourceFault {
  const normal = line.normalize('NFC');
  let from = 0;
  while (line.charAt(from) === normal.charAt(from)) from += 1;
  const start = offset + from;
  return { code: 'TEXT_NOT_NFC', start, end: start + 1, message: NOT_NORMAL, help: 'convert the file to NFC' };
}

/** What is wrong with a text that was written with escapes; null if nothing is. */
export function escapedTextFault(
  text: string,
): { readonly code: DiagnosticCode; readonly message: string; readonly help: string } | null {
  if (!text.isWellFormed()) {
    return {
      code: 'TEXT_SURROGATE',
      message: 'an escape for half of a surrogate pair',
      help: 'write the character itself',
    };
  }
  for (const { code, pattern, message } of CHARACTER_RULES) {
    // An escape shows what the character itself would hide.
    if (code !== 'TEXT_BIDI' && text.search(pattern) >= 0)
      return { code, message: `an escape for ${message}`, help: 'remove the escape' };
  }
  if (text.normalize('NFC') === text) return null;
  return {
    code: 'TEXT_NOT_NFC',
    message: 'escapes for text that is not in normal form C',
    help: 'write the text itself',
  };
}
