// How gateways learn that a key was revoked (key-leases.ts): by an announcement, or else when the lease has ended.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../db/sql.js';
import type { Store } from '../db/writing.js';
import { KEY_LIMITS } from '../limits/credentials.js';

export const REVOCATIONS_CHANNEL = 'bailiwick_keys';

/** Announces, when the transaction commits, that a key was revoked. */
export async function announceRevocation(db: Store, id: string): Promise<void> {
  await db.rows(sql`SELECT pg_notify(${REVOCATIONS_CHANNEL}, ${id})`);
}

/** To be waited for between a COMMIT that revokes a key and the answer that says so. */
export const leasesEnded = (): Promise<void> => sleep(KEY_LIMITS.lease + KEY_LIMITS.leaseMargin);
