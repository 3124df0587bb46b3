// `bailiwick policy-at <instant>`: which policy was in force then, by what the audit log says.
import { formatInstant, type Instant, parseInstant } from '../../../engine/index.js';
import type { SettingFlags } from '../../config/index.js';
import { type InForce, policiesInForce } from '../../audit/in-force.js';
import { membersOf, textOf, textsOf } from '../answer-members.js';
import { folderOf, LOG_SETTINGS, logFailure, malformedLines } from '../audit-log.js';
import { addReport, CliFailure, EXIT } from '../exit.js';
import { type CliIo, write, writeJson } from '../io.js';
import { formats, instantOption } from '../options.js';
import { linesText } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<instant>': 'time to ask about, as RFC 3339',
  '--log <folder>': 'folder of the audit log (default: the one of the settings)',
  ...formats(),
});

export const definePolicyAt = verb(TAKES, policyAt, {
  settings: LOG_SETTINGS,
  examples: {
    'the policy of last new year, and who stood behind it': 'bailiwick policy-at 2027-01-01T00:00:00Z',
    'its commits, if the policy is in git': `bailiwick find $(bailiwick policy-at 2027-01-01T00:00:00Z --format json | jq -r '.logs[0].snapshot') main:policies`,
  },
  json: [
    '{"at","logs":[{"log","snapshot","since","until","seq","operation","policy"?,"firstSeq","lastEvent","verifies"}]}',
    'One for each log. `snapshot` is null if no policy was in force or none is known; `until` is null if it was in force at the end of the log.',
    '`policy` says where it came from and who stood behind it, as in the event `seq` of the log.',
  ],
});

async function policyAt(io: CliIo, flags: Given<typeof TAKES> & SettingFlags): Promise<void> {
  const at = instantOption(flags.instant, '<instant>');
  const folder = await folderOf(io, flags.log, { flags });
  const { logs, malformed } = await policiesInForce(folder, at);
  if (logs.length === 0)
    throw new CliFailure(EXIT.integrity, 'audit.absent', `no audit log in \`${folder}\` has an event`, {
      help: 'check it with `bailiwick audit verify`',
    });
  const report = { at: formatInstant(at), logs: logs.map(inForceJson) };
  const failure = malformed > 0 ? malformedLines(malformed) : notIntact(logs);
  if (flags.format === 'text') await write(io.stdout, logs.map((one) => inForceText(one, at)).join(''));
  else if (failure === null) await writeJson(io, report);
  if (failure !== null) throw addReport(failure, report);
}

function notIntact(logs: readonly InForce[]): CliFailure | null {
  const damaged = logs.filter(({ fault }) => fault !== null).map(({ log }) => log);
  if (damaged.length === 0) return null;
  const message = `the event of ${damaged.join(', ')} that says this does not verify`;
  return logFailure(message);
}

/** The snapshot that decided; null if there was none, or nothing is known. */
function snapshotOf({ event }: InForce): string | null {
  return event === null || event.operation === 'gateway.stop' ? null : event.snapshot;
}

function inForceJson(found: InForce): object {
  const { log, event, ended, first, last, fault } = found;
  return {
    log,
    snapshot: snapshotOf(found),
    since: event?.time ?? null,
    until: ended?.time ?? null,
    seq: event?.seq ?? null,
    operation: event?.operation ?? null,
    ...(event?.policy === undefined ? {} : { policy: event.policy }),
    firstSeq: first.seq,
    lastEvent: last.time,
    verifies: event === null ? null : fault === null,
  };
}

function inForceText(found: InForce, at: Instant): string {
  const { log, event, ended, first, last } = found;
  const snapshot = snapshotOf(found);
  const stopped = event?.operation === 'gateway.stop';
  const lines = [
    event === null &&
      `nothing is known: its first event ${first.seq === 1 ? '' : 'in these files '}is of ${first.time}`,
    event === null && first.seq > 1 && 'older files are elsewhere: name their folder with --log',
    stopped && `nothing: the gateway stopped at ${event.time}`,
    event !== null && snapshot === null && !stopped && 'no snapshot: local mode',
    snapshot !== null && `snapshot ${snapshot}`,
    snapshot !== null && `in force since ${event?.time ?? ''}${ended === null ? '' : ` until ${ended.time}`}`,
    ...(snapshot === null ? [] : policyLines(event?.policy)),
    event !== null && `event ${String(event.seq)} (${event.operation})`,
    ended === null &&
      isBefore(last.time, at) &&
      `the last event of this log is of ${last.time}; it says nothing of later`,
  ];
  return linesText([log, ...lines.map((line) => line !== false && `  ${line}`)]);
}

function isBefore(time: string, at: Instant): boolean {
  const instant = parseInstant(time);
  return instant !== null && instant < at && formatInstant(instant) !== formatInstant(at);
}

/** What the event says of where the policy came from, and of who stands behind it. */
function policyLines(policy: object | undefined): readonly string[] {
  const members = membersOf(policy);
  const line = (name: string, value: unknown): readonly string[] =>
    value === undefined ? [] : [`${name} ${Array.isArray(value) ? value.map(textOf).join(', ') : textOf(value)}`];
  const statement = members.get('statement');
  return [
    ...line('from', members.get('source')),
    ...['repository', 'ref', 'commit', 'path', 'url'].flatMap((name) => line(name, members.get(name))),
    ...line('activation number', members.get('generation')),
    ...line('by', members.get('askedBy')),
    ...line('reason', members.get('reason')),
    ...line('signed by', members.get('signers')),
    ...(statement === undefined
      ? []
      : [`statement ${textsOf(statement, ['environment', 'generation', 'issued', 'expires'])}`]),
  ];
}
