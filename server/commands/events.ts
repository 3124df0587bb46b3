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
import type { Asking } from './session.js';
import { access } from './rules.js';

/** What a command did. */
export interface Deed {
  readonly operation: CommandOperation;
  readonly asked: AccessAsked | CopyAsked;
  readonly status: number;
  /** The id of the record. */
  readonly id: string;
  /** The id of the record that was copied. */
  readonly source?: string;
}

/** `nextId` makes ids for the events themselves. */
export function commandEvent(asking: Asking, nextId: () => string, deed: Deed): AuditEvent {
  const { asked, operation, status, id, source } = deed;
  return makeEvent({
    ...partsOf(asking, nextId, asked),
    kind: 'command',
    operation,
    status,
    records: [...new Set([id, ...(source === undefined ? [] : [source])])],
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

function partsOf({ actor, at, requestId, pinned }: Asking, nextId: () => string, asked: Deed['asked']): Common {
  const { snapshot, resolved } = pinned;
  const common = { id: nextId(), at, requestId, actor: eventActor(actor), outcome: 'allowed', snapshot } as const;
  return { ...common, access: asked, ...cite({ access: asked, resolved }, at) };
}
