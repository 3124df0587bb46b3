// Records what commands do to the store without a gateway: whoever ran them is the system's account of
// this process.
import { userInfo } from 'node:os';
import type { Knex } from 'knex';
import type { Instant } from '../../engine/index.js';
import { eventOperator, makeEvent, type EventParts } from '../audit/event.js';
import { recordInTransaction } from '../audit/outbox.js';
import { makeIdSource } from '../ports.js';

/** Records one act of this run in the transaction that does it. */
export type OperatorRecorder = (
  transaction: Knex.Transaction,
  act: Pick<EventParts, 'operation' | 'key' | 'items' | 'snapshot'>,
) => Promise<void>;

export function makeOperatorRecorder(at: Instant): OperatorRecorder {
  const nextId = makeIdSource();
  const run = {
    at,
    kind: 'admin',
    requestId: nextId(),
    actor: eventOperator(accountName()),
    outcome: 'allowed',
  } as const;
  return (transaction, act) => recordInTransaction(transaction, [makeEvent({ ...act, ...run, id: nextId() })]);
}

/** That of a container may have a number and no name. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${String(process.getuid?.() ?? 'unknown')}`;
  }
}
