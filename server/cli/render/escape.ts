// Text that came from outside (file names, policy text, command line) must not be able to steer a terminal or to look like
// a line of ours: control characters, terminal escapes and marks that reorder text are shown as escapes.

// Control, format (bidirectional and zero-width marks, byte order mark, tags), line and paragraph separator, half of a pair.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const NAMED: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** One printable line. Characters that a terminal could obey are written as `\n`, `\x1b` or `\u{202e}`. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const named = NAMED.get(character);
  if (named !== undefined) return named;
  const point = character.codePointAt(0) ?? 0;
  return point < 0x100 ? `\\x${point.toString(16).padStart(2, '0')}` : `\\u{${point.toString(16)}}`;
}

/** JSON text in which such characters stand as JSON escapes; it parses to the same value. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE, (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
