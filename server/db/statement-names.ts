// Which statements a connection has the server read and plan once: those that come again and again. A statement's text holds no
// value of a request, so that few texts do the work of all. What a plan takes in the server follows from the length of its text,
// about 200 bytes a character on each connection, so their length together is what is bounded, for the names that are given and
// on each connection for itself: whatever was longest unused goes first, so none is kept from one that comes by others that came.
import { makeRecent } from '../recent.js';

export interface NamedText {
  readonly name: string;
  /** As the server reads it, with `$1`, `$2`, …. */
  readonly text: string;
}

export type StatementNames = (text: string) => NamedText | null;

/** Characters of all texts that have a name, and of all that a connection has prepared; and of one. */
const PREPARED = 160_000;
const LONGEST = 40_000;
const WATCHED = 256;
const TIMES = 3;

/**
 * Names for one store: from the third time that a text is seen lately on. A name never passes to another text, as a connection
 * knows by it what it has prepared.
 */
export function makeStatementNames(): StatementNames {
  const names = makeRecent<NamedText>(PREPARED);
  const seen = makeRecent<number>(Infinity, WATCHED);
  let given = 0;
  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    if (text.length > LONGEST) return null;
    const times = (seen.get(text) ?? 0) + 1;
    seen.put(text, times % TIMES, 0);
    if (times < TIMES) return null;
    given += 1;
    const named = { name: `bailiwick ${String(given)}`, text: numberPlaceholders(text) };
    names.put(text, named, text.length);
    return named;
  };
}

/** `$1`, `$2`, … for the question marks, as knex does it: one behind a backslash is an operator's. */
function numberPlaceholders(text: string): string {
  let count = 0;
  return text.replaceAll(/\\?\?/g, (mark) => (mark === '?' ? `$${String((count += 1))}` : '?'));
}

/** What a connection has prepared: told of a statement that is about to run, it gives the names of those to close for it. */
export type PreparedNames = (statement: NamedText) => readonly string[];

export function makePreparedNames(): PreparedNames {
  const names = makeRecent<null>(PREPARED);
  return ({ name, text }) => (names.get(name) === undefined ? names.put(name, null, text.length) : []);
}
