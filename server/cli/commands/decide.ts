// `bailiwick decide <policy>`: requests in, one a line; decisions out, one a line, in the same order (docs/cli.md "Requests
// for decide").
import { answerLine, type LineAnswer } from '../../asking/decide-line.js';
import { isBlank } from '../../json/strict-json.js';
import { CLI_LIMITS } from '../../limits/command-line.js';
import { EXIT, usage } from '../exit.js';
import { openInput, readLines } from '../files.js';
import { type CliIo, isClosed, write } from '../io.js';
import { openToAsk } from '../open-policy.js';
import { type Format, formats, instantOption } from '../options.js';
import { escapeJson, escapeText } from '../render/escape.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '--requests <file>': { about: 'file of requests; `-` is stdin', usual: '-' },
  '--at <instant>': 'time for requests without `at`, as RFC 3339 (default: now)',
  '--format <format>': { ...formats()['--format <format>'], usual: 'json' },
});

export const defineDecide = verb(TAKES, decide, {
  examples: {
    'one request': `echo '{"id":"r1","actor":{"identities":["orcid:0000-0002-1825-0097"]},"request":{"kind":"access","scope":"resource:read","target":"/beamlines/amx"}}' | bailiwick decide policies`,
    'many requests, as they were decided at a given time':
      'bailiwick decide snapshot.json --requests requests.jsonl --at 2027-01-01T00:00:00Z',
    'what was denied, and why':
      'bailiwick decide snapshot.json --requests requests.jsonl | jq \'select(.decision == "deny")\'',
  },
});

async function decide(io: CliIo, { policy: path, ...options }: Given<typeof TAKES>): Promise<void> {
  if (path === '-' && options.requests === '-') {
    throw usage('policy and requests cannot both come from stdin', 'name a file with `--requests`');
  }
  const at = instantOption(options.at);
  const { policy } = await openToAsk(io, path);
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
