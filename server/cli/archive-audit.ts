// What `audit archive` does: it verifies the log, then moves its oldest files.
import { resolve } from 'node:path';
import { instantOf } from '../../engine/index.js';
import { archiveFiles, ArchiveConflict } from '../audit/archive.js';
import type { ArchivedFile } from '../audit/archived-files.js';
import { verifyLogs } from '../audit/verify.js';
import { parseDuration, type SettingFlags } from '../config/index.js';
import { EXIT } from './exit-codes.js';
import { CliFailure, usage } from './failure.js';
import { type CliIo, pathOf, write, writeJson } from './io.js';
import type { Format } from './options.js';
import { folderOf } from './read-audit.js';
import { escapeText } from './render/escape.js';
import { count } from './render/text.js';

export type ArchiveFlags = SettingFlags & {
  readonly format: Format;
  readonly to: string;
  readonly olderThan: string;
};

/** Throws `CliFailure`: 8 where the log is not intact, 6 where the archive has other files of the same names. */
export async function archiveCommand(io: CliIo, given: string | undefined, flags: ArchiveFlags): Promise<void> {
  const age = parseDuration(flags.olderThan);
  if (!age.ok) throw usage(`\`--older-than\` ${age.message}`);
  const folder = await folderOf(io, given, { flags });
  const to = pathOf(io, flags.to);
  if (resolve(to) === resolve(folder)) throw usage('`--to` is the folder of the log itself');
  const report = await verifyLogs(folder);
  if (!report.ok) {
    const message = `${count(report.count, 'fault')} in the audit log: nothing is moved`;
    const help = 'see `bailiwick audit verify`; what is wrong is easier to find while all files are in one folder';
    throw new CliFailure(EXIT.integrity, { code: 'audit.faults', message }, { help });
  }
  const moved: ArchivedFile[] = [];
  const show = flags.format === 'text';
  try {
    const kept = await archiveFiles(folder, {
      to,
      before: instantOf(Date.now() - age.value),
      onMoved: (file) => {
        moved.push(file);
        if (show) io.stdout.write(`${file.sha256}  ${escapeText(file.name)}\n`);
      },
    });
    if (!show) await writeJson(io, { moved: moved.map(({ name, sha256 }) => ({ name, sha256 })), kept });
    else
      await write(
        io.stdout,
        `${count(moved.length, 'file')} moved to ${escapeText(to)}, ${count(kept, 'file')} kept\n`,
      );
  } catch (error) {
    if (!(error instanceof ArchiveConflict)) throw error;
    const message = `\`${error.message}\` is there already, with other content`;
    const help =
      'choose another folder with --to, or move that file away; the log is as it was, but for files that were moved before';
    throw new CliFailure(EXIT.precondition, { code: 'audit.archive', message }, { help, cause: error });
  }
}
