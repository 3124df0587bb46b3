// Which policy was in force, on a terminal and as JSON.
import { formatInstant, type Instant, parseInstant } from '../../../engine/index.js';
import type { InForce } from '../../audit/in-force.js';
import { membersOf, textOf, textsOf } from '../answer-members.js';
import { escapeText } from './escape.js';

/** The snapshot that decided; null if there was none, or nothing is known. */
function snapshotOf({ event }: InForce): string | null {
  return event === null || event.operation === 'gateway.stop' ? null : event.snapshot;
}

export function inForceJson(found: InForce): object {
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

export function inForceText(found: InForce, at: Instant): string {
  const { log, event, ended, first, last } = found;
  const snapshot = snapshotOf(found);
  const lines = [
    ...(event === null
      ? [`nothing is known: its first event ${first.seq === 1 ? '' : 'in these files '}is of ${first.time}`]
      : snapshot === null
        ? [
            event.operation === 'gateway.stop'
              ? `nothing: the gateway stopped at ${event.time}`
              : 'no snapshot: local mode',
          ]
        : [`snapshot ${snapshot}`, `in force since ${event.time}${ended === null ? '' : ` until ${ended.time}`}`]),
    ...(event === null && first.seq > 1 ? ['older files are elsewhere: name their folder with --log'] : []),
    ...(snapshot === null ? [] : policyLines(event?.policy)),
    ...(event === null ? [] : [`event ${String(event.seq)} (${event.operation})`]),
    ...(ended === null && isBefore(last.time, at)
      ? [`the last event of this log is of ${last.time}; it says nothing of later`]
      : []),
  ];
  return `${escapeText(log)}\n${lines.map((line) => `  ${escapeText(line)}\n`).join('')}`;
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
