// `bailiwick policy-at <instant>`: which policy was in force then, by what the audit log says.
import type { Command } from 'commander';
import type { InForce } from '../../audit/in-force.js';
import { EXIT } from '../exit-codes.js';
import { addReport, CliFailure } from '../failure.js';
import { type CliIo, write, writeJson } from '../io.js';
import { type Format, formatOption, instantOption, withExamples, withJson, withSettings } from '../options.js';

interface PolicyAtOptions {
  readonly log?: string;
  readonly config?: string;
  readonly dataDir?: string;
  readonly format: Format;
}

export function definePolicyAt(command: Command, io: CliIo): void {
  command
    .argument('<instant>', 'time to ask about, as RFC 3339')
    .option('--log <folder>', 'folder of the audit log (default: the one of the settings)')
    .addOption(formatOption())
    .action((instant: string, options: PolicyAtOptions) => policyAt(io, instant, options));
  withSettings(command, ['config', 'dataDir']);
  withExamples(command, [
    ['the policy of last new year, and who stood behind it', 'bailiwick policy-at 2027-01-01T00:00:00Z'],
    [
      'its commits, if the policy is in git',
      `bailiwick find $(bailiwick policy-at 2027-01-01T00:00:00Z --format json | jq -r '.logs[0].snapshot') main:policies`,
    ],
  ]);
  withJson(command, [
    '{"at","logs":[{"log","snapshot","since","until","seq","operation","policy"?,"firstSeq","lastEvent","verifies"}]}',
    'One for each log. `snapshot` is null if nothing was in force, or nothing is known of it; `until` is null to the end of the log.',
    '`policy` says where it came from and who stood behind it, as in the event `seq` of the log.',
  ]);
}

async function policyAt(io: CliIo, text: string, flags: PolicyAtOptions): Promise<void> {
  const [{ policiesInForce }, { formatInstant }, { folderOf, malformedLines }, render] = await Promise.all([
    import('../../audit/in-force.js'),
    import('../../../engine/index.js'),
    import('../audit-log.js'),
    import('../render/in-force.js'),
  ]);
  const at = await instantOption(text, '<instant>');
  const { logs, malformed } = await policiesInForce(await folderOf(io, flags.log, { flags }), at);
  if (logs.length === 0)
    throw new CliFailure(
      EXIT.integrity,
      { code: 'audit.absent', message: 'the audit log has no event' },
      { help: 'name its folder with `--log`' },
    );
  const report = { at: formatInstant(at), logs: logs.map(render.inForceJson) };
  const failure = malformed > 0 ? malformedLines(malformed) : notIntact(logs);
  if (flags.format === 'text') await write(io.stdout, logs.map((one) => render.inForceText(one, at)).join(''));
  else if (failure === null) await writeJson(io, report);
  if (failure !== null) throw addReport(failure, report);
}

function notIntact(logs: readonly InForce[]): CliFailure | null {
  const damaged = logs.filter(({ fault }) => fault !== null).map(({ log }) => log);
  if (damaged.length === 0) return null;
  const message = `the event of ${damaged.join(', ')} that says this does not verify`;
  return new CliFailure(EXIT.integrity, { code: 'audit.faults', message }, { help: 'run `bailiwick audit verify`' });
}
