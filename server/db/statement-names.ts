// Which statements a connection has the server read and plan once: those that come again and again. A statement's text holds no
// value of a request, so that few texts do the work of all. What a plan takes in the server follows from the length of its text,
// about 200 bytes a character on each connection, so their length together is what is bounded.

export type StatementNames = (text: string) => string | null;

/** Characters of all texts that have a name, and of one. */
const PREPARED = 160_000;
const LONGEST = 16_000;
const WATCHED = 256;
const TIMES = 3;

/**
 * Names for one store: from the third time that a text is seen lately on, as long as there are names. A name never passes to another
 * text, as a connection knows by it what it has prepared.
 */
export function makeStatementNames(): StatementNames {
  const names = new Map<string, string>();
  const seen = new Map<string, number>();
  let characters = 0;
  return (text) => {
    const name = names.get(text);
    if (name !== undefined) return name;
    if (text.length > LONGEST || characters + text.length > PREPARED) return null;
    const times = (seen.get(text) ?? 0) + 1;
    // Put last, so that the map's order is that of the last use.
    seen.delete(text);
    if (times < TIMES) {
      seen.set(text, times);
      const [oldest] = seen.keys();
      if (seen.size > WATCHED && oldest !== undefined) seen.delete(oldest);
      return null;
    }
    const given = `bailiwick ${String(names.size)}`;
    names.set(text, given);
    characters += text.length;
    return given;
  };
}
