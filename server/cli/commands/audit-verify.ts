// `bailiwick audit verify`: whether the log is intact, and which logs the store knows beside it (docs/audit.md "Verifying").
import { type Command, Option } from 'commander';
import { groupDigits } from '../../../engine/index.js';
import type { Head } from '../../audit/chain.js';
import type { VerifyReport } from '../../audit/verify.js';
import type { SettingFlags } from '../../config/index.js';
import { FOLDER, folderOf } from '../audit-log.js';
import { EXIT, usage } from '../exit.js';
import { type CliIo, pathOf, write, writeJson } from '../io.js';
import type { NotedLogs } from '../noted-logs.js';
import { collect, type Format, formatOption, withExamples, withJson, withStore } from '../options.js';
import { escapeText } from '../render/escape.js';
import { startProgress } from '../render/terminal.js';
import { count } from '../render/text.js';

type VerifyFlags = SettingFlags & {
  readonly format: Format;
  readonly head?: readonly Head[];
  readonly after?: Head;
  readonly archive?: string;
  readonly checkpoint?: readonly string[];
  readonly publicKey?: string;
  readonly lost?: readonly string[];
};

export function defineVerify(audit: Command, io: CliIo): void {
  const command = audit
    .command('verify')
    .description(
      'check that no event was changed, moved or removed, and that their snapshots are there; exit with 8 if not',
    )
    .argument('[folder]', FOLDER)
    .addOption(
      new Option(
        '--head <seq:hash>',
        'a head of the log that was noted elsewhere; finds whether later events were cut off; may be repeated',
      ).argParser((text: string, before?: readonly Head[]) => [...(before ?? []), headOf('--head', text)]),
    )
    .addOption(
      new Option('--after <seq:hash>', 'last event of the older files, if they are kept elsewhere').argParser(
        (text: string) => headOf('--after', text),
      ),
    )
    .option('--archive <folder>', 'where older files were moved to: those in `archived.sha256` are read there')
    .option(
      '--checkpoint <file>',
      'a checkpoint that was kept: proves that the log only grew; may be repeated',
      collect,
    )
    .option('--public-key <file>', 'public key that must have signed the checkpoints')
    .option('--lost <log>', 'a log of the store that is known to be gone; may be repeated', collect)
    .addOption(formatOption())
    .action((folder: string | undefined, options: VerifyFlags) => verify(io, folder, options));
  withStore(command);
  withExamples(command, [
    ['the log of the gateway on this machine', 'bailiwick audit verify'],
    ['a copy, against a head that was noted last week', 'bailiwick audit verify ./audit --head 1204:sha256:3f1c…'],
    ['the head to note now', `bailiwick audit verify --format json | jq -r '.logs[] | "\\(.head.seq):\\(.head.hash)"'`],
  ]);
  withJson(command, [
    '{"ok", "events", "head": {"seq", "hash"} | null, "faults": [{"log", "seq", "kind", "text"}],',
    ' "logs": [{"log", "events", "head"}], "store": {"asked": true, "elsewhere"} | {"asked": false, "why"}, "unread": [names of archived files]}',
    '`head` is that of the only log, null if there are several. Kinds of faults: malformed, edited,',
    'missing, order, broken, foreign, torn, head, snapshot, absent, gone, archived, checkpoint.',
  ]);
}

const HEAD = /^(\d{1,15}):(?:sha256:)?([0-9a-f]{64})$/;

function headOf(flag: string, text: string): Head {
  const [, seq, hex] = HEAD.exec(text) ?? [];
  if (hex === undefined)
    throw usage(`\`${flag}\` must be a number and a hash, as in \`1204:sha256:3f1c…\` with 64 digits`);
  return { seq: Number(seq), hash: `sha256:${hex}` };
}

async function verify(io: CliIo, given: string | undefined, flags: VerifyFlags): Promise<void> {
  const [{ verifyLogs }, { notedLogs }, { readCheckpoint }] = await Promise.all([
    import('../../audit/verify.js'),
    import('../noted-logs.js'),
    import('../read-checkpoint.js'),
  ]);
  const folder = await folderOf(io, given, { flags, absent: EXIT.integrity });
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
  if (flags.format === 'json') await writeJson(io, toJson(report, noted));
  else await write(io.stdout, verifyText(report, noted));
}

function toJson({ ok, events, logs, faults, count: all, unread }: VerifyReport, noted: NotedLogs): object {
  const [only, ...others] = logs;
  const head = others.length === 0 ? (only?.head ?? null) : null;
  const message = `${count(all, 'fault')} in the audit log`;
  const store = noted.asked ? { asked: true, elsewhere: noted.elsewhere } : noted;
  return { ok, events, head, faults, logs, store, unread, ...(ok ? {} : { error: { code: 'audit.faults', message } }) };
}

function verifyText({ ok, events, logs, faults, count: all, unread }: VerifyReport, noted: NotedLogs): string {
  const lines = [
    ...faults.map(({ log, seq, kind, text }) => `${log === null ? '' : `${log}: ${String(seq)}: `}${kind}: ${text}`),
    ...(all > faults.length ? [`and ${count(all - faults.length, 'more fault')}`] : []),
    ...logs.map(({ log, events: n, head }) =>
      head === null ? `${log}: no events` : `${log}: ${count(n, 'event')}, head ${String(head.seq)}:${head.hash}`,
    ),
    ...(unread.length === 0
      ? []
      : [`not read: ${count(unread.length, 'archived file')}; name their folder with --archive`]),
    ...storeLines(noted),
    `${ok ? 'intact: ' : `${count(all, 'fault')} in `}${count(events, 'event')} of ${count(logs.length, 'log')}`,
  ];
  return lines.map((line) => `${escapeText(line)}\n`).join('');
}

function storeLines(noted: NotedLogs): readonly string[] {
  if (!noted.asked) return [`not compared with the store: ${noted.why}`];
  return noted.elsewhere.map(
    ({ log, host, folder, seq }) =>
      `${log}: not here: the store knows it in ${host}:${folder}, up to event ${String(seq)}`,
  );
}
