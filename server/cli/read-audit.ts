// What `audit verify` and `audit query` do: they read a log and print what they found as text or JSON.
import { existsSync } from 'node:fs';
import { canonicalize, groupDigits, type Instant, type NamespacePath } from '../../engine/index.js';
import type { StoredEvent } from '../audit/event-schema.js';
import { type FoundLine, type Search, searchLogs } from '../audit/search.js';
import { type VerifyReport, verifyLogs } from '../audit/verify.js';
import { auditFolderOf, type SettingFlags } from '../config/index.js';
import type { QueryFlags, SearchFlags, VerifyFlags } from './commands/audit.js';
import { EXIT } from './exit-codes.js';
import { CliFailure, usage } from './failure.js';
import { type CliIo, pathOf, write, writeJson } from './io.js';
import { configOf, instantOption } from './options.js';
import { escapeJson, escapeText } from './render/escape.js';
import { startProgress } from './render/terminal.js';
import { count } from './render/text.js';

export async function verifyCommand(io: CliIo, given: string | undefined, flags: VerifyFlags): Promise<void> {
  const folder = await folderOf(io, given, flags);
  const progress = startProgress(io);
  const { head = [], after } = flags;
  const report = await verifyLogs(folder, {
    heads: head,
    ...(after === undefined ? {} : { after }),
    onProgress: (events) => {
      progress.update(`${groupDigits(events)} events`);
    },
  });
  progress.done();
  if (!report.ok) io.setStatus(EXIT.integrity);
  if (flags.format === 'json') await writeJson(io, toJson(report));
  else await write(io.stdout, verifyText(report));
}

function toJson({ ok, events, logs, faults, count: all }: VerifyReport): object {
  const [only, ...others] = logs;
  const head = others.length === 0 ? (only?.head ?? null) : null;
  const message = `${count(all, 'fault')} in the audit log`;
  return { ok, events, head, faults, logs, ...(ok ? {} : { error: { code: 'audit.faults', message } }) };
}

function verifyText({ ok, events, logs, faults, count: all }: VerifyReport): string {
  const lines = [
    ...faults.map(({ log, seq, kind, text }) => `${log}: ${String(seq)}: ${kind}: ${text}`),
    ...(all > faults.length ? [`and ${count(all - faults.length, 'more fault')}`] : []),
    ...logs.map(({ log, events: n, head }) =>
      head === null ? `${log}: no events` : `${log}: ${count(n, 'event')}, head ${String(head.seq)}:${head.hash}`,
    ),
    `${ok ? 'whole' : count(all, 'fault')}: ${count(events, 'event')} in ${count(logs.length, 'log')}`,
  ];
  return lines.map((line) => `${escapeText(line)}\n`).join('');
}

/** Throws `CliFailure` for a bad instant or path. */
export async function searchOf(flags: SearchFlags): Promise<Search> {
  return {
    actors: flags.actor ?? [],
    namespace: namespaceOf(flags.namespace),
    outcomes: flags.outcome ?? [],
    kinds: flags.kind ?? [],
    record: flags.record?.toLowerCase() ?? null,
    since: await instantOf('--since', flags.since),
    until: await instantOf('--until', flags.until),
  };
}

export async function queryCommand(io: CliIo, given: string | undefined, flags: QueryFlags): Promise<void> {
  const search = await searchOf(flags);
  const folder = await folderOf(io, given, flags);
  const show = flags.format === 'json' ? ({ line }: FoundLine): string => escapeJson(line) : eventText;
  const { malformed } = await searchLogs(folder, search, async (found) => {
    await write(io.stdout, found.map((one) => `${show(one)}\n`).join(''));
  });
  if (malformed > 0) throw malformedLines(malformed);
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

/** One line: when, outcome, who, what, where, and by which grants or at which step. */
function eventText({ event }: FoundLine): string {
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
    ...(key === undefined ? [] : [`key ${key}`]),
    ...(address === undefined ? [] : [`from ${address}`]),
    `[${log} ${String(seq)}]`,
  ];
  return escapeText(parts.join('  '));
}

export function placesOf({ access }: StoredEvent): readonly string[] {
  if (access === null) return [];
  if ('source' in access) return [`${access.source} to ${access.destination}`];
  return [`${access.creates ?? access.target}${access.reach === undefined ? '' : ` (${access.reach})`}`];
}

/** Where the log is. Throws `CliFailure` if there is none. */
export async function folderOf(io: CliIo, given: string | undefined, flags: SettingFlags): Promise<string> {
  const folder = given === undefined ? auditFolderOf(await configOf(io, flags)) : pathOf(io, given);
  if (existsSync(folder)) return folder;
  const help = given === undefined ? 'name its folder, or the data folder with --data-dir' : 'check the path';
  throw new CliFailure(
    EXIT.usage,
    { code: 'audit.absent', message: `there is no audit log in \`${folder}\`` },
    { help },
  );
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
