// `bailiwick decide <policy>`: requests in, one a line; decisions out, one a line, in the same order (docs/cli.md "Requests
// for decide").
import type { Command } from 'commander';
import { type Decision, decideRaw, type Instant, type Policy, type Step } from '../../../engine/index.js';
import { type LineError, type LineId, parseDecideLine } from '../decide-line.js';
import { EXIT } from '../exit-codes.js';
import { usage } from '../failure.js';
import { type CliIo, isClosed, write } from '../io.js';
import { type Format, formatOption, instantOption, withExamples } from '../options.js';
import { escapeJson, escapeText } from '../render/escape.js';
import { CLI_LIMITS } from '../../limits/command-line.js';

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
  const [{ openToAsk }, { openInput, readLines }, { isBlank }] = await Promise.all([
    import('../open-policy.js'),
    import('../files.js'),
    import('../../json/strict-json.js'),
  ]);
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

export function renderAnswer(answer: LineAnswer, format: Format): string {
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
