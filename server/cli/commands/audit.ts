// `bailiwick audit verify|query|archive|release`: whether the log is intact, what it says, and where its old files go (docs/audit.md).
import { type Command, Option } from 'commander';
import type { Head } from '../../audit/chain.js';
import type { EventKind, Outcome } from '../../audit/event.js';
import type { SettingName } from '../../config/index.js';
import type { ArchiveFlags } from '../archive-audit.js';
import type { CliIo } from '../io.js';
import { collect, formatOption, requiredOption, withExamples, withJson, withSettings } from '../options.js';
import { usage } from '../failure.js';
import type { QueryFlags, VerifyFlags } from '../read-audit.js';
import type { ReleaseFlags } from '../release-audit.js';
import { defineProofs } from './audit-proofs.js';

const LOG_SETTINGS: readonly SettingName[] = ['config', 'dataDir'];
const FOLDER = 'folder of the log (default: the one of the settings)';

export function defineAudit(command: Command, io: CliIo): void {
  defineVerify(command, io);
  defineQuery(command, io);
  defineProofs(command, io);
  defineArchive(command, io);
  defineRelease(command, io);
  withExamples(command, [
    ['whether the log is intact', 'bailiwick audit verify'],
    [
      'who read /labs/x in September, by what grant',
      'bailiwick audit query --kind query --outcome allowed --namespace /labs/x --since 2026-09-01T00:00:00Z --until 2026-10-01T00:00:00Z',
    ],
  ]);
}

function defineVerify(audit: Command, io: CliIo): void {
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
    .action(async (folder: string | undefined, options: VerifyFlags) => {
      await (await import('../read-audit.js')).verifyCommand(io, folder, options);
    });
  withSettings(command, ['config', 'dataDir', 'databaseUrl']);
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

const KINDS: readonly EventKind[] = ['command', 'query', 'refusal', 'authentication', 'admin'];
const OUTCOMES: readonly Outcome[] = ['allowed', 'denied', 'failed'];

/** The folder of the log, and the flags by which events are chosen. */
export function withSearch(command: Command): Command {
  return command
    .argument('[folder]', FOLDER)
    .option('--actor <actor>', 'id of an actor, `provider:subject`, or a fingerprint; may be repeated', collect)
    .option('--namespace <namespace>', 'events that may have touched records there or below')
    .addOption(anyOf(new Option('--outcome <outcome>', 'may be repeated'), OUTCOMES))
    .addOption(anyOf(new Option('--kind <kind>', 'may be repeated'), KINDS))
    .option('--record <id>', 'who read or wrote one record, in lists too; says what was not recorded')
    .option('--request <id>', "the `requestId` of an answer or of the gateway's log")
    .option('--since <instant>', 'at or after this instant')
    .option('--until <instant>', 'before this instant');
}

/** One value at a time: a flag with several values would take the folder for one of them. */
function anyOf(option: Option, values: readonly string[]): Option {
  const check = option.choices(values).parseArg;
  return option.argParser((text: string, before?: readonly string[]) => {
    check?.(text, undefined);
    return collect(text, before);
  });
}

function defineQuery(audit: Command, io: CliIo): void {
  const command = audit.command('query').description('print the events that match all options given, one a line');
  withSearch(command)
    .addOption(formatOption())
    .action(async (folder: string | undefined, options: QueryFlags) => {
      await (await import('../read-audit.js')).queryCommand(io, folder, options);
    });
  withSettings(command, LOG_SETTINGS);
  withExamples(command, [
    [
      'who read /labs/x in September, by what grant',
      'bailiwick audit query --kind query --outcome allowed --namespace /labs/x --since 2026-09-01T00:00:00Z --until 2026-10-01T00:00:00Z',
    ],
    ['who read or wrote one record', 'bailiwick audit query --record 0197bc63-6539-7ccb-b217-d1b0f3fab080'],
    ['what one key was refused', 'bailiwick audit query --actor ci --outcome denied'],
    [
      'how often each actor asked',
      `bailiwick audit query --kind query --format json | jq -r .actor.id | sort | uniq -c`,
    ],
  ]);
  withJson(command, [
    'one event a line, as in the log. With `--record`, an event that does not name the record ends with',
    '"shown": "yes" | "maybe", which the log does not have; `maybe` is wrong once in 10,000,000.',
  ]);
}

function defineArchive(audit: Command, io: CliIo): void {
  const command = audit
    .command('archive')
    .description(
      'verify the log, then move its old files to another folder and list them in `archived.sha256`; a gateway may run',
    )
    .argument('[folder]', FOLDER)
    .addOption(requiredOption('--to <folder>', 'where they go; made if it does not exist'))
    .addOption(
      requiredOption('--older-than <duration>', 'age of the last event in a file, such as `90d`; younger files stay'),
    )
    .addOption(formatOption())
    .action(async (folder: string | undefined, options: ArchiveFlags) => {
      await (await import('../archive-audit.js')).archiveCommand(io, folder, options);
    });
  withSettings(command, LOG_SETTINGS);
  withExamples(command, [
    ['what is older than a quarter', 'bailiwick audit archive --to /mnt/archive --older-than 90d'],
    ['then all of it, old and new', 'bailiwick audit verify --archive /mnt/archive'],
  ]);
  withJson(command, ['{"moved":[{"name","sha256"}],"kept"}']);
}

function defineRelease(audit: Command, io: CliIo): void {
  const command = audit
    .command('release')
    .description('give the events that a log has claimed and will not take to the log of a running gateway')
    .argument('[folder]', 'where the log was moved to: what it does not have is released')
    .option('--lost <log>', 'name of a log of which nothing is left: all that it has claimed is released')
    .addOption(formatOption())
    .action(async (folder: string | undefined, options: ReleaseFlags) => {
      await (await import('../release-audit.js')).releaseCommand(io, folder, options);
    });
  withSettings(command, ['config', 'dataDir', 'databaseUrl']);
  withExamples(command, [
    ['after the folder of the log was moved away', 'bailiwick audit release ./audit.damaged'],
    ['after its disk was lost', 'bailiwick audit release --lost k3v9m2xqwe'],
  ]);
  withJson(command, ['{"released":[{"log","events"}]}']);
}

const HEAD = /^(\d{1,15}):(?:sha256:)?([0-9a-f]{64})$/;

function headOf(flag: string, text: string): Head {
  const [, seq, hex] = HEAD.exec(text) ?? [];
  if (hex === undefined)
    throw usage(`\`${flag}\` must be a number and a hash, as in \`1204:sha256:3f1c…\` with 64 digits`);
  return { seq: Number(seq), hash: `sha256:${hex}` };
}
