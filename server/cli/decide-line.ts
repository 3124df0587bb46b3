// Reads one line of `decide` into a question (docs/cli.md "Requests for decide"). The engine judges whether texts are
// paths or scopes, so that a bad one is denied with its step. A line that is no question at all is an error of the
// line.
import { isUtf8 } from 'node:buffer';
import { type Instant, parseInstant, type ScopeName, SCOPES } from '../../engine/index.js';
import { isObject } from '../json/strict-json.js';
import { fields, type Question, QuestionFault, readQuestion } from '../asking/decide-question.js';
import { parseStrictJson } from '../json/strict-json.js';
import { CLI_LIMITS } from '../limits/command-line.js';

export type LineId = string | number | null;

export interface LineError {
  readonly code: string;
  readonly message: string;
}

export type DecideLine =
  | (Question & { readonly ok: true; readonly id: LineId; readonly at: Instant | null })
  | { readonly ok: false; readonly id: LineId; readonly error: LineError };

/**
 * Paths and scopes, which are decided on whatever they hold. `canonicalize` is total (docs/meaning.md "Namespaces"): a
 * path that it refuses is denied at step 1, and an unknown scope is denied at its own step. An invalid identity or id
 * makes the line malformed.
 */
const JUDGED_TEXTS =
  /^\/request\/(?:scope|context|target|namespace|source|destination)$|^\/actor\/namespaceRestrictions\/\d+$/;

/** `at` is null if the line names none. */
/** `scopes` are those that the policy knows. */
export function parseDecideLine(bytes: Uint8Array, scopes: readonly ScopeName[] = SCOPES): DecideLine {
  const mayHoldAnyText = (pointer: string): boolean => JUDGED_TEXTS.test(pointer);
  const parsed = parseStrictJson(bytes, { depth: CLI_LIMITS.requestDepth, isLine: true, mayHoldAnyText });
  if (!parsed.ok) {
    const { code, message, pointer } = parsed.fault;
    return {
      ok: false,
      id: refusedId(bytes, pointer),
      error: { code, message: pointer === '' ? message : `${pointer}: ${message}` },
    };
  }
  const id = idOf(parsed.value);
  try {
    return { ok: true, id, ...decodeLine(parsed.value, scopes) };
  } catch (error) {
    if (!(error instanceof QuestionFault)) throw error;
    const where = error.pointer === '' ? 'the line' : `\`${error.pointer}\``;
    return { ok: false, id, error: { code: 'request.schema', message: `${where} ${error.message}` } };
  }
}

function idOf(value: unknown): LineId {
  if (!isObject(value) || !Object.hasOwn(value, 'id')) return null;
  const { id } = value;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** The id of a line that is refused for another reason, so that its answer can be recognized. */
function refusedId(bytes: Uint8Array, pointer: string): LineId {
  if (pointer === '/id') return null;
  const id = idOf(parseLoosely(bytes));
  // An id that would itself be refused, or that contained bytes that are not UTF-8, is not the id that was sent.
  if (id === null || (typeof id === 'string' && id.includes('\ufffd') && !isUtf8(bytes))) return null;
  // A larger number may have been a different one as it was written.
  if (typeof id === 'number' && Number.isInteger(id) && !Number.isSafeInteger(id)) return null;
  return parseStrictJson(JSON.stringify(id), { depth: 1 }).ok ? id : null;
}

function parseLoosely(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

function decodeLine(value: unknown, scopes: readonly ScopeName[]): Question & { readonly at: Instant | null } {
  const line = fields(value, '', ['id', 'actor', 'request', 'at']);
  const { id, at } = line;
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number')
    throw new QuestionFault('/id', 'must be a string');
  return {
    ...readQuestion(line, scopes),
    at: at === undefined ? null : decodeInstant(at),
  };
}

function decodeInstant(value: unknown): Instant {
  const instant = parseInstant(value);
  if (instant === null)
    throw new QuestionFault('/at', 'must be an RFC 3339 instant with offset, such as `2027-01-01T00:00:00Z`');
  return instant;
}
