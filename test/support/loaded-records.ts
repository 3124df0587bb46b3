// Records in a store, by the way of `bailiwick load`.
import { type Instant, instantOf } from '../../engine/index.js';
import type { Database } from '../../server/db/database.js';
import { loadDataset, type LoadReport } from '../../server/load/load-dataset.js';
import type { OnConflict } from '../../server/load/store-batch.js';

export const LENS = '0190c0de-0000-7000-8000-000000000001';
export const HIDDEN = '0190c0de-0000-7000-8000-000000000002';
/** Of no record. */
export const ABSENT = '0190c0de-0000-7000-8000-000000000003';

export async function loadLines(
  db: Database,
  lines: readonly string[],
  now: Instant = instantOf(0),
  onConflict: OnConflict = 'report',
): Promise<LoadReport> {
  async function* groups(): AsyncGenerator<readonly { number: number; bytes: Uint8Array }[]> {
    yield await Promise.resolve(lines.map((line, i) => ({ number: i + 1, bytes: Buffer.from(line) })));
  }
  return loadDataset(db, groups(), { onConflict, now });
}

/** The lens at /labs/x, and a secret in /vault. */
export async function loadLensAndSecret(db: Database): Promise<void> {
  const records = [
    { family: 'resource', namespace: '/labs/x', name: 'lens', id: LENS },
    { family: 'resource', namespace: '/vault', name: 'secret', id: HIDDEN },
  ];
  await loadLines(
    db,
    records.map((record) => JSON.stringify(record)),
  );
}
