// What `audit release` does: it releases events of the store that a log has claimed and will never take.
import { instantOf } from '../../engine/index.js';
import { type RecordRelease, releaseFolder, releaseLost } from '../audit/release.js';
import type { SettingFlags } from '../config/index.js';
import { EXIT } from './exit-codes.js';
import { CliFailure, usage } from './failure.js';
import { type CliIo, write, writeJson } from './io.js';
import { openNamedStore } from './open-store.js';
import { configOf, type Format } from './options.js';
import { folderOf } from './read-audit.js';
import { makeOperatorRecorder } from './record-operator.js';
import { escapeText } from './render/escape.js';
import { count } from './render/text.js';

export type ReleaseFlags = SettingFlags & { readonly format: Format; readonly lost?: string };

/** Throws `CliFailure`: 6 where a gateway has the log. */
export async function releaseCommand(io: CliIo, given: string | undefined, flags: ReleaseFlags): Promise<void> {
  const { lost } = flags;
  if ((given === undefined) === (lost === undefined))
    throw usage('name either the folder of the log or `--lost <log>`');
  if (lost !== undefined && !/^[0-9a-z]{1,32}$/.test(lost)) throw usage('`--lost` must be the name of a log');
  const folder = given === undefined ? null : await folderOf(io, given, { flags });
  const db = await openNamedStore(io, await configOf(io, flags), { asItIs: true });
  try {
    const recorder = makeOperatorRecorder(instantOf(Date.now()));
    const record: RecordRelease = (transaction, items) => recorder(transaction, { operation: 'audit.release', items });
    const released =
      folder === null ? [await releaseLost(db, lost ?? '', record)] : await releaseFolder(db, folder, record);
    if (released === null) {
      throw new CliFailure(
        EXIT.precondition,
        { code: 'audit.in_use', message: 'a gateway has this log, and takes what it has claimed by itself' },
        { help: 'stop it first, or name the folder that was moved away' },
      );
    }
    if (flags.format === 'json') await writeJson(io, { released });
    else
      await write(
        io.stdout,
        released.map(({ log, events }) => escapeText(`${log}: ${count(events, 'event')} released\n`)).join(''),
      );
  } finally {
    await db.close();
  }
}
