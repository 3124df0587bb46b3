// Bytes to text (design 3.1): strict UTF-8, CRLF read as LF, and no character that a reader could not see or that two
// programs could take for different things. A file that fails here is not parsed, so that one slip is one diagnostic.
import type { DiagnosticCode } from '../model/diagnostic-codes.js';
import type { Span } from '../model/span.js';

export interface TextFault extends Span {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string;
}

export interface DecodedText {
  /** With LF line ends. Where bytes were not UTF-8, with replacement characters, to be shown and not to be parsed. */
  readonly text: string;
  readonly faults: readonly TextFault[];
}

export function decodeText(bytes: Uint8Array): DecodedText {
  const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
  const invalid = firstInvalidByte(bytes);
  const text = decoder.decode(bytes).replaceAll('\r\n', '\n');
  if (invalid === bytes.length) return { text, faults: [...characterFaults(text), ...normalFormFaults(text)] };
  const start = decoder.decode(bytes.subarray(0, invalid)).replaceAll('\r\n', '\n').length;
  const message = 'the bytes from here on are not UTF-8';
  const fault = { code: 'TEXT_NOT_UTF8', start, end: start + 1, message, help: 'save the file as UTF-8' } as const;
  return { text, faults: [fault] };
}

/** The offset of the first byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7). */
function firstInvalidByte(bytes: Uint8Array): number {
  let at = 0;
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
  readonly pattern: RegExp;
  readonly message: string;
  readonly help: string;
}

/** Written as escapes: the characters themselves are what is refused. */
const CHARACTER_RULES: readonly CharacterRule[] = [
  { code: 'TEXT_BOM', pattern: /\uFEFF/g, message: 'a byte order mark', help: 'save the file as UTF-8 without one' },
  { code: 'TEXT_NUL', pattern: /\0/g, message: 'a NUL character', help: 'remove it' },
  { code: 'TEXT_TAB', pattern: /\t+/g, message: 'a tab', help: 'use spaces' },
  { code: 'TEXT_LONE_CR', pattern: /\r/g, message: 'a carriage return without a line feed', help: 'end lines with LF' },
  {
    code: 'TEXT_CONTROL',
    pattern: /(?![\0\t\n\r])\p{Cc}/gu,
    message: 'a control character',
    help: 'remove it',
  },
];

const ANY_FAULTY = /(?!\n)[\p{Cc}\uFEFF]/u;

/** One fault per kind, at its first place, with the number of the others. */
function characterFaults(text: string): TextFault[] {
  if (!ANY_FAULTY.test(text)) return [];
  const faults: TextFault[] = [];
  for (const { code, pattern, message, help } of CHARACTER_RULES) {
    let first: RegExpMatchArray | null = null;
    let count = 0;
    for (const match of text.matchAll(pattern)) {
      first ??= match;
      count += 1;
    }
    if (first === null) continue;
    const more = count === 1 ? '' : `, and ${String(count - 1)} more in this file`;
    faults.push({
      code,
      start: first.index ?? 0,
      end: (first.index ?? 0) + first[0].length,
      message: message + more,
      help,
    });
  }
  return faults;
}

const NOT_ASCII = /[^\n -~]/;

/** One fault per line, at the first character that normal form C would write differently. */
function normalFormFaults(text: string): TextFault[] {
  if (!NOT_ASCII.test(text) || text.normalize('NFC') === text) return [];
  const faults: TextFault[] = [];
  let offset = 0;
  for (const line of text.split('\n')) {
    const normal = line.normalize('NFC');
    if (normal !== line) faults.push(normalFormFault(line, normal, offset));
    offset += line.length + 1;
  }
  return faults;
}

function normalFormFault(line: string, normal: string, offset: number): TextFault {
  let from = 0;
  for (const segment of line.match(/\P{M}\p{M}*|\p{M}+/gu) ?? []) {
    if (segment.normalize('NFC') !== segment || !normal.startsWith(segment, from)) {
      const [start, end] = [offset + from, offset + from + segment.length];
      return {
        code: 'TEXT_NOT_NFC',
        start,
        end,
        message: 'text that is not in normal form C',
        help: `write it as \`${segment.normalize('NFC')}\``,
      };
    }
    from += segment.length;
  }
  return {
    code: 'TEXT_NOT_NFC',
    start: offset,
    end: offset + line.length,
    message: 'text that is not in normal form C',
  };
}

/** What is wrong with a text that was written with escapes, or null. */
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
    if (text.search(pattern) >= 0) return { code, message: `an escape for ${message}`, help: 'remove the escape' };
  }
  if (text.normalize('NFC') === text) return null;
  return {
    code: 'TEXT_NOT_NFC',
    message: 'escapes for text that is not in normal form C',
    help: 'write the text itself',
  };
}
