// How messages tell an author to quote a text. What they show can be put into the file as it stands.

/** Longer texts are not repeated in a message. */
const LONGEST = 200;

/** The text in quotes. */
export function quoted(text: string): string {
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}

/** `write "…"`, or the same without the text if that is long. */
export function quoteIt(text: string, long = 'put the whole text in quotes'): string {
  return text.length > LONGEST ? long : `write \`${quoted(text)}\``;
}

/** `write …`, or `instead` if the text is too long to be repeated. */
export function writeIt(text: string, instead: string): string {
  return text.length > LONGEST ? instead : `write \`${text}\``;
}
