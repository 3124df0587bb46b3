// `bailiwick audit verify`: whether the log is intact, and which logs the store knows beside it (docs/audit.md "Verifying").
import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { groupDigits } from '../../../engine/index.js';
import type { Head } from '../../audit/chain.js';
import type { NotedHead } from '../../audit/outbox.js';
import type { VerifyReport } from '../../audit/verify.js';
import { auditFolderOf, type SettingFlags, storeOf } from '../../config/index.js';
import { FOLDER, folderOf } from '../audit-log.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { type Answer, type CliIo, pathOf } from '../io.js';
import { openStore } from '../open-store.js';
import { configOf, formats, STORE_SETTINGS } from '../options.js';
import { startProgress } from '../render/terminal.js';
import { count, linesText } from '../render/text.js';
import { type Given, repeated, takes, verb } from '../verb.js';

const TAKES = takes({
  '[folder]': FOLDER,
  '--head <seq:hash>': {
    ...repeated('head of the log that was noted elsewhere: shows whether events were cut off; may be repeated'),
    parse: (text: string) => headOf('--head', text),
  },
  '--after <seq:hash>': {
    about: 'last event of the older files, if they are kept elsewhere',
    parse: (text: string) => headOf('--after', text),
  },
  '--archive <folder>': 'folder that older files were moved to: those in `archived.sha256` are read there',
  '--checkpoint <file>': repeated('checkpoint that was kept elsewhere: proves that the log only grew; may be repeated'),
  '--public-key <file>': 'public key that must have signed the checkpoints',
  '--lost <log>': repeated('name of a log that is known to be lost; may be repeated'),
  ...formats(),
});

export const auditVerify = verb(TAKES, verify, {
  description:
    'check that no event was changed, moved or removed, and that the snapshots of all events are there; exit with 8 if not',
  settings: STORE_SETTINGS,
  examples: {
    'the log of the gateway on this machine': 'bailiwick audit verify',
    'a copy, against a head that was noted last week': 'bailiwick audit verify ./audit --head 1204:sha256:3f1c…',
    'the head to note now': `bailiwick audit verify --format json | jq -r '.logs[] | "\\(.head.seq):\\(.head.hash)"'`,
  },
  json: [
    '{"ok", "events", "head": {"seq", "hash"} | null, "faults": [{"log", "seq", "kind", "text"}],',
    ' "logs": [{"log", "events", "head"}], "store": {"asked": true, "elsewhere"} | {"asked": false, "why"}, "unread": [names of archived files]}',
    '`head` is that of the only log, null if there are several. Kinds of faults: malformed, edited,',
    'missing, order, broken, foreign, torn, head, snapshot, absent, gone, archived, checkpoint.',
  ],
});

const HEAD = /^(\d{1,15}):(?:sha256:)?([0-9a-f]{64})$/;

function headOf(flag: string, text: string): Head {
  const [, seq, hex] = HEAD.exec(text) ?? [];
  if (hex === undefined)
    throw usage(`\`${flag}\` must be a number and a hash, as in \`1204:sha256:3f1c…\` with 64 digits`);
  return { seq: Number(seq), hash: `sha256:${hex}` };
}

async function verify(io: CliIo, flags: Given<typeof TAKES> & SettingFlags): Promise<Answer> {
  const [{ verifyLogs }, { readCheckpoint }] = await Promise.all([
    import('../../audit/verify.js'),
    import('../read-checkpoint.js'),
  ]);
  const folder = await folderOf(io, flags.folder, { flags, absent: EXIT.integrity });
  const { head = [], after, archive, checkpoint = [], publicKey, lost = [] } = flags;
  const checkpoints = await Promise.all(checkpoint.map((file) => readCheckpoint(io, file, publicKey)));
  // Before the log is read, because a gateway may go on writing it.
  const noted = await notedLogs(io, folder, flags);
  const progress = startProgress(io);
  const report = await verifyLogs(folder, {
    heads: head,
    checkpoints,
    known: noted.asked ? noted.here.filter(({ log }) => !lost.includes(log)) : [],
    ...(after === undefined ? {} : { after }),
    ...(archive === undefined ? {} : { archive: pathOf(io, archive) }),
    onProgress: (events) => {
      progress.update(`${groupDigits(events)} events`);
    },
  });
  progress.done();
  if (!report.ok) io.setStatus(EXIT.integrity);
  return { json: () => toJson(report, noted), text: () => verifyText(report, noted) };
}

function toJson({ ok, events, logs, faults, count: all, unread }: VerifyReport, noted: NotedLogs): object {
  const [only, ...others] = logs;
  const head = others.length === 0 ? (only?.head ?? null) : null;
  const message = `${count(all, 'fault')} in the audit log`;
  const store = noted.asked ? { asked: true, elsewhere: noted.elsewhere } : noted;
  return { ok, events, head, faults, logs, store, unread, ...(ok ? {} : { error: { code: 'audit.faults', message } }) };
}

function verifyText({ ok, events, logs, faults, count: all, unread }: VerifyReport, noted: NotedLogs): string {
  return linesText([
    ...faults.map(({ log, seq, kind, text }) => `${log === null ? '' : `${log}: ${String(seq)}: `}${kind}: ${text}`),
    all > faults.length && `and ${count(all - faults.length, 'more fault')}`,
    ...logs.map(({ log, events: n, head }) =>
      head === null ? `${log}: no events` : `${log}: ${count(n, 'event')}, head ${String(head.seq)}:${head.hash}`,
    ),
    unread.length > 0 && `not read: ${count(unread.length, 'archived file')}; name their folder with --archive`,
    ...storeLines(noted),
    `${ok ? 'intact: ' : `${count(all, 'fault')} in `}${count(events, 'event')} of ${count(logs.length, 'log')}`,
  ]);
}

function storeLines(noted: NotedLogs): readonly string[] {
  if (!noted.asked) return [`not compared with the store: ${noted.why}`];
  return noted.elsewhere.map(
    ({ log, host, folder, seq }) =>
      `${log}: not here: the store knows it in ${host}:${folder}, up to event ${String(seq)}`,
  );
}

/** What the store knows of the logs in a folder, where the store is at hand. */
type NotedLogs =
  | {
      readonly asked: true;
      /** Logs that should be in the folder. */
      readonly here: readonly NotedHead[];
      /** Logs of other machines or folders. */
      readonly elsewhere: readonly NotedHead[];
    }
  | { readonly asked: false; readonly why: string };

/** The store is asked about the folder of the settings, and about any folder if a flag names the store. */
async function notedLogs(io: CliIo, folder: string, flags: SettingFlags): Promise<NotedLogs> {
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
  const [{ isFrom }, { knownLogs }] = await Promise.all([
    import('../../audit/missing-logs.js'),
    import('../../audit/outbox.js'),
  ]);
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
