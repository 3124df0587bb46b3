// Trails on the store of a suite: what they are given, what their logs have, and that all of them are closed.
import { afterEach } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import { recordInTransaction } from '../../server/audit/outbox.js';
import type { AuditTrail, TrailOptions } from '../../server/audit/trail.js';
import { eventOf, readLines, trailIn } from './audit-log.js';
import type { StoreOfSuite } from './stores.js';
import { until } from './until.js';

export interface SuiteTrails {
  readonly openIn: (folder: string, options?: Partial<TrailOptions>) => Promise<AuditTrail>;
  readonly closeAll: () => Promise<void>;
  /** Commits events of these numbers. */
  readonly put: (...numbers: readonly number[]) => Promise<void>;
  /** Of the events in the logs of a folder. */
  readonly ids: (folder: string) => readonly string[];
  /** Whether the outbox is. */
  readonly isEmpty: () => Promise<boolean>;
  readonly untilEmpty: () => Promise<void>;
}

/** After each test the trails are closed and the outbox is empty. */
export function trailsOn(store: StoreOfSuite): SuiteTrails {
  const open: AuditTrail[] = [];
  const closeAll = async (): Promise<void> => {
    for (const trail of open.splice(0)) await trail.close();
  };
  afterEach(async () => {
    await closeAll();
    await store.db.knex.raw('DELETE FROM audit_outbox');
  });
  const isEmpty = async (): Promise<boolean> => {
    const { rows } = await store.db.knex.raw<{ rows: readonly unknown[] }>('SELECT 1 FROM audit_outbox LIMIT 1');
    return rows.length === 0;
  };
  return {
    openIn: async (folder, options = {}) => {
      const trail = await trailIn(folder, store.db, options);
      open.push(trail);
      return trail;
    },
    closeAll,
    put: (...numbers) =>
      store.db.write((transaction) =>
        recordInTransaction(
          transaction,
          numbers.map((n) => eventOf(n)),
        ),
      ),
    ids: (folder) => readLines(folder).map((line) => (JSON.parse(line) as { readonly id: string }).id),
    isEmpty,
    untilEmpty: () => until(isEmpty),
  };
}

/** What a gateway records of a refused request, at the beginning of time. */
export const REFUSED = {
  kind: 'refusal',
  requestId: 'r',
  actor: eventOf(1).actor,
  operation: 'request',
  outcome: 'failed',
  at: instantOf(0),
} as const;
