// The audit log as verbs name it: its folder, the flags by which events are chosen, and what is said of a log that is not
// intact.
import { existsSync } from 'node:fs';
import { canonicalize, groupDigits, type NamespacePath } from '../../engine/index.js';
import type { EventKind, Outcome } from '../audit/event.js';
import type { StoredEvent } from '../audit/event-schema.js';
import { listLogs } from '../audit/log-files.js';
import type { Search, Unrecorded } from '../audit/search.js';
import type { Silence } from '../audit/silences.js';
import { auditFolderOf, type SettingFlags, type SettingName } from '../config/index.js';
import { CliFailure, EXIT, type ExitStatus, usage } from './exit.js';
import { type CliIo, pathOf } from './io.js';
import { configOf, instantOption } from './options.js';
import { count } from './render/text.js';
import { type Given, repeated, takes } from './verb.js';

export const LOG_SETTINGS: readonly SettingName[] = ['config', 'dataDir'];
export const FOLDER = 'folder of the log (default: the one of the settings)';

const KINDS: readonly EventKind[] = ['command', 'query', 'refusal', 'authentication', 'admin'];
const OUTCOMES: readonly Outcome[] = ['allowed', 'denied', 'failed'];

/** The folder of the log, and the flags by which events are chosen. */
export const SEARCH = takes({
  '[folder]': FOLDER,
  '--actor <actor>': repeated('events of this actor: its id, `provider:subject`, or a fingerprint; may be repeated'),
  '--namespace <namespace>': 'events that may concern records in this namespace or below it',
  '--outcome <outcome>': { ...repeated('events with this outcome; may be repeated'), choices: OUTCOMES },
  '--kind <kind>': { ...repeated('events of this kind; may be repeated'), choices: KINDS },
  '--record <id>':
    'events in which this record was read or written, also in a list; standard error says what the log does not record',
  '--request <id>': "events of this request: the `requestId` of an answer or of the gateway's log",
  '--since <instant>': 'events at or after this instant, as RFC 3339',
  '--until <instant>': 'events before this instant, as RFC 3339',
});

/** Throws `CliFailure` for a bad instant or path. */
export function searchOf(flags: Given<typeof SEARCH>): Search {
  return {
    actors: flags.actor ?? [],
    namespace: namespaceOf(flags.namespace),
    outcomes: flags.outcome ?? [],
    kinds: flags.kind ?? [],
    record: flags.record?.toLowerCase() ?? null,
    request: flags.request ?? null,
    since: flags.since === undefined ? null : instantOption(flags.since, '--since'),
    until: flags.until === undefined ? null : instantOption(flags.until, '--until'),
  };
}

interface LogPlace {
  readonly flags: SettingFlags;
  readonly absent?: ExitStatus;
  /** Whether a folder without any log is none either: that nothing was found there could be taken for an answer. */
  readonly searched?: boolean;
}

/** Where the log is. Throws `CliFailure` if there is none. */
export async function folderOf(
  io: CliIo,
  given: string | undefined,
  { flags, absent = EXIT.usage, searched = false }: LogPlace,
): Promise<string> {
  const folder = given === undefined ? auditFolderOf(await configOf(io, flags)) : pathOf(io, given);
  // With the slash a file is not found.
  if (existsSync(`${folder}/`) && (!searched || (await listLogs(folder)).size > 0)) return folder;
  const help = given === undefined ? 'name its folder, or the data folder with --data-dir' : 'check the path';
  throw new CliFailure(absent, 'audit.absent', `there is no audit log in \`${folder}\``, { help });
}

function namespaceOf(text: string | undefined): NamespacePath | null {
  if (text === undefined) return null;
  const named = canonicalize(text);
  if (!named.ok) throw usage('`--namespace` must be a path such as `/labs/optics`');
  return named.path;
}

export function placesOf({ access }: StoredEvent): readonly string[] {
  if (access === null) return [];
  if ('source' in access) return [`${access.source} to ${access.destination}`];
  return [`${access.creates ?? access.target}${access.reach === undefined ? '' : ` (${access.reach})`}`];
}

export function silenceText({ log, queries, from, until }: Silence): string {
  const what = queries === 'none' ? 'queries' : 'queries that were allowed';
  return `not recorded: ${what} in log ${log} from ${from} ${until === null ? 'on' : `until ${until}`}`;
}

export function beginText({ log, seq }: Unrecorded['begins'][number]): string {
  return `not read: the events of log ${log} before ${groupDigits(seq)}, which are elsewhere`;
}

export function unverifiedLines(unverified: number): CliFailure {
  const message = `${count(unverified, 'event')} that ${unverified === 1 ? 'is' : 'are'} shown ${unverified === 1 ? 'does' : 'do'} not verify`;
  return logFailure(message);
}

export function malformedLines(malformed: number): CliFailure {
  const message = `${count(malformed, 'line')} of the log ${malformed === 1 ? 'is not an event' : 'are not events'}`;
  return logFailure(message);
}

/** The log, or what was made of it, is not what it should be. */
export function logFailure(message: string, code = 'audit.faults'): CliFailure {
  return new CliFailure(EXIT.integrity, code, message, { help: 'run `bailiwick audit verify`' });
}
