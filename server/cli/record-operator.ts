// Records what commands do to the store without a gateway. The operator is the system account that runs this process.
import { userInfo } from 'node:os';
import type { Instant } from '../../engine/index.js';
import { eventOperator, makeEvent, type EventParts } from '../audit/event.js';
import { recordInTransaction } from '../audit/outbox.js';
import type { Store } from '../db/writing.js';
import { makeIdSource } from '../lib/ports.js';

/** Records one act of this run in the transaction that does it. */
export type OperatorRecorder = (
  writing: Store,
  act: Pick<EventParts, 'operation' | 'credential' | 'key' | 'items' | 'policy' | 'snapshot'>,
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
  return (writing, act) => recordInTransaction(writing, [makeEvent({ ...act, ...run, id: nextId() })]);
}

/** In a container the account may have only a number and no name. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${String(process.getuid?.() ?? 'unknown')}`;
  }
}
