// Which statements a connection has the server read and plan once: those that come again and again. A statement's text holds no
// value of a request, so that few texts do the work of all; what a plan takes in the server, up to half a megabyte on each
// connection, bounds how many there may be.

export type StatementNames = (text: string) => string | null;

const PREPARED = 64;
const WATCHED = 256;
const TIMES = 3;

/**
 * Names for one store: from the third time that a text is seen lately on, as long as there are names. A name never passes to another
 * text, as a connection knows by it what it has prepared.
 */
export function makeStatementNames(): StatementNames {
  const names = new Map<string, string>();
  const seen = new Map<string, number>();
  return (text) => {
    const name = names.get(text);
    if (name !== undefined || names.size === PREPARED) return name ?? null;
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
    return given;
  };
}
