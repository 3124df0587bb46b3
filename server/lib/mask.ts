// Credentials where they do not belong: in a path, a header that is logged, the name of a property. Whatever is written
// for others to read goes through this, so that it never matters where a client put its key.

/** Our keys, and signed tokens (JWT), also with their `_` and `.` percent-encoded. */
const CREDENTIALS = /bwk(?:_|%5f)[\w%.~-]{8,}|eyJ[\w-]{8,}(?:\.|%2e)[\w-]*(?:(?:\.|%2e)[\w-]*)*/gi;

const MASK = '[credential]';

/** The text without credentials. In JSON text it leaves JSON text. */
export function maskCredentials(text: string): string {
  // Almost no text has any.
  return holdsCredential(text) ? text.replace(CREDENTIALS, MASK) : text;
}

export function holdsCredential(text: string): boolean {
  return text.search(CREDENTIALS) >= 0;
}
