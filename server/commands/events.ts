// The events of commands: one for each that is done, written into the outbox in the same transaction. A replay does nothing; it is
// recorded as what it is, a reading of the records that it shows.
import { type Decision, decideAs, type GrantRef, type Request } from '../../engine/index.js';
import { type AuditEvent, askedOf, eventActor, type EventParts, makeEvent } from '../audit/event.js';
import type { Authorized, Done, Operation } from './command.js';
import type { Asking, Shown } from './execute.js';
import { access } from './rules.js';

export interface Recorded extends Authorized {
  readonly operation: Operation;
  readonly done: Done;
  readonly shown: Shown;
}

/** `nextId` makes the events' own ids. */
export function commandEvent(asking: Asking, nextId: () => string, recorded: Recorded): AuditEvent {
  const { asked, operation, done, shown } = recorded;
  return makeEvent({
    ...partsOf(asking, nextId),
    kind: 'command',
    operation: `${done.family}.${operation}`,
    access: accessOf(asked, done),
    status: shown.status,
    decision: decisionOf(asking, asked),
    records: [done.id],
  });
}

/** Of a record that a kept answer shows. */
export function replayEvent(asking: Asking, nextId: () => string, { family, namespace, id }: Done): AuditEvent {
  const request = access(family, 'read', namespace);
  return makeEvent({
    ...partsOf(asking, nextId),
    kind: 'query',
    operation: `${family}.read`,
    access: askedOf(request),
    status: 200,
    decision: decisionOf(asking, [request]),
    records: [id],
  });
}

function partsOf(
  { actor, at, requestId, pinned }: Asking,
  nextId: () => string,
): Pick<EventParts, 'id' | 'at' | 'requestId' | 'actor' | 'outcome' | 'snapshot'> {
  return { id: nextId(), at, requestId, actor: eventActor(actor), outcome: 'allowed', snapshot: pinned.snapshot };
}

function accessOf([first, second]: Authorized['asked'], { family }: Done): NonNullable<EventParts['access']> {
  if (first === undefined) throw new TypeError('a command that asked nothing of the policy');
  if (second === undefined) return askedOf(first);
  const isCopied = family === 'resource' || family === 'process-run';
  if (!isCopied || first.kind !== 'access' || second.kind !== 'access') throw new TypeError('no copy');
  return { source: first.target, destination: second.target, family };
}

/** All were allowed: together they rest on the grants of each. */
function decisionOf({ at, pinned }: Asking, requests: readonly Request[]): Decision {
  const grants = requests.flatMap((request): readonly GrantRef[] => {
    const decision = decideAs(pinned.resolved, { request, at });
    return decision.decision === 'allow' ? decision.grants : [];
  });
  return { decision: 'allow', grants };
}
