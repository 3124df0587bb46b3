// Places in a JSON text, for messages: where it stops being JSON, which key occurs twice, and the pointer to an offset.
// `server/json/strict-json.ts` reads the values. This only runs on a text that is refused.
import { HTTP_LIMITS } from '../limits/http.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** The pointer (RFC 6901) one step longer, with the key escaped and shortened. */
export function pointerTo(parent: string, key: string | number): string {
  if (typeof key === 'number') return `${parent}/${String(key)}`;
  const cut = key.length > HTTP_LIMITS.pointerKeyCharacters ? key.slice(0, HTTP_LIMITS.pointerKeyCharacters) : key;
  return `${parent}/${cut.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Index of the quote that closes the string opened at `start`, or the end of the input. */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/** The index after the number or word that begins at `start`. */
export function endOfToken(text: string, start: number): number {
  let at = start;
  while (at < text.length && isTokenPart(text.charCodeAt(at))) at += 1;
  return at;
}

/** Letters, digits, `+`, `-`, `.`. */
function isTokenPart(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x2e
  );
}

interface Frame {
  readonly keys: Set<string> | null;
  readonly pointer: string;
  /** The key or index that is being read. */
  at: string | number;
}

/** The pointer to the first repeated key, in a text that is known to be JSON and to have one. */
export function findDuplicate(text: string): string {
  return walk(text, (frame, key) => {
    if (key === null) return false;
    if (frame.keys?.has(key) === true) return true;
    frame.keys?.add(key);
    return false;
  });
}

/** The pointer to the value at an offset, in a text that is known to be JSON. */
export function placeAt(text: string, offset: number): string {
  return walk(text, (_, __, at) => at >= offset);
}

/** Called for each place on the walk. `key` is given when its colon is read. */
type IsWanted = (frame: Frame, key: string | null, at: number) => boolean;

function walk(text: string, isWanted: IsWanted): string {
  const stack: Frame[] = [];
  let lastString = '';
  for (let i = 0; i < text.length; i += 1) {
    const frame = stack.at(-1);
    const code = text.charCodeAt(i);
    if (frame !== undefined && code !== COLON && isWanted(frame, null, i)) return pointerTo(frame.pointer, frame.at);
    if (code === QUOTE) {
      const end = endOfString(text, i);
      lastString = text.slice(i, end + 1);
      i = end;
    } else if (code === COLON && frame?.keys) {
      // Keys are compared decoded, so `"type"` and `"t\u0079pe"` are one.
      frame.at = lastString.includes('\\') ? String(JSON.parse(lastString)) : lastString.slice(1, -1);
      if (isWanted(frame, frame.at, i)) return pointerTo(frame.pointer, frame.at);
    } else if (code === COMMA && typeof frame?.at === 'number') frame.at += 1;
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      const pointer = frame === undefined ? '' : pointerTo(frame.pointer, frame.at);
      stack.push(code === OPEN_OBJECT ? { keys: new Set(), pointer, at: '' } : { keys: null, pointer, at: 0 });
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) stack.pop();
  }
  return '';
}

/** The first thing that is wrong in a text that is not JSON, and where. Quotes nothing of the text. */
export function firstError(text: string, whole: 'document' | 'line'): string {
  const { at, expected } = new Reader(text).read();
  if (text.trim() === '') return 'it is empty';
  const place = whole === 'line' ? `at column ${String(at + 1)}` : placeText(text, at);
  if (at >= text.length) return `it ends too early, ${place}: ${expected} is missing`;
  return `${expected} is expected ${place}`;
}

function placeText(text: string, offset: number): string {
  let [line, begin] = [1, 0];
  for (let at = 0; at < offset; at += 1) {
    if (text.charCodeAt(at) !== LINE_FEED) continue;
    line += 1;
    begin = at + 1;
  }
  return `at line ${String(line)}, column ${String(offset - begin + 1)}`;
}

/** Space, tab, carriage return, line feed. */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d || code === LINE_FEED;
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const WORDS: ReadonlySet<string> = new Set(['true', 'false', 'null']);
/** A control character, or an escape that JSON does not have. */
const BAD_STRING = /[^ -\uffff]|\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/;

interface Stop {
  readonly at: number;
  readonly expected: string;
}

/** Parses JSON with a stack of its own and stops at the first thing that does not belong. */
class Reader {
  readonly #text: string;
  readonly #open: ('{' | '[')[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Stop {
    let due: 'value' | 'value or ]' | 'key' | 'key or }' | 'next' = 'value';
    for (;;) {
      this.#skipBlanks();
      const here = this.#text[this.#at];
      if (due === 'next') {
        const top = this.#open.at(-1);
        if (top === undefined) return this.#stop('the end');
        const close = top === '{' ? '}' : ']';
        if (here === ',') due = top === '{' ? 'key' : 'value';
        else if (here === close) this.#open.pop();
        else return this.#stop(`a comma or \`${close}\``);
        this.#at += 1;
      } else if (due === 'key' || due === 'key or }') {
        if (here === '}' && due === 'key or }') {
          this.#open.pop();
          this.#at += 1;
          due = 'next';
          continue;
        }
        const fault = this.#string();
        if (fault !== null)
          return here === '"'
            ? fault
            : this.#stop(due === 'key' ? 'a key in double quotes' : 'a key in double quotes, or `}`,');
        this.#skipBlanks();
        if (this.#text[this.#at] !== ':') return this.#stop('a colon');
        this.#at += 1;
        due = 'value';
      } else if (here === ']' && due === 'value or ]') {
        this.#open.pop();
        this.#at += 1;
        due = 'next';
      } else if (here === '{' || here === '[') {
        this.#open.push(here);
        this.#at += 1;
        due = here === '{' ? 'key or }' : 'value or ]';
      } else {
        const fault = here === '"' ? this.#string() : this.#word();
        if (fault !== null) return fault;
        due = 'next';
      }
    }
  }

  #stop(expected: string): Stop {
    return { at: this.#at, expected };
  }

  #skipBlanks(): void {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #string(): Stop | null {
    if (this.#text[this.#at] !== '"') return this.#stop('a string');
    const end = endOfString(this.#text, this.#at);
    const bad = BAD_STRING.exec(this.#text.slice(this.#at + 1, end));
    if (bad !== null) return { at: this.#at + 1 + bad.index, expected: 'an escape, or a character that needs none,' };
    if (end >= this.#text.length) return { at: end, expected: 'the double quote that closes a string' };
    this.#at = end + 1;
    return null;
  }

  #word(): Stop | null {
    const end = endOfToken(this.#text, this.#at);
    const word = this.#text.slice(this.#at, end);
    if (!WORDS.has(word) && !NUMBER.test(word)) return this.#stop('a value');
    this.#at = end;
    return null;
  }
}
