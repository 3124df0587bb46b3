// Credentials where they do not belong: in a path, a header that is logged, the name of a property. Whatever is written
// for others to read goes through this, so that it never matters where a client put its key.

/** One of these characters, as it is or percent-encoded, once or several times. */
function oneOf(characters: string): string {
  const codes = Array.from(characters, (one) => one.charCodeAt(0).toString(16));
  const coded = codes.join('|').replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  return `(?:[${characters}]|%(?:25)*(?:${coded}))`;
}

/** These characters, each in that way. */
function spelt(text: string): string {
  return Array.from(text, oneOf).join('');
}

const KEY_BEGINS = spelt('bwk_');
/** In Base64 a brace with a quote behind it; or with white space, more of it or a quote, and more of it or a letter. */
const TOKEN_BEGINS = `${oneOf('e')}(?:${oneOf('y')}${oneOf('IJKL')}|(?:${spelt('yA')}|${oneOf('w')}${oneOf('ko0')})${oneOf('giJKN')}${oneOf('CIQRSTUVWXYZabcde')})`;
const BEGINNING = new RegExp(`${KEY_BEGINS}|${TOKEN_BEGINS}`, 'i');
/** Characters that a credential may have, as many as the shortest has. */
const RUN = /[\w%.~-]{11,}/g;
const KEY = new RegExp(`${KEY_BEGINS}[\\w%.~-]{8}`, 'i');
const TOKEN = new RegExp(TOKEN_BEGINS, 'g');
/** Between the parts of a signed token (JWT). */
const DOT = new RegExp(spelt('.'), 'gi');
/** Characters that the first part of a token has at least, behind its beginning. */
const HEADER = 8;

const MASK = '[credential]';

/** The text without credentials. In JSON text it leaves JSON text. Takes a time in proportion to the text, whatever that is. */
export function maskCredentials(text: string): string {
  // Almost no text has any.
  if (!BEGINNING.test(text)) return text;
  return text.replace(RUN, (run) => {
    const start = startIn(run);
    return start < 0 ? run : run.slice(0, start) + MASK;
  });
}

export function holdsCredential(text: string): boolean {
  return maskCredentials(text) !== text;
}

/** Where the first credential begins, or -1. What follows in the run belongs to it. */
function startIn(run: string): number {
  const key = run.search(KEY);
  const token = tokenIn(run);
  return key < 0 || (token >= 0 && token < key) ? token : key;
}

/** If a beginning is too near to the dot behind it, so are all before that dot. */
function tokenIn(run: string): number {
  for (TOKEN.lastIndex = 0; ;) {
    const start = TOKEN.exec(run);
    if (start === null) return -1;
    DOT.lastIndex = TOKEN.lastIndex;
    const dot = DOT.exec(run);
    if (dot === null) return -1;
    if (dot.index - TOKEN.lastIndex >= HEADER) return start.index;
    TOKEN.lastIndex = DOT.lastIndex;
  }
}
