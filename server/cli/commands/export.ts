// `bailiwick export`: the records of the store as a dataset on stdout, in an order that `load` accepts.
import type { Command } from 'commander';
import { defineExportPolicy, EXPORTERS } from './export-policy.js';
import { defineExportRls } from './export-rls.js';
import { configOf, withExamples, withSettings } from '../options.js';
import type { SettingFlags } from '../../config/index.js';
import { EXIT } from '../exit-codes.js';
import { CliFailure } from '../failure.js';
import { type CliIo, isClosed, write } from '../io.js';

export function defineExport(command: Command, io: CliIo): void {
  const rls = command
    .command('rls')
    .description('write a policy as row-level security of PostgreSQL: the database then decides by itself');
  defineExportRls(rls, io);
  for (const [name, exporter] of Object.entries(EXPORTERS))
    defineExportPolicy(command.command(name).description(exporter.description), exporter, io);
  command.action((options: SettingFlags) => exportStore(io, options));
  withSettings(command, ['config', 'dataDir', 'databaseUrl']);
  withExamples(command, [
    ['a copy of the embedded store', 'bailiwick export | gzip > records.jsonl.gz'],
    [
      'from the embedded store to a PostgreSQL',
      'bailiwick export | DATABASE_URL=postgres://db.example.org/bailiwick bailiwick load -',
    ],
  ]);
}

async function exportStore(io: CliIo, options: SettingFlags): Promise<void> {
  const [{ openNamedStore, storeFailure }, { exportDataset }, { startProgress }, { groupDigits }] = await Promise.all([
    import('../open-store.js'),
    import('../../load/export-dataset.js'),
    import('../render/terminal.js'),
    import('../../../engine/index.js'),
  ]);
  const db = await openNamedStore(io, await configOf(io, options), { statementTimeout: 0, asItIs: true });
  const progress = startProgress(io);
  try {
    const { tooLong } = await exportDataset(
      db,
      async (text) => {
        if (!isClosed(io.stdout)) await write(io.stdout, text);
      },
      (records) => {
        progress.update(`${groupDigits(records)} records`);
      },
    );
    const [first] = tooLong;
    if (first === undefined) return;
    const more = tooLong.length === 1 ? '' : ` and ${groupDigits(tooLong.length - 1)} more`;
    throw new CliFailure(
      EXIT.precondition,
      { code: 'export.too_long', message: `the record ${first}${more} takes more than 1 MiB as a line` },
      { help: 'all lines are written, but `load` refuses these: shorten the records first' },
    );
  } catch (error) {
    throw await storeFailure(error, 'run it again');
  } finally {
    progress.done();
    await db.close();
  }
}
