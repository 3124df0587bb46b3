// `bailiwick config check|example`: every setting with its source, and an example file to start from.
import type { Command } from 'commander';
import type { ChosenSetting, ConfigFault, SettingFlags } from '../../config/index.js';
import type { FileFinding } from '../check-files.js';
import { CliFailure } from '../failure.js';
import { type CliIo, write, writeJson } from '../io.js';
import {
  configFailure,
  type Format,
  formatOption,
  lineOfFault,
  withExamples,
  withJson,
  withSettings,
} from '../options.js';
import { escapeText } from '../render/escape.js';

type ConfigOptions = SettingFlags & { readonly format: Format };

export function defineConfig(command: Command, io: CliIo): void {
  defineCheck(command, io);
  const example = command
    .command('example')
    .description('print a `bailiwick.yaml` with every setting, its default and what it does')
    .action(async () => write(io.stdout, (await import('../../config/example.js')).exampleConfig()));
  withExamples(example, [['a file to begin with', 'bailiwick config example > bailiwick.yaml']]);
  withExamples(command, [
    ['what a gateway would run with, and why', 'bailiwick config check'],
    ['a file to begin with', 'bailiwick config example > bailiwick.yaml'],
  ]);
}

function defineCheck(config: Command, io: CliIo): void {
  const command = config
    .command('check')
    .description(
      'read all settings and the files that they name as `serve` would; list each with its source, or every error with its place',
    )
    .addOption(formatOption())
    .action((options: ConfigOptions) => checkConfig(io, options));
  withSettings(command, ['config', 'policy', 'dataDir', 'databaseUrl', 'listen', 'adminListen', 'adminSocket']);
  withExamples(command, [
    ['what a gateway would run with, and why', 'bailiwick config check'],
    ['a file before it is deployed', 'bailiwick config check --config etc/bailiwick.yaml --format json'],
  ]);
  withJson(command, [
    '{"ok","file","settings":[{"key","value","source","place"}],"faults":[{"place","message","fix"?}],"warnings":[{"place","message","fix"}]}',
    '`source` is flag, environment, file or default; `place` is null for a default. A secret has no value, but "secret": true.',
  ]);
}

async function checkConfig(io: CliIo, options: ConfigOptions): Promise<void> {
  const [{ readConfig }, { checkFiles }] = await Promise.all([
    import('../../config/index.js'),
    import('../check-files.js'),
  ]);
  const read = await readConfig({ flags: options, env: io.env, cwd: io.cwd });
  const { file, settings } = read;
  const found = await checkFiles(read.files, Date.now());
  const faults = [...read.faults, ...found.faults.map((one) => placed(one, settings))];
  const warnings = found.warnings.map((one) => placed(one, settings));
  const report = { ok: faults.length === 0, file, settings: settings.map(settingJson), faults, warnings };
  if (options.format !== 'json') {
    for (const one of warnings) await write(io.stderr, `warning: ${escapeText(lineOfFault(one))}\n`);
  }
  if (faults.length > 0) {
    const failure = configFailure(faults);
    throw new CliFailure(failure.status, failure, { ...failure.detail, report });
  }
  if (options.format === 'json') {
    await writeJson(io, report);
    return;
  }
  const [{ renderTable }, { writtenText }] = await Promise.all([
    import('../render/text.js'),
    import('../../config/index.js'),
  ]);
  const rows = settings.map((one) => [
    one.key,
    one.isSecret ? '(secret)' : one.written === null ? '-' : escapeText(writtenText(one.written)),
    one.place === null ? 'default' : escapeText(one.place),
  ]);
  await write(io.stdout, renderTable(['SETTING', 'VALUE', 'SOURCE'], rows));
}

function placed({ key, message, fix }: FileFinding, settings: readonly ChosenSetting[]): ConfigFault {
  const place = settings.find((one) => one.key === key)?.place ?? key;
  return { place, message: `\`${key}\`: ${message}`, fix };
}

function settingJson({ key, written, isSecret, level, place }: ChosenSetting): object {
  return { key, value: written, source: level, place, ...(isSecret ? { secret: true } : {}) };
}
