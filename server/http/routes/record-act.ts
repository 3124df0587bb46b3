// What an admin does is recorded in the transaction that does it.
import { eventAdmin, type EventParts, makeEvent } from '../../audit/event.js';
import { recordInTransaction } from '../../audit/outbox.js';
import type { AdminActor } from '../../auth/admin-actor.js';
import type { Writing } from '../../db/writing.js';
import type { IdSource } from '../../lib/ports.js';
import type { Call } from '../route.js';

type Act = Omit<EventParts, 'at' | 'requestId' | 'id' | 'kind' | 'actor' | 'outcome'>;

export type RecordAct = (writing: Writing, call: Call<AdminActor>, act: Act) => Promise<void>;

export function actRecorder(nextId: IdSource): RecordAct {
  return (writing, { actor, at, requestId }, act) => {
    const done = { kind: 'admin', outcome: 'allowed', actor: eventAdmin(actor) } as const;
    return recordInTransaction(writing, [makeEvent({ ...act, ...done, at, requestId, id: nextId() })]);
  };
}
