// Strict JSON: turns bytes or text into a value, or one fault with its stable code (docs/errors.md). The grammar and
// the values are those of `JSON.parse`. What it would silently accept (duplicate and dangerous keys, integers that lose
// digits, texts that no store can hold, endless nesting) is refused here. Request bodies and dataset lines share it.
import { isUtf8 } from 'node:buffer';
import { endOfString, endOfToken, findDuplicate, firstError, placeAt, pointerTo } from './places.js';

export { pointerTo } from './places.js';

export type JsonFaultCode =
  | 'request.malformed'
  | 'request.duplicate_key'
  | 'request.forbidden_key'
  | 'request.invalid_unicode'
  | 'request.too_deep';

export interface JsonFault {
  readonly code: JsonFaultCode;
  /** A JSON pointer (RFC 6901), with keys cut at 64 characters. Empty for the document as a whole. */
  readonly pointer: string;
  /** A fixed text, never part of the input. */
  readonly message: string;
}

/** Neither null nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Its own member of this name, if the value is an object and has one. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export type JsonResult =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly fault: JsonFault };

export interface JsonLimits {
  /** How deeply arrays and objects may be nested, including the outermost. */
  readonly depth: number;
  /** Set for JSON Lines: the reader says which line it is. */
  readonly isLine?: true;
  /**
   * Whether the text at this pointer may hold U+0000 or half a surrogate pair, because its reader refuses these with a
   * message of its own.
   */
  readonly mayHoldAnyText?: (pointer: string) => boolean;
}

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether no object can have a member of this name. */
export function isForbiddenKey(name: string): boolean {
  return FORBIDDEN_KEYS.has(name);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Reads one document with nothing but white space before or after it. Total: every input gets an answer. */
export function parseStrictJson(input: string | Uint8Array, limits: JsonLimits): JsonResult {
  if (typeof input !== 'string' && !isUtf8(input)) return fault('request.invalid_unicode', '', 'not valid UTF-8');
  const text = typeof input === 'string' ? input : bufferOf(input).toString('utf8');
  const scan = scanText(text, limits.depth);
  if ('code' in scan) return { ok: false, fault: scan };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the input, so it is not passed on.
    return fault(
      'request.malformed',
      '',
      `not JSON: ${firstError(text, limits.isLine === true ? 'line' : 'document')}`,
    );
  }
  // The bytes are valid UTF-8, and raw control characters are not JSON, so a refused string must come from an escape.
  const checkTexts = typeof input === 'string' || text.includes('\\u');
  const walk: Walk = { members: 0, fault: null, checkTexts, mayHoldAnyText: limits.mayHoldAnyText ?? never };
  inspect(value, '', walk);
  if (walk.fault === null && scan.lossy >= 0) return fault('request.malformed', placeAt(text, scan.lossy), LOSSY);
  // `JSON.parse` keeps the last of several equal keys. So if the value has fewer members than the text, a key is
  // repeated.
  if (walk.fault === null && walk.members !== scan.members) {
    return fault('request.duplicate_key', findDuplicate(text), 'this key occurs twice');
  }
  return walk.fault === null ? { ok: true, value } : { ok: false, fault: walk.fault };
}

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d]);

/** Whether a line of JSON Lines holds nothing but white space: such lines are skipped. */
export function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => BLANKS.has(byte));
}

/** Commas of one document. Some more members or items, and V8 has no room for them: it ends the process. */
const MOST_COMMAS = 16_000_000;

const TOO_DEEP: JsonFault = { code: 'request.too_deep', pointer: '', message: 'nested too deeply' };
const TOO_MANY: JsonFault = {
  code: 'request.malformed',
  pointer: '',
  message: `more than ${String(MOST_COMMAS)} members and items`,
};

interface Scan {
  /** The number of members of all objects, counted as colons outside strings. */
  readonly members: number;
  /** The place of the first integer that would lose digits; -1 if there is none. */
  readonly lossy: number;
}

/** Scans the text once. The result means nothing for text that is not JSON, unless it is a fault. */
function scanText(text: string, depthLimit: number): Scan | JsonFault {
  let members = 0;
  let commas = 0;
  let depth = 0;
  let lossy = -1;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    else if (code === COLON) members += 1;
    else if (code === COMMA) {
      commas += 1;
      if (commas > MOST_COMMAS) return TOO_MANY;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > depthLimit) return TOO_DEEP;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
    else if (code >= 0x30 && code <= 0x39) {
      const end = endOfToken(text, i);
      if (end - i >= SAFE_DIGITS && lossy < 0 && losesDigits(text.slice(i, end))) lossy = i;
      i = end - 1;
    }
  }
  return { members, lossy };
}

/** An integer of fewer digits is always exact. */
const SAFE_DIGITS = 16;
const INTEGER = /^[0-9]+$/;
const LOSSY = 'an integer of this size would lose digits: write it as a string, or with an exponent if it is a measure';

/**
 * Whether an integer changes when it is read and written again. An integer that came from a double and was written in
 * full (6.02e23 is stored as 602000000000000000000000) does not change.
 */
function losesDigits(digits: string): boolean {
  if (!INTEGER.test(digits)) return false;
  const value = Number(digits);
  if (Number.isSafeInteger(value) || !Number.isFinite(value)) return false;
  const [mantissa = '', exponent] = String(value).split('e');
  const significant = mantissa.replace('.', '');
  const written = exponent === undefined ? significant : significant.padEnd(Number(exponent) + 1, '0');
  return written !== digits;
}

interface Walk {
  members: number;
  fault: JsonFault | null;
  readonly checkTexts: boolean;
  readonly mayHoldAnyText: (pointer: string) => boolean;
}

function never(): boolean {
  return false;
}

/** Visits a parsed value and stops at the first fault. The scan before has bounded its depth. */
function inspect(value: unknown, pointer: string, walk: Walk): void {
  if (typeof value === 'string') {
    if (walk.checkTexts && !isStorable(value) && !walk.mayHoldAnyText(pointer))
      refuse(walk, 'request.invalid_unicode', pointer, UNSTORABLE);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse(walk, 'request.malformed', pointer, 'a number that is too large for a double');
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length && walk.fault === null; i += 1) {
      const item: unknown = value[i];
      // A pointer is only built where something can be inside or wrong, not for every plain leaf of a long list.
      if (typeof item === 'object' ? item !== null : mayBeRefused(item, walk))
        inspect(item, pointerTo(pointer, i), walk);
    }
  } else if (typeof value === 'object' && value !== null) inspectObject(value, pointer, walk);
}

function inspectObject(value: object, pointer: string, walk: Walk): void {
  // Not its entries: a list for each of many members takes three times as long.
  for (const key of Object.keys(value)) {
    const member: unknown = Reflect.get(value, key);
    walk.members += 1;
    if (isForbiddenKey(key))
      refuse(walk, 'request.forbidden_key', pointerTo(pointer, key), 'this key is never accepted');
    else if (walk.checkTexts && !isStorable(key))
      refuse(walk, 'request.invalid_unicode', pointerTo(pointer, key), UNSTORABLE);
    else if (typeof member === 'object' ? member !== null : mayBeRefused(member, walk)) {
      inspect(member, pointerTo(pointer, key), walk);
    }
    if (walk.fault !== null) return;
  }
}

const UNSTORABLE = 'a string with U+0000 or half of a surrogate pair';

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function mayBeRefused(leaf: unknown, walk: Walk): boolean {
  return typeof leaf === 'number' ? !Number.isFinite(leaf) : typeof leaf === 'string' && walk.checkTexts;
}

function refuse(walk: Walk, code: JsonFaultCode, pointer: string, message: string): void {
  walk.fault ??= { code, pointer, message };
}

function fault(code: JsonFaultCode, pointer: string, message: string): JsonResult {
  return { ok: false, fault: { code, pointer, message } };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
