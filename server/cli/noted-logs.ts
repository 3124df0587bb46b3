// What the store knows of the logs in a folder, where the store is at hand (docs/audit.md "Verifying").
import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { isFrom } from '../audit/missing-logs.js';
import { type NotedHead, knownLogs } from '../audit/outbox.js';
import { auditFolderOf, storeOf, type SettingFlags } from '../config/index.js';
import { CliFailure } from './exit.js';
import type { CliIo } from './io.js';
import { openStore } from './open-store.js';
import { configOf } from './options.js';

export type NotedLogs =
  | {
      readonly asked: true;
      /** Logs that should be in the folder. */
      readonly here: readonly NotedHead[];
      /** Logs of other machines or folders. */
      readonly elsewhere: readonly NotedHead[];
    }
  | { readonly asked: false; readonly why: string };

/** The store is asked about the folder of the settings, and about any folder if a flag names the store. */
export async function notedLogs(io: CliIo, folder: string, flags: SettingFlags): Promise<NotedLogs> {
  const config = await configOf(io, flags);
  const own = auditFolderOf(config);
  const isNamed = flags.databaseUrl !== undefined || flags.dataDir !== undefined || flags.config !== undefined;
  if (!isNamed && !isSame(own, folder)) {
    return {
      asked: false,
      why: 'this is not the folder of the settings; name the store with a flag to compare with it',
    };
  }
  const store = storeOf(config);
  if (store.kind === 'embedded' && !existsSync(join(store.dataDir, 'store'))) {
    return { asked: false, why: `there is no store in ${store.dataDir}` };
  }
  try {
    const db = await openStore(io, config, { asItIs: true });
    try {
      const known = await knownLogs(db);
      const isHere = isFrom({ host: hostname(), folder: resolve(own) }, db.kind);
      return { asked: true, here: known.filter(isHere), elsewhere: known.filter((log) => !isHere(log)) };
    } finally {
      await db.close();
    }
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    return { asked: false, why: error.message };
  }
}

function isSame(one: string, other: string): boolean {
  return existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other);
}
