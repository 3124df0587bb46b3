// One line of `bailiwick decide` and its answer (docs/cli.md "Requests for decide"). The engine judges whether texts are paths or scopes, so
// that a bad one is denied with its step. A line that is no question at all is an error of the line. The command line and the pages share this.
import {
  decideRaw,
  type Decision,
  type Instant,
  parseInstant,
  type Policy,
  type ScopeName,
  SCOPES,
  type Step,
} from '../../engine/index.js';
import { isObject, type JsonFault, parseStrictJson } from '../json/strict-json.js';
import { CLI_LIMITS } from '../limits/command-line.js';
import { fields, type Question, QuestionFault, readQuestion } from './decide-question.js';

/** As it is printed, key by key. */
export type LineAnswer = { readonly id: LineId } & (
  | { readonly decision: 'allow'; readonly grants: readonly string[] }
  | {
      readonly decision: 'deny';
      readonly step: Step;
      readonly cause?: Step;
      readonly identities?: readonly string[];
    }
  | { readonly error: LineError }
);

/** `text` is null for a line over the limit; `at` is the time of a line that names none. */
export function answerLine(policy: Policy, text: string | Uint8Array | null, at: Instant): LineAnswer {
  if (text === null) return { id: null, error: { code: 'request.too_large', message: 'the line is too long' } };
  const line = parseDecideLine(text, policy.scopes);
  if (!line.ok) return { id: line.id, error: line.error };
  return {
    id: line.id,
    ...toAnswer(decideRaw(policy, { actor: line.actor, request: line.request, at: line.at ?? at })),
  };
}

function toAnswer(
  decision: Decision,
): { decision: 'allow'; grants: readonly string[] } | Extract<Decision, { readonly decision: 'deny' }> {
  if (decision.decision === 'allow') return { decision: 'allow', grants: decision.grants.map((grant) => grant.id) };
  return decision;
}

type LineId = string | number | null;

interface LineError {
  readonly code: string;
  readonly message: string;
}

type DecideLine =
  | (Question & { readonly ok: true; readonly id: LineId; readonly at: Instant | null })
  | { readonly ok: false; readonly id: LineId; readonly error: LineError };

/**
 * Paths and scopes, which are decided on whatever they hold. `canonicalize` is total (docs/meaning.md "Namespaces"): a
 * path that it refuses is denied at step 1, and an unknown scope is denied at its own step. An invalid identity or id
 * makes the line malformed.
 */
const JUDGED_TEXTS =
  /^\/request\/(?:scope|context|target|namespace|source|destination)$|^\/actor\/namespaceRestrictions\/\d+$/;

/** `at` is null if the line names none; `scopes` are those that the policy knows. */
export function parseDecideLine(text: string | Uint8Array, scopes: readonly ScopeName[] = SCOPES): DecideLine {
  const mayHoldAnyText = (pointer: string): boolean => JUDGED_TEXTS.test(pointer);
  const parsed = parseStrictJson(text, { depth: CLI_LIMITS.requestDepth, isLine: true, mayHoldAnyText });
  if (!parsed.ok) {
    const { code, message, pointer } = parsed.fault;
    return {
      ok: false,
      id: refusedId(text, parsed.fault),
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
function refusedId(text: string | Uint8Array, { code, pointer }: JsonFault): LineId {
  if (pointer === '/id') return null;
  const id = idOf(parseLoosely(text));
  // An id that would itself be refused, or that contained bytes that are not UTF-8, is not the id that was sent.
  const isUtf8 = code !== 'request.invalid_unicode' || pointer !== '';
  if (id === null || (typeof id === 'string' && id.includes('\ufffd') && !isUtf8)) return null;
  // A larger number may have been a different one as it was written.
  if (typeof id === 'number' && Number.isInteger(id) && !Number.isSafeInteger(id)) return null;
  return parseStrictJson(JSON.stringify(id), { depth: 1 }).ok ? id : null;
}

function parseLoosely(text: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof text === 'string' ? text : new TextDecoder('utf-8', { ignoreBOM: true }).decode(text));
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
