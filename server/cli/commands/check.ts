// `bailiwick check <dir>`: everything that `compile` would refuse, and nothing written.
import type { Command } from 'commander';
import { type CliIo, write, writeJson } from '../io.js';
import { type Format, formatOption, withExamples } from '../options.js';

export function registerCheck(program: Command, io: CliIo): void {
  const command = program
    .command('check')
    .description('read a policy folder, run its tests and guardrails; write nothing')
    .argument('<dir>', 'policy folder')
    .addOption(formatOption())
    .action((dir: string, options: { format: Format }) => check(io, dir, options.format));
  withExamples(command, [
    ['every mistake at once, with its place', 'bailiwick check policies'],
    ['for a script', "bailiwick check policies --format json | jq -r '.diagnostics[].code'"],
  ]);
}

async function check(io: CliIo, dir: string, format: Format): Promise<void> {
  const [{ checkVisibly }, { renderCheck, toJson }, { paintFor }] = await Promise.all([
    import('../check-visibly.js'),
    import('../render/report.js'),
    import('../render/palette.js'),
  ]);
  const report = await checkVisibly(io, dir);
  io.setStatus(report.status);
  if (format === 'json') await writeJson(io, toJson(report));
  else await write(io.stdout, renderCheck(report, paintFor(io, 'stdout')));
}
