// `bailiwick decide <policy>`: requests in, one a line; decisions out, one a line, in the same order (design 5.1).
import type { Command } from 'commander';
import { EXIT } from '../exit-codes.js';
import { CliFailure } from '../failure.js';
import { type CliIo, isClosed, write } from '../io.js';
import { CLI_LIMITS } from '../../limits.js';
import { type Format, formatOption, instantOption, withExamples } from '../options.js';
import { renderAnswer } from '../render/answer.js';

interface Options {
  readonly requests: string;
  readonly at?: string;
  readonly format: Format;
}

export function defineDecide(command: Command, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder or snapshot file')
    .option('--requests <file>', 'where the requests are; `-` is stdin', '-')
    .option('--at <instant>', 'the time of requests that name none, as RFC 3339 (default: now)')
    .addOption(formatOption().default('json'))
    .action((policy: string, options: Options) => decide(io, policy, options));
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

async function decide(io: CliIo, policyPath: string, options: Options): Promise<void> {
  if (policyPath === '-' && options.requests === '-') {
    throw new CliFailure(
      EXIT.usage,
      { code: 'cli.usage', message: 'policy and requests cannot both come from stdin' },
      { help: 'name a file with `--requests`' },
    );
  }
  const at = await instantOption(options.at);
  const [{ openPolicy }, { openInput, readLines }, { answerLine }, { isBlank }] = await Promise.all([
    import('../open-policy.js'),
    import('../read-lines.js'),
    import('../answer-line.js'),
    import('../../json.js'),
  ]);
  const { policy } = await openPolicy(io, policyPath);
  const input = await openInput(io, options.requests);
  if (options.requests === '-' && io.isTerminal.stdin)
    await write(io.stderr, 'reading requests, one a line; end with Ctrl-D\n');
  for await (const lines of readLines(input, CLI_LIMITS.requestBytes)) {
    const answers = lines
      .filter(({ bytes }) => bytes === null || !isBlank(bytes))
      .map(({ bytes }) => answerLine(policy, bytes, at));
    if (answers.some((answer) => 'error' in answer)) io.setStatus(EXIT.usage);
    await write(io.stdout, answers.map((answer) => renderAnswer(answer, options.format)).join(''));
    // Nobody reads any more (`| head`), so nobody asks.
    if (isClosed(io.stdout)) break;
  }
}
