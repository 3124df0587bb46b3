// Credentials where they do not belong: in a path, a header that is logged, the name of a property. Whatever is written
// for others to read goes through this, so that it never matters where a client put its key.

/** These characters, each as it is or percent-encoded, once or several times. */
function spelt(text: string): string {
  const ways = Array.from(text, (one) => `(?:[${one}]|%(?:25)*${one.charCodeAt(0).toString(16)})`);
  return ways.join('');
}

/** Our keys, and signed tokens (JWT). */
const CREDENTIALS = new RegExp(
  `${spelt('bwk_')}[\\w%.~-]{8,}|${spelt('eyJ')}[\\w%-]{8,}(?:${spelt('.')}[\\w%-]*)+`,
  'gi',
);

const MASK = '[credential]';

/** The text without credentials. In JSON text it leaves JSON text. */
export function maskCredentials(text: string): string {
  // Almost no text has any.
  return holdsCredential(text) ? text.replace(CREDENTIALS, MASK) : text;
}

export function holdsCredential(text: string): boolean {
  return text.search(CREDENTIALS) >= 0;
}
