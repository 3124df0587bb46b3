// Records in a store, by the way of `bailiwick load`.
import { type Instant, instantOf } from '../../engine/index.js';
import type { Database } from '../../server/db/database.js';
import { exportDataset } from '../../server/load/export-dataset.js';
import { loadDataset, type LoadReport } from '../../server/load/load-dataset.js';
import type { OnConflict } from '../../server/load/batch.js';

export const LENS = '0190c0de-0000-7000-8000-000000000001';
export const HIDDEN = '0190c0de-0000-7000-8000-000000000002';
/** Of no record. */
export const ABSENT = '0190c0de-0000-7000-8000-000000000003';

export function loadLines(db: Database, lines: readonly string[], now: Instant = instantOf(0)): Promise<LoadReport> {
  return loadWith(db, lines, { onConflict: 'report', now });
}

/** The lines of `bailiwick export`. */
export async function exportedLines(db: Database): Promise<readonly string[]> {
  let text = '';
  await exportDataset(
    db,
    (more) => {
      text += more;
      return Promise.resolve();
    },
    () => undefined,
  );
  return text.split('\n').slice(0, -1);
}

/** Puts the lines in place of the records with their ids. */
export function replaceLines(db: Database, lines: readonly string[]): Promise<LoadReport> {
  return loadWith(db, lines, { onConflict: 'replace', now: instantOf(0) });
}

function loadWith(
  db: Database,
  lines: readonly string[],
  options: { readonly onConflict: OnConflict; readonly now: Instant },
): Promise<LoadReport> {
  async function* groups(): AsyncGenerator<readonly { number: number; bytes: Uint8Array }[]> {
    yield await Promise.resolve(lines.map((line, i) => ({ number: i + 1, bytes: Buffer.from(line) })));
  }
  return loadDataset(db, groups(), options);
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
