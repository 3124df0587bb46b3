// The events of commands: one for each command that is done, written into the outbox in the same transaction. A replay
// does nothing, so it is recorded as what it is: a reading of the records that it shows.
import { cite } from '../audit/cite.js';
import {
  type AccessAsked,
  type AuditEvent,
  askedOf,
  type CopyAsked,
  eventActor,
  type EventParts,
  makeEvent,
} from '../audit/event.js';
import type { Done, CommandOperation } from './command.js';
import type { Asking, Shown } from './execute.js';
import { access } from './rules.js';

export interface Recorded {
  readonly operation: CommandOperation;
  readonly asked: AccessAsked | CopyAsked;
  readonly done: Done;
  readonly shown: Shown;
  /** The id of the record that was copied. */
  readonly source?: string;
}

/** `nextId` makes ids for the events themselves. */
export function commandEvent(asking: Asking, nextId: () => string, recorded: Recorded): AuditEvent {
  const { asked, operation, done, shown, source } = recorded;
  return makeEvent({
    ...partsOf(asking, nextId, asked),
    kind: 'command',
    operation,
    status: shown.status,
    records: [...new Set([done.id, ...(source === undefined ? [] : [source])])],
  });
}

/** The event of showing a record from a kept answer. */
export function replayEvent(asking: Asking, nextId: () => string, { family, namespace, id }: Done): AuditEvent {
  return makeEvent({
    ...partsOf(asking, nextId, askedOf(access(family, 'read', namespace))),
    kind: 'query',
    operation: `${family}.read`,
    status: 200,
    records: [id],
  });
}

type Common = Omit<EventParts, 'kind' | 'operation' | 'status' | 'records'>;

function partsOf({ actor, at, requestId, pinned }: Asking, nextId: () => string, asked: Recorded['asked']): Common {
  const { snapshot, resolved } = pinned;
  const common = { id: nextId(), at, requestId, actor: eventActor(actor), outcome: 'allowed', snapshot } as const;
  return { ...common, access: asked, decision: cite({ access: asked, resolved }, at).decision };
}
