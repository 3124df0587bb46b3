// What `audit verify` and `audit query` do: they read a log and print what they found as text or JSON.
import { existsSync } from 'node:fs';
import { canonicalize, groupDigits, type Instant, type NamespacePath } from '../../engine/index.js';
import type { Head } from '../audit/chain.js';
import type { EventKind, Outcome } from '../audit/event.js';
import type { StoredEvent } from '../audit/event-schema.js';
import { SET_ODDS } from '../audit/listed.js';
import { type FoundLine, type LineFault, type Search, searchLogs, type Unrecorded } from '../audit/search.js';
import type { Silence } from '../audit/silences.js';
import { type VerifyReport, verifyLogs } from '../audit/verify.js';
import { auditFolderOf, type SettingFlags } from '../config/index.js';
import { EXIT, type ExitStatus } from './exit-codes.js';
import { CliFailure, usage } from './failure.js';
import { type CliIo, pathOf, write, writeJson } from './io.js';
import { type NotedLogs, notedLogs } from './noted-logs.js';
import { configOf, type Format, instantOption } from './options.js';
import { readCheckpoint } from './read-checkpoint.js';
import { escapeJson, escapeText } from './render/escape.js';
import { startProgress } from './render/terminal.js';
import { count } from './render/text.js';

export type VerifyFlags = SettingFlags & {
  readonly format: Format;
  readonly head?: readonly Head[];
  readonly after?: Head;
  readonly archive?: string;
  readonly checkpoint?: readonly string[];
  readonly publicKey?: string;
  readonly lost?: readonly string[];
};

/** Which events are meant. */
export interface SearchFlags {
  readonly actor?: readonly string[];
  readonly namespace?: string;
  readonly outcome?: readonly Outcome[];
  readonly kind?: readonly EventKind[];
  readonly record?: string;
  readonly request?: string;
  readonly since?: string;
  readonly until?: string;
}

export type QueryFlags = SettingFlags & SearchFlags & { readonly format: Format };

export async function verifyCommand(io: CliIo, given: string | undefined, flags: VerifyFlags): Promise<void> {
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

/** Throws `CliFailure` for a bad instant or path. */
export async function searchOf(flags: SearchFlags): Promise<Search> {
  return {
    actors: flags.actor ?? [],
    namespace: namespaceOf(flags.namespace),
    outcomes: flags.outcome ?? [],
    kinds: flags.kind ?? [],
    record: flags.record?.toLowerCase() ?? null,
    request: flags.request ?? null,
    since: await instantOf('--since', flags.since),
    until: await instantOf('--until', flags.until),
  };
}

export async function queryCommand(io: CliIo, given: string | undefined, flags: QueryFlags): Promise<void> {
  const search = await searchOf(flags);
  const folder = await folderOf(io, given, { flags });
  const show = flags.format === 'json' ? jsonLine : eventText;
  const {
    malformed,
    unrecorded,
    unverified,
    found: total,
    events,
  } = await searchLogs(folder, search, async (found) => {
    await write(io.stdout, found.map((one) => `${show(one)}\n`).join(''));
    if (flags.format === 'json') await write(io.stderr, found.map(warningOf).join(''));
  });
  // Without this, a name that was mistyped looks like somebody who did nothing.
  if (flags.format === 'text' || total === 0) {
    await write(io.stderr, `${groupDigits(total)} of ${count(events, 'event')}\n`);
  }
  if (search.record !== null) await write(io.stderr, unrecordedText(unrecorded));
  if (malformed > 0) throw malformedLines(malformed);
  if (unverified > 0) throw unverifiedLines(unverified);
}

/** As in the log. What is added stands at the end, so that it can be taken away again. */
function jsonLine({ line, shown }: FoundLine): string {
  return escapeJson(shown === undefined ? line : `${line.slice(0, -1)},"shown":"${shown}"}`);
}

/** Without this, an answer about a record would look complete. */
function unrecordedText({ lists, counts, silences, begins }: Unrecorded): string {
  const lines = [
    ...(lists === 0
      ? []
      : [
          `not recorded: which records ${count(lists, 'answer')} showed; this one may be among them`,
          '  help: to see them, search with `--namespace` and where the record was',
        ]),
    ...(counts === 0 ? [] : [`not recorded: which records ${count(counts, 'count')} counted; none was shown`]),
    ...silences.map(silenceText),
    ...begins.map(
      ({ log, seq }) => `not read: the events of log ${log} before ${groupDigits(seq)}, which are elsewhere`,
    ),
  ];
  return lines.map((line) => `${escapeText(line)}\n`).join('');
}

export function silenceText({ log, queries, from, until }: Silence): string {
  const what = queries === 'none' ? 'queries' : 'queries that were allowed';
  return `not recorded: ${what} in log ${log} from ${from} ${until === null ? 'on' : `until ${until}`}`;
}

/** The line itself stays as it is in the log. */
function warningOf({ event: { log, seq }, fault }: FoundLine): string {
  return fault === null ? '' : escapeText(`warning: [${log} ${String(seq)}] ${UNVERIFIED[fault]}\n`);
}

const UNVERIFIED: Readonly<Record<LineFault, string>> = Object.freeze({
  edited: 'DOES NOT VERIFY: it was changed after it was written',
  broken: 'DOES NOT VERIFY: it does not follow the event before it',
  unreadable: 'DOES NOT VERIFY: nobody can read which records it showed',
});

export function unverifiedLines(unverified: number): CliFailure {
  const message = `${count(unverified, 'event')} that ${unverified === 1 ? 'is' : 'are'} shown ${unverified === 1 ? 'does' : 'do'} not verify`;
  return new CliFailure(EXIT.integrity, { code: 'audit.faults', message }, { help: 'run `bailiwick audit verify`' });
}

export function malformedLines(malformed: number): CliFailure {
  return new CliFailure(
    EXIT.integrity,
    {
      code: 'audit.faults',
      message: `${count(malformed, 'line')} of the log ${malformed === 1 ? 'is not an event' : 'are not events'}`,
    },
    { help: 'run `bailiwick audit verify`' },
  );
}

const SHOWN = Object.freeze({
  yes: 'shown',
  maybe: `shown, unless by a chance of 1 in ${groupDigits(SET_ODDS)}`,
});

/** One line: when, outcome, who, what, where, and by which grants or at which step. */
function eventText({ event, fault, shown }: FoundLine): string {
  const {
    time,
    outcome,
    actor,
    operation,
    step,
    cause,
    grants,
    grantsOmitted,
    items,
    records,
    key,
    address,
    log,
    seq,
  } = event;
  const by = grants === undefined || grants.length === 0 ? [] : [`by ${grants.join(', ')}`];
  const parts = [
    time,
    outcome.padEnd(7),
    actor.id,
    operation,
    ...placesOf(event),
    ...by,
    ...(grantsOmitted === undefined ? [] : [`and ${count(grantsOmitted, 'more grant')}`]),
    ...(step === undefined ? [] : [`at ${step}${cause === undefined ? '' : ` (${cause})`}`]),
    ...(items === undefined ? [] : [`${groupDigits(items)}x`]),
    ...(records ?? []),
    ...(shown === undefined ? [] : [SHOWN[shown]]),
    ...(key === undefined ? [] : [`key ${key}`]),
    ...(address === undefined ? [] : [`from ${address}`]),
    `[${log} ${String(seq)}]`,
    ...(fault === null ? [] : [UNVERIFIED[fault]]),
  ];
  return escapeText(parts.join('  '));
}

export function placesOf({ access }: StoredEvent): readonly string[] {
  if (access === null) return [];
  if ('source' in access) return [`${access.source} to ${access.destination}`];
  return [`${access.creates ?? access.target}${access.reach === undefined ? '' : ` (${access.reach})`}`];
}

/** Where the log is. Throws `CliFailure` if there is none. */
export async function folderOf(
  io: CliIo,
  given: string | undefined,
  { flags, absent = EXIT.usage }: { readonly flags: SettingFlags; readonly absent?: ExitStatus },
): Promise<string> {
  const folder = given === undefined ? auditFolderOf(await configOf(io, flags)) : pathOf(io, given);
  if (existsSync(folder)) return folder;
  const help = given === undefined ? 'name its folder, or the data folder with --data-dir' : 'check the path';
  throw new CliFailure(absent, { code: 'audit.absent', message: `there is no audit log in \`${folder}\`` }, { help });
}

function namespaceOf(text: string | undefined): NamespacePath | null {
  if (text === undefined) return null;
  const named = canonicalize(text);
  if (!named.ok) throw usage('`--namespace` must be a path such as `/labs/optics`');
  return named.path;
}

async function instantOf(flag: string, text: string | undefined): Promise<Instant | null> {
  return text === undefined ? null : instantOption(text, flag);
}
