// `bailiwick check <dir>`: everything `compile` does before it writes, and nothing written.
import type { Command } from 'commander';
import { type CliIo, write } from '../io.js';
import { type LintFlags, lintRequest, withLint } from '../lint-options.js';
import { type ReportFormat, reportFormatOption, withExamples } from '../options.js';

interface Options extends LintFlags {
  readonly format: ReportFormat;
}

export function defineCheck(command: Command, io: CliIo): void {
  withLint(command.argument('<dir>', 'policy folder').addOption(reportFormatOption()), 'now').action(
    (dir: string, options: Options) => check(io, dir, options),
  );
  withExamples(command, [
    ['every mistake at once, with its place', 'bailiwick check policies'],
    ['for a script', "bailiwick check policies --format json | jq -r '.diagnostics[].code'"],
    ['annotations on a pull request, and no warnings either', 'bailiwick check policies --strict --format github'],
    ['what will be over within a quarter', 'bailiwick check policies --soon 90d'],
    ['one rule of lint less', 'bailiwick check policies --level LINT_WRITE_AT_ROOT=off'],
  ]);
}

async function check(io: CliIo, dir: string, options: Options): Promise<void> {
  const { format } = options;
  const lint = await lintRequest(options, 'now');
  const [{ checkVisibly, statusOf }, { renderCheck, toJson }, { paintFor }, { writeLargeJson }] = await Promise.all([
    import('../open-policy.js'),
    import('../render/report.js'),
    import('../render/palette.js'),
    import('../write-large-json.js'),
  ]);
  const report = await checkVisibly(io, dir, { lint });
  io.setStatus(statusOf(report));
  if (format === 'json') await writeLargeJson(io, Object.entries(toJson(report)));
  else if (format === 'text') await write(io.stdout, renderCheck(report, paintFor(io, 'stdout')));
  else {
    const { renderFor } = await import('../render/report-formats.js');
    await write(io.stdout, renderFor(format, report, { io, dir }));
  }
}
