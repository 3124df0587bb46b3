// `bailiwick load <dataset>`: records into the store, one JSON object a line; bad lines are reported and skipped, the
// others are stored (docs/datasets.md).
import { groupDigits, instantOf } from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import { sqlStateOf, toStoreError } from '../../db/failures.js';
import { LOAD_LIMITS } from '../../limits/records.js';
import { isWorthTidying, tidyStore } from '../../load/tidy-store.js';
import type { LoadCounts, LoadProgress, LoadReport } from '../../load/load-dataset.js';
import type { SkippedLine } from '../../load/record-line.js';
import { EXIT } from '../exit.js';
import { inputSize, openInput, readLines } from '../files.js';
import { type Answer, type CliIo, isClosed, write } from '../io.js';
import { openNamedStore, type OpenStoreOptions, storeFailure } from '../open-store.js';
import { configOf, formats, STORE_SETTINGS } from '../options.js';
import type { SettingFlags } from '../../config/index.js';
import { makeOperatorRecorder } from '../record-operator.js';
import { escapeText } from '../render/escape.js';
import { type Progress, startProgress } from '../render/terminal.js';
import { count } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<dataset>': 'JSON Lines file with lines of at most 1 MiB; `-` is stdin',
  '--replace': 'let a line replace a stored record with the same id (default: such a line is an error)',
  '--dry-run': 'report what would be loaded and every faulty line, and store nothing; the store must exist',
  '--unchecked':
    'skip the checks of templates, of records against the schemas of templates, and of where referenced records are',
  ...formats(),
});

export const defineLoad = verb(TAKES, load, {
  settings: STORE_SETTINGS,
  examples: {
    'a file into the embedded store': 'bailiwick load records.jsonl',
    'what is wrong with a file, before anything is stored': 'bailiwick load --dry-run records.jsonl',
    'from another program, into an external PostgreSQL':
      'zcat records.jsonl.gz | DATABASE_URL=postgres://db.example.org/bailiwick bailiwick load -',
    'one line': `echo '{"family":"resource","namespace":"/labs/optics","name":"lens"}' | bailiwick load -`,
  },
});

async function load(io: CliIo, { dataset, ...options }: Given<typeof TAKES> & SettingFlags): Promise<Answer> {
  const { loadDataset } = await import('../../load/load-dataset.js');
  const config = await configOf(io, options);
  const input = await openInput(io, dataset);
  const size = await inputSize(io, dataset);
  const opening: OpenStoreOptions = { isBulk: true, ...(options.dryRun === true && { asItIs: true }) };
  const db = await openNamedStore(io, config, opening).catch((error: unknown) => {
    input.destroy();
    throw error;
  });
  const started = Date.now();
  const record = makeOperatorRecorder(instantOf(started));
  const progress = startProgress(io);
  try {
    const report = await loadDataset(db, readLines(input, LOAD_LIMITS.lineBytes), {
      onConflict: options.replace === true ? 'replace' : 'report',
      now: instantOf(started),
      schemas: options.unchecked === true ? 'unchecked' : 'checked',
      record: (transaction, items) => record(transaction, { operation: 'dataset.load', items }),
      effect: options.dryRun === true ? 'tried' : 'stored',
      onProgress: (now) => {
        progress.update(loadProgressText(now, Date.now() - started, size));
      },
      onFault: (fault) => {
        progress.done();
        if (!isClosed(io.stderr)) io.stderr.write(faultText(dataset, fault));
      },
    });
    if (options.dryRun !== true) await refresh(io, { db, report, progress });
    progress.done();
    if (report.bad > 0) io.setStatus(EXIT.usage);
    if (options.unchecked === true) await write(io.stderr, UNCHECKED);
    const result = { ...report, dryRun: options.dryRun === true };
    return {
      json: () => toJson(result, badLinesText(report)),
      text: () => `${loadReportText(result)}\n`,
    };
  } catch (error) {
    throw await storeFailure(error, 'run it again: it continues where it stopped');
  } finally {
    progress.done();
    input.destroy();
    await db.close();
  }
}

const UNCHECKED =
  'warning: --unchecked: schemas of templates were not checked, nor were records against them, nor where a record is that another refers to; the API may refuse to change such records\n';

/** The records are stored by now: a failure here is not a failure of the load. */
async function refresh(
  io: CliIo,
  { db, report, progress }: { readonly db: Database; readonly report: LoadCounts; readonly progress: Progress },
): Promise<void> {
  if (!isWorthTidying(report)) return;
  progress.phase('tidying the store');
  try {
    await tidyStore(db);
  } catch (error) {
    progress.done();
    const reason = toStoreError(error)?.message ?? sqlStateOf(error) ?? 'unknown reason';
    await write(io.stderr, `warning: queries may be slow until PostgreSQL has vacuumed by itself: ${reason}\n`);
  }
}

function faultText(dataset: string, fault: SkippedLine): string {
  const where = fault.pointer === '' ? '' : `${fault.pointer}: `;
  return `${escapeText(dataset)}:${String(fault.line)}: ${fault.code} ${escapeText(where + fault.message)}\n`;
}

function toJson(report: LoadReport & { readonly dryRun: boolean }, message: string): object {
  const ok = report.bad === 0;
  return { ok, ...report, error: ok ? undefined : { code: 'load.bad_lines', message } };
}

/** `size` in bytes; null if it is unknown. */
function loadProgressText(progress: LoadProgress, milliseconds: number, size: number | null): string {
  const rate = Math.round(progress.lines / (milliseconds / 1000));
  const bad = progress.bad === 0 ? '' : `, ${groupDigits(progress.bad)} bad`;
  const done = `${groupDigits(progress.lines)} lines, ${groupDigits(rate)}/s${bad}`;
  if (size === null || progress.bytes === 0) return done;
  const part = Math.min(1, progress.bytes / size);
  return `${done}, ${String(Math.floor(part * 100))} %, ${timeText((milliseconds / part) * (1 - part))} left`;
}

function timeText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds < 100) return `${String(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${String(minutes)} min` : `${String(Math.round(minutes / 60))} h`;
}

function loadReportText(report: LoadReport & { readonly dryRun: boolean }): string {
  const done = report.dryRun ? 'would be ' : '';
  const parts = [
    `${groupDigits(report.loaded)} ${done}loaded`,
    report.replaced > 0 && `${groupDigits(report.replaced)} ${done}replaced`,
    report.unchanged > 0 && `${groupDigits(report.unchanged)} unchanged`,
    report.implied > 0 && `${count(report.implied, 'namespace')} ${done}created`,
    report.bad > 0 && badLinesText(report),
  ];
  const counts = `${count(report.lines, 'line')}: ${parts.filter((part) => part !== false).join(', ')}`;
  return report.dryRun ? `${counts}\ndry run: nothing was stored` : counts;
}

function badLinesText(report: LoadReport): string {
  return `${count(report.bad, 'bad line')} skipped`;
}
