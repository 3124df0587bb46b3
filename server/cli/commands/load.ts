// `bailiwick load <dataset>`: records into the store, one JSON object a line; bad lines are told and skipped, the good ones
// are in (interfaces.md, datasets).
import type { Command } from 'commander';
import type { LoadProgress, LoadReport } from '../../load/load-dataset.js';
import type { LineFault } from '../../load/record-line.js';
import type { SettingName } from '../../settings.js';
import { EXIT } from '../exit-codes.js';
import { type CliIo, write, writeJson } from '../io.js';
import { configOf, type Format, formatOption, withExamples, withSettings } from '../options.js';
import { count } from '../render/count.js';
import { escapeText } from '../render/escape.js';
import { startProgress } from '../render/progress.js';

type Options = Readonly<Partial<Record<SettingName, string>>> & { readonly replace?: true; readonly format: Format };

export function registerLoad(program: Command, io: CliIo): void {
  const command = program
    .command('load')
    .description('load records, one JSON object a line; safe to run again, and while the gateway runs')
    .argument('<dataset>', 'JSON Lines file; `-` is stdin')
    .option('--replace', 'a line whose id is stored with other content replaces it (otherwise it is a bad line)')
    .addOption(formatOption())
    .action((dataset: string, options: Options) => load(io, dataset, options));
  withSettings(command, ['config', 'dataDir', 'databaseUrl']);
  withExamples(command, [
    ['a file into the embedded store', 'bailiwick load fixtures/records.jsonl'],
    [
      'from another program, into an external PostgreSQL',
      'zcat records.jsonl.gz | DATABASE_URL=postgres://db.example.org/bailiwick bailiwick load -',
    ],
    ['one line', `echo '{"family":"resource","namespace":"/labs/optics","name":"lens"}' | bailiwick load -`],
  ]);
}

async function load(io: CliIo, dataset: string, options: Options): Promise<void> {
  const [{ openInput, readLines }, { openStore }, { loadDataset }, { LOAD_LIMITS }, { instantOf }] = await Promise.all([
    import('../read-lines.js'),
    import('../open-store.js'),
    import('../../load/load-dataset.js'),
    import('../../load/limits.js'),
    import('../../../engine/index.js'),
  ]);
  const config = await configOf(io, options);
  const input = await openInput(io, dataset);
  const started = Date.now();
  const progress = startProgress(io);
  // A batch takes as long as it takes: nobody waits for an answer.
  const db = await openStore(config, { statementTimeout: 0 });
  try {
    const report = await loadDataset(db, readLines(input, LOAD_LIMITS.lineBytes), {
      onConflict: options.replace === true ? 'replace' : 'report',
      now: instantOf(started),
      onProgress: (now) => {
        progress.update(progressText(now, Date.now() - started));
      },
      onFault: (fault) => {
        progress.done();
        io.stderr.write(faultText(dataset, fault));
      },
    });
    progress.done();
    if (report.bad > 0) io.setStatus(EXIT.usage);
    if (options.format === 'json') await writeJson(io, toJson(report));
    else await write(io.stdout, `${reportText(report)}\n`);
  } finally {
    progress.done();
    input.destroy();
    await db.close();
  }
}

function progressText(progress: LoadProgress, milliseconds: number): string {
  const rate = Math.round(progress.lines / (milliseconds / 1000));
  const bad = progress.bad === 0 ? '' : `, ${String(progress.bad)} bad`;
  return `${progress.lines.toLocaleString('en')} lines, ${rate.toLocaleString('en')}/s${bad}`;
}

function faultText(dataset: string, fault: LineFault): string {
  const where = fault.pointer === '' ? '' : `${fault.pointer}: `;
  return `${escapeText(dataset)}:${String(fault.line)}: ${fault.code} ${escapeText(where + fault.message)}\n`;
}

function toJson(report: LoadReport): object {
  if (report.bad === 0) return { ok: true, ...report };
  return { ok: false, ...report, error: { code: 'load.bad_lines', message: badText(report) } };
}

function reportText(report: LoadReport): string {
  const parts = [
    `${String(report.loaded)} loaded`,
    report.replaced === 0 ? '' : `${String(report.replaced)} replaced`,
    report.unchanged === 0 ? '' : `${String(report.unchanged)} unchanged`,
    report.implied === 0 ? '' : `${count(report.implied, 'namespace')} made on the way`,
    report.bad === 0 ? '' : badText(report),
  ];
  return `${count(report.lines, 'line')}: ${parts.filter((part) => part !== '').join(', ')}`;
}

function badText(report: LoadReport): string {
  return `${count(report.bad, 'bad line')} skipped`;
}
