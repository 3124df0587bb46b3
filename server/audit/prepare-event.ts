// An event about an answer, whose list of records is made only when the event goes into the log: after the answer, with
// others, and off everybody's way.
import { type AuditEvent, type EventParts, makeEvent } from './event.js';
import { listedOf, type RecordsHeld, type ShownIds } from './listed.js';

export interface AnswerParts extends EventParts {
  /** The records that the answer showed; absent if it showed none, or only those that the request named. */
  readonly shown?: ShownIds;
}

export interface EventToSeal {
  readonly event: AuditEvent;
  readonly shown: ShownIds;
  readonly held: RecordsHeld;
}

export type PreparedEvent = AuditEvent | EventToSeal;

/** Nothing else can be in a list: other text means a bug of ours. */
const IDS = /^[0-9a-f,-]*$/;

export function prepareEvent({ shown, ...parts }: AnswerParts, held: RecordsHeld): PreparedEvent {
  const event = makeEvent(parts);
  if (shown === undefined) return event;
  if (!IDS.test(shown)) throw new TypeError('a list of records takes no text of this form');
  return { event, shown, held };
}

/** `small`: as a set, even if the settings want each id. */
export function sealEvent(prepared: PreparedEvent, size: 'exact' | 'small' = 'exact'): AuditEvent {
  if (!('shown' in prepared)) return prepared;
  const { event, shown, held } = prepared;
  return Object.freeze({
    ...event,
    listed: listedOf(event.id, shown, size === 'small' && held === 'ids' ? 'set' : held),
  });
}
