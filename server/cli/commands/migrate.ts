// `bailiwick migrate`: brings the store's schema up to this version.
import type { Command } from 'commander';
import { type CliIo, write, writeJson } from '../io.js';
import { announceStore, sayWait } from '../open-store.js';
import { configOf, type Format, formatOption, withExamples, withStore } from '../options.js';
import { type SettingFlags, storeOf } from '../../config/index.js';
import { count } from '../render/text.js';

type MigrateOptions = SettingFlags & { readonly format: Format };

export function defineMigrate(command: Command, io: CliIo): void {
  command.addOption(formatOption()).action((options: MigrateOptions) => migrateStore(io, options));
  withStore(command);
  withExamples(command, [
    ['the embedded store', 'bailiwick migrate --data-dir /var/lib/bailiwick'],
    ['an external PostgreSQL', 'DATABASE_URL=postgres://bailiwick@db.example.org/bailiwick bailiwick migrate'],
  ]);
}

async function migrateStore(io: CliIo, options: MigrateOptions): Promise<void> {
  const [{ openDatabase }, { migrate }] = await Promise.all([
    import('../../db/database.js'),
    import('../../db/migrate.js'),
  ]);
  const config = await configOf(io, options);
  const say = announceStore(io, config);
  // Migrations have no time limit.
  const database = await openDatabase({
    ...storeOf(config),
    ...config.database,
    statementTimeout: 0,
    onWait: sayWait(io),
  });
  try {
    await say();
    const applied = await migrate(database);
    if (options.format === 'json') await writeJson(io, { applied });
    else if (applied.length === 0) await write(io.stdout, 'the store is up to date\n');
    else await write(io.stdout, `${applied.join('\n')}\n${count(applied.length, 'migration')} applied\n`);
  } finally {
    await database.close();
  }
}
