// The installation's secrets: the keys for credential fingerprints and for cursors (docs/credentials.md
// "Fingerprints"). The first process makes them, and all others read the same ones. They never leave the processes that
// share the store.
import { randomBytes } from 'node:crypto';
import { sql } from './sql.js';
import type { Store } from './writing.js';

export interface Secrets {
  /** 32 bytes: keys the fingerprints of credentials. */
  readonly fingerprint: Uint8Array;
  /** 32 bytes: keys the cursors of queries. */
  readonly cursor: Uint8Array;
}

const BYTES = 32;
const NAMES = Object.freeze(['fingerprint', 'cursor'] as const);

/** The secrets of this store. The very first call makes them. The store must be migrated. */
export async function readSecrets(db: Store): Promise<Secrets> {
  const stored = await read(db);
  if (stored !== null) return stored;
  const values = NAMES.map(() => randomBytes(BYTES).toString('hex'));
  await db.rows(
    sql`INSERT INTO secrets (name, value, created_at)
     SELECT name, decode(value, 'hex'), now() FROM unnest(${NAMES}::text[], ${values}::text[]) AS fresh (name, value)
     ON CONFLICT (name) DO NOTHING`,
  );
  const made = await read(db);
  if (made === null) throw new Error('the secrets of the store could not be made');
  return made;
}

async function read(db: Store): Promise<Secrets | null> {
  const rows = await db.rows<{ readonly name: string; readonly value: Buffer }>(
    sql`SELECT name, value FROM secrets WHERE name = ANY(${NAMES}::text[])`,
  );
  const byName = new Map(rows.map(({ name, value }) => [name, value]));
  const fingerprint = byName.get('fingerprint');
  const cursor = byName.get('cursor');
  if (fingerprint === undefined || cursor === undefined) return null;
  for (const value of [fingerprint, cursor]) {
    if (value.length !== BYTES) throw new Error('a secret of the store has a wrong length');
  }
  return { fingerprint: new Uint8Array(fingerprint), cursor: new Uint8Array(cursor) };
}
