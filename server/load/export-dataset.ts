// The records of a store as the lines of a dataset, in an order that `load` accepts: what others refer to comes first.
// Everything is read in one transaction, so the lines agree with one another whatever is written in the meantime.
import type { Knex } from 'knex';
import { FAMILIES, type Family } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { rowsOf, sql } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { LOAD_LIMITS } from '../limits/records.js';

export interface ExportReport {
  readonly records: number;
  /** The ids of records whose lines would be longer than `load` accepts. */
  readonly tooLong: readonly string[];
}

/** Takes the lines of some records, each with its line end. Resolves when there is room for more. */
export type LineSink = (text: string) => Promise<void>;

/**
 * Writes every record to `sink`, and of deleted ones that they were. Namespaces that exist only because something is below
 * them have no line: `load` makes them again.
 * Revisions, `updatedAt` and `createdBy` have no place in a dataset.
 */
export function exportDataset(
  db: Database,
  sink: LineSink,
  onProgress: (records: number) => void,
): Promise<ExportReport> {
  return db.transaction(async (trx) => {
    await trx.raw('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    // Before anything is read: a table that is made meanwhile (server/db/partitions.ts) would look empty.
    await trx.raw('LOCK TABLE records IN ACCESS SHARE MODE');
    const tooLong: string[] = [];
    let records = 0;
    for await (const page of deletedPages(trx)) {
      await sink(page.map((line) => `${JSON.stringify(line)}\n`).join(''));
      records += page.length;
      onProgress(records);
    }
    for (const family of FAMILIES) {
      for await (const page of pagesOf(trx, family)) {
        const lines = page.map((row) => `${JSON.stringify(lineOf(family, row))}\n`);
        lines.forEach((line, i) => {
          if (Buffer.byteLength(line) - 1 > LOAD_LIMITS.lineBytes) tooLong.push(page[i]?.id ?? '');
        });
        await sink(lines.join(''));
        records += page.length;
        onProgress(records);
      }
    }
    return { records, tooLong };
  });
}

interface ExportRow {
  readonly id: string;
  readonly path: string;
  readonly [column: string]: unknown;
}

/** First of all, since what is left may refer to them. */
async function* deletedPages(trx: Knex.Transaction): AsyncGenerator<readonly object[]> {
  for (let after = FIRST_ID; ;) {
    const page = await rowsOf<ExportRow>(
      trx,
      sql`SELECT id, family, path, deleted_at FROM tombstones WHERE id > ${after}::uuid ORDER BY id LIMIT ${LOAD_LIMITS.exportedRecords}::int`,
    );
    const last = page.at(-1);
    if (last === undefined) return;
    yield page.map(({ id, family, path, deleted_at: at }) => ({
      family: FAMILIES[Number(family)],
      namespace: namespaceOf(path),
      id,
      deletedAt: instantText(at),
    }));
    after = last.id;
  }
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** With nothing below it, nothing else makes such a namespace again. The root is always there. */
const IS_NEEDED = sql`NOT r.implied OR r.path <> '/' AND NOT EXISTS (SELECT FROM generate_series(0, 4) AS f (family)
  CROSS JOIN LATERAL (SELECT FROM records AS b WHERE b.family = f.family::smallint AND b.path >= r.path
    AND b.path < left(r.path, -1) || '0' AND b.id <> r.id LIMIT 1) AS b)`;

async function* pagesOf(trx: Knex.Transaction, family: Family): AsyncGenerator<readonly ExportRow[]> {
  let after = { path: '', id: FIRST_ID };
  for (;;) {
    const page = await rowsOf<ExportRow>(
      trx,
      sql`SELECT id, path, name, description, properties, version, schema, slots, template, parameters, resources, state, unique_name,
          created_at, archived_at
        FROM records AS r
        WHERE family = ${familyCode(family)}::smallint AND (${IS_NEEDED}) AND (path, id) > (${after.path}::text, ${after.id}::uuid)
        ORDER BY path, id LIMIT ${LOAD_LIMITS.exportedRecords}::int`,
    );
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last;
  }
}

/** The dataset's fields in the order of its documentation. Fields that the record lacks are left out. */
function lineOf(family: Family, row: ExportRow): object {
  const fields = {
    family,
    namespace: namespaceOf(row.path),
    id: row.id,
    name: family === 'namespace' ? null : row['name'],
    description: row['description'],
    properties: row['properties'],
    version: row['version'],
    schema: row['schema'],
    uniqueName: family.endsWith('-template') && row['unique_name'] === true ? true : null,
    slots: row['slots'],
    template: row['template'],
    parameters: row['parameters'],
    resources: row['resources'],
    state: row['state'],
    createdAt: instantText(row['created_at']),
    archivedAt: instantText(row['archived_at']),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

function namespaceOf(path: string): string {
  return path === '/' ? '/' : path.slice(0, -1);
}

function instantText(value: unknown): string | null {
  return value instanceof Date ? value.toISOString() : null;
}
