// `bailiwick decide <policy>`: requests in, one a line; decisions out, one a line, in the same order (docs/cli.md "Requests
// for decide"). The engine judges whether texts are paths or scopes, so that a bad one is denied with its step. A line
// that is no question at all is an error of the line.
import { isUtf8 } from 'node:buffer';
import type { Command } from 'commander';
import {
  decideRaw,
  type Decision,
  type Instant,
  parseInstant,
  type Policy,
  type ScopeName,
  SCOPES,
  type Step,
} from '../../../engine/index.js';
import { fields, type Question, QuestionFault, readQuestion } from '../../asking/decide-question.js';
import { isBlank, isObject, parseStrictJson } from '../../json/strict-json.js';
import { CLI_LIMITS } from '../../limits/command-line.js';
import { EXIT, usage } from '../exit.js';
import { openInput, readLines } from '../files.js';
import { type CliIo, isClosed, write } from '../io.js';
import { openToAsk } from '../open-policy.js';
import { type Format, formatOption, instantOption, withExamples } from '../options.js';
import { escapeJson, escapeText } from '../render/escape.js';

interface DecideOptions {
  readonly requests: string;
  readonly at?: string;
  readonly format: Format;
}

export function defineDecide(command: Command, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder, snapshot file, or `<revision>:<path>` in git')
    .option('--requests <file>', 'file of requests; `-` is stdin', '-')
    .option('--at <instant>', 'time for requests without `at`, as RFC 3339 (default: now)')
    .addOption(formatOption().default('json'))
    .action((policy: string, options: DecideOptions) => decide(io, policy, options));
  withExamples(command, [
    [
      'one request',
      `echo '{"id":"r1","actor":{"identities":["orcid:0000-0002-1825-0097"]},"request":{"kind":"access","scope":"resource:read","target":"/beamlines/amx"}}' | bailiwick decide policies`,
    ],
    [
      'many requests, as they were decided at a given time',
      'bailiwick decide snapshot.json --requests requests.jsonl --at 2027-01-01T00:00:00Z',
    ],
    [
      'what was denied, and why',
      'bailiwick decide snapshot.json --requests requests.jsonl | jq \'select(.decision == "deny")\'',
    ],
  ]);
}

async function decide(io: CliIo, policyPath: string, options: DecideOptions): Promise<void> {
  if (policyPath === '-' && options.requests === '-') {
    throw usage('policy and requests cannot both come from stdin', 'name a file with `--requests`');
  }
  const at = await instantOption(options.at);
  const { policy } = await openToAsk(io, policyPath);
  const input = await openInput(io, options.requests);
  if (options.requests === '-' && io.isTerminal.stdin)
    await write(io.stderr, 'reading requests, one a line; end with Ctrl-D\n');
  for await (const lines of readLines(input, CLI_LIMITS.requestBytes)) {
    const answers = lines
      .filter(({ bytes }) => bytes === null || !isBlank(bytes))
      .map(({ bytes }) => answerLine(policy, bytes, at));
    if (answers.some((answer) => 'error' in answer)) io.setStatus(EXIT.usage);
    await write(io.stdout, answers.map((answer) => renderAnswer(answer, options.format)).join(''));
    // The reader went away (`| head`), so no more requests are decided.
    if (isClosed(io.stdout)) break;
  }
}

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

/** `bytes` is null for a line over the limit; `at` is the time of a line that names none. */
export function answerLine(policy: Policy, bytes: Uint8Array | null, at: Instant): LineAnswer {
  if (bytes === null) return { id: null, error: { code: 'request.too_large', message: 'the line is too long' } };
  const line = parseDecideLine(bytes, policy.scopes);
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

function renderAnswer(answer: LineAnswer, format: Format): string {
  return format === 'json'
    ? `${escapeJson(JSON.stringify(answer))}\n`
    : `${escapeText(String(answer.id ?? '-'))} ${textOf(answer)}\n`;
}

function textOf(answer: LineAnswer): string {
  if ('error' in answer) return `error ${answer.error.code} ${escapeText(answer.error.message)}`;
  if (answer.decision === 'allow')
    return answer.grants.length === 0 ? 'allow' : `allow ${answer.grants.map(escapeText).join(',')}`;
  const more = answer.cause ?? answer.identities?.map(escapeText).join(',');
  return `deny ${answer.step}${more === undefined ? '' : ` ${more}`}`;
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
