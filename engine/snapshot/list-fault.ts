// Whether a file can be parsed at all, seen from its bytes. Parsing makes all that a file has, before anybody can compare
// that with a limit, and a list of more entries than V8 has room for, or an object of more names, ends the process.
import type { EngineLimits } from '../limits.js';

interface ListFault {
  readonly code: 'snapshot.limit' | 'snapshot.shape';
  readonly message: string;
}

type Most = (limits: EngineLimits) => number;

/**
 * How many entries the lists of a part of the file have at most. There is no file, identity or segment that nothing names. `own` is a list
 * of its own in `families.sets`.
 */
const MOST: ReadonlyMap<string, Most> = new Map<string, Most>([
  ['exclusive', ({ exclusive }) => exclusive],
  ['families', ({ grants, scopes }) => grants + scopes],
  ['files', ({ grants, members, roles }) => grants + members + roles],
  ['grants', ({ grants }) => grants],
  // Groups of providers are counted by themselves.
  ['identities', ({ exclusive, grants, members, providers }) => 2 * exclusive + grants + members + 2 * providers],
  ['members', ({ members, roles }) => members + roles],
  ['namespaces', ({ namespaces }) => namespaces],
  ['own', ({ grants, scopes }) => grants * scopes],
  ['providers', ({ providers }) => 2 * providers],
  ['roles', ({ roles }) => roles],
  ['segments', ({ namespaces }) => namespaces],
]);

/** The lists of texts, whose entries take the most memory: grants have ids and reasons, roles have names and descriptions. */
const TEXTS = 'families families families files grants grants identities providers roles roles segments'.split(' ');

/** Far more names of fields, and lists, than a format has. Objects inside one another are no more than these. */
const MOST_NAMES = 1_000;

/** Bytes of a name that are looked at. None in the table has as many. */
const NAME_BYTES = 16;

const [QUOTE, COMMA, NINE, COLON, BACKSLASH] = [0x22, 0x2c, 0x39, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Says nothing of what is no JSON. In lists there are texts and integers alone, written without an exponent. */
export function listFault(body: Uint8Array, limits: EngineLimits): ListFault | null {
  const mostTexts = TEXTS.reduce((sum, list) => sum + mostIn(list, limits), 0);
  let [depth, names, lists, texts, entries, most] = [0, 0, 0, 0, 0, 0];
  // Where the last text outside of lists stands, which is the name of what comes next.
  let [start, end] = [0, 0];
  let part = '';
  let isList = false;
  for (let i = 0; i < body.length; i += 1) {
    const byte = body[i] ?? 0;
    if (byte === QUOTE) {
      const close = endOfText(body, i);
      if (!isList) [start, end] = [i + 1, close];
      else texts += 1;
      if (texts > mostTexts) return tooMany(`more than ${String(mostTexts)} texts in its lists`);
      i = close;
    } else if (byte === COMMA) {
      entries += 1;
      if (isList && entries > most) return tooMany(`more than ${String(most)} entries in a list${placeOf(part)}`);
    } else if (byte > NINE) {
      if (isList && byte !== CLOSE_LIST) return OTHER;
      isList = byte === OPEN_LIST;
      if (isList) {
        lists += 1;
        if (lists > MOST_NAMES) return OTHER;
        entries = 1;
        const name = nameAt(body, start, end);
        most = mostIn(MOST.has(name) ? name : part, limits);
      } else if (byte === COLON) {
        names += 1;
        if (names > MOST_NAMES) return OTHER;
        if (depth === 1) part = nameAt(body, start, end);
      } else if (byte === OPEN_OBJECT) depth += 1;
      else if (byte === CLOSE_OBJECT) depth -= 1;
    }
  }
  return null;
}

/** In a part that no format has yet, as many as there may be grants: a format to come is refused for its number. */
function mostIn(part: string, limits: EngineLimits): number {
  return MOST.get(part)?.(limits) ?? limits.grants;
}

const OTHER: ListFault = Object.freeze({
  code: 'snapshot.shape',
  message:
    'the file does not have the fields of its format: it has too many, or other lists than of texts and integers',
});

function tooMany(what: string): ListFault {
  return { code: 'snapshot.limit', message: `the file has ${what}, which no policy within the limits has` };
}

/** Names that no format has are not shown. */
function placeOf(part: string): string {
  return MOST.has(part) ? ` of \`${part}\`` : '';
}

/** The place of the quote that ends it; the length or more if none does. */
function endOfText(body: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < body.length && body[i] !== QUOTE) i += body[i] === BACKSLASH ? 2 : 1;
  return i;
}

function nameAt(body: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...body.subarray(start, Math.min(end, start + NAME_BYTES)));
}
