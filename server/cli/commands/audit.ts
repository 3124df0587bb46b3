// `bailiwick audit`: whether the log is intact, what it says, and where its old files go (docs/audit.md). Here are `archive`
// and `release`; the other subcommands are files of their own.
import { resolve } from 'node:path';
import { instantOf } from '../../../engine/index.js';
import type { ArchivedFile } from '../../audit/archived-files.js';
import type { RecordRelease } from '../../audit/release.js';
import { parseDuration, type SettingFlags } from '../../config/index.js';
import { codeOf } from '../../db/failures.js';
import { FOLDER, folderOf, LOG_SETTINGS } from '../audit-log.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { type Answer, type CliIo, pathOf, write, writeJson } from '../io.js';
import { withNamedStore } from '../open-store.js';
import { configOf, formats, STORE_SETTINGS } from '../options.js';
import { escapeText } from '../render/escape.js';
import { count, linesText } from '../render/text.js';
import { auditCheckpoint, auditCheckProof, auditProve } from './audit-proofs.js';
import { auditQuery } from './audit-query.js';
import { auditVerify } from './audit-verify.js';
import { type Given, group, required, takes, verb } from '../verb.js';

const ARCHIVE = takes({
  '[folder]': FOLDER,
  '--to <folder>': required('folder for the old files, which is created if it does not exist'),
  '--older-than <duration>': required('age of the last event in a file, such as `90d`; younger files stay'),
  ...formats(),
});

const auditArchive = verb(ARCHIVE, archive, {
  description:
    'verify the log, then move its old files to another folder and list them in `archived.sha256`; also while a gateway runs',
  settings: LOG_SETTINGS,
  examples: {
    'move files that are older than a quarter': 'bailiwick audit archive --to /mnt/archive --older-than 90d',
    'then verify all files, moved ones too': 'bailiwick audit verify --archive /mnt/archive',
  },
  json: ['{"moved":[{"name","sha256"}],"kept"}'],
});

/** Throws `CliFailure`: 8 where the log is not intact, 6 where the archive has other files of the same names. */
async function archive(io: CliIo, flags: Given<typeof ARCHIVE> & SettingFlags): Promise<void> {
  const [{ ArchiveBusy, archiveFiles, ArchiveConflict, ArchiveIsLog }, { verifyLogs }] = await Promise.all([
    import('../../audit/archive.js'),
    import('../../audit/verify.js'),
  ]);
  const age = parseDuration(flags.olderThan);
  if (!age.ok) throw usage(`\`--older-than\` ${age.message}`);
  const folder = await folderOf(io, flags.folder, { flags });
  const to = pathOf(io, flags.to);
  if (resolve(to) === resolve(folder)) throw usage('`--to` is the folder of the log itself');
  const report = await verifyLogs(folder);
  // Lines that are none of the log go where their file goes.
  const late = report.faults.filter(({ kind }) => kind === 'late').length;
  if (report.count > late) {
    const message = `${count(report.count - late, 'fault')} in the audit log: nothing is moved`;
    const help = 'see `bailiwick audit verify`; what is wrong is easier to find while all files are in one folder';
    throw new CliFailure(EXIT.integrity, 'audit.faults', message, { help });
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
    if (error instanceof ArchiveIsLog) throw usage(`\`${error.message}\` is in the log itself, under another name`);
    const refuse = (message: string, help: string): CliFailure =>
      new CliFailure(EXIT.precondition, 'audit.archive', message, { help, cause: error });
    if (error instanceof ArchiveBusy)
      throw refuse(`another process moves files of \`${folder}\``, 'wait until it has ended');
    if (error instanceof ArchiveConflict)
      throw refuse(
        `\`${error.message}\` is there already, with other content`,
        'choose another folder with --to, or move that file away; the log is as it was, but for files that were moved before',
      );
    const code = codeOf(error);
    if (code === null || !SYSTEM_CODE.test(code)) throw error;
    throw refuse(
      `files cannot be moved from \`${folder}\` to \`${to}\` (${code})`,
      code === 'ENOSPC'
        ? 'free some kilobytes on both disks: the list of what was moved is beside the log; nothing is lost'
        : 'nothing is lost: each file is in at least one of both folders, and the next run goes on',
    );
  }
}

/** Such as `ENOSPC`; what Node says of a wrong argument begins with `ERR_`. */
const SYSTEM_CODE = /^E[A-Z0-9]+$/;

const RELEASE = takes({
  '[folder]': 'folder that the log was moved to; claimed events that it does not have are released',
  '--lost <log>': 'name of a log of which nothing is left; all events that it had claimed are released',
  ...formats(),
});

const auditRelease = verb(RELEASE, release, {
  description:
    'hand the events that a moved or lost log had claimed, and did not write, to the log of a running gateway',
  settings: STORE_SETTINGS,
  examples: {
    'after the folder of the log was moved away': 'bailiwick audit release ./audit.damaged',
    'after its disk was lost': 'bailiwick audit release --lost k3v9m2xqwe',
  },
  json: ['{"released":[{"log","events"}]}'],
});

/** Throws `CliFailure`: 6 where a gateway has the log. */
async function release(io: CliIo, flags: Given<typeof RELEASE> & SettingFlags): Promise<Answer> {
  const [{ releaseFolder, releaseLost }, { makeOperatorRecorder }] = await Promise.all([
    import('../../audit/release.js'),
    import('../record-operator.js'),
  ]);
  const { folder: given, lost } = flags;
  if ((given === undefined) === (lost === undefined))
    throw usage('name either the folder of the log or `--lost <log>`');
  if (lost !== undefined && !/^[0-9a-z]{1,32}$/.test(lost)) throw usage('`--lost` must be the name of a log');
  const folder = given === undefined ? null : await folderOf(io, given, { flags });
  return withNamedStore(io, { config: await configOf(io, flags), asItIs: true }, async (db) => {
    const recorder = makeOperatorRecorder(instantOf(Date.now()));
    const record: RecordRelease = (transaction, items) => recorder(transaction, { operation: 'audit.release', items });
    const released =
      folder === null ? [await releaseLost(db, lost ?? '', record)] : await releaseFolder(db, folder, record);
    if (released === null) {
      const message = 'a gateway has this log, and takes what it has claimed by itself';
      const help = 'stop it first, or name the folder that was moved away';
      throw new CliFailure(EXIT.precondition, 'audit.in_use', message, { help });
    }
    return {
      json: () => ({ released }),
      text: () => linesText(released.map(({ log, events }) => `${log}: ${count(events, 'event')} released`)),
    };
  });
}

export const defineAudit = group({
  verbs: {
    verify: auditVerify,
    query: auditQuery,
    checkpoint: auditCheckpoint,
    prove: auditProve,
    'check-proof': auditCheckProof,
    archive: auditArchive,
    release: auditRelease,
  },
  examples: {
    'whether the log is intact': 'bailiwick audit verify',
    'who read /labs/x in September, and by which grant':
      'bailiwick audit query --kind query --outcome allowed --namespace /labs/x --since 2026-09-01T00:00:00Z --until 2026-10-01T00:00:00Z',
  },
});
