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
 * Writes every record to `sink`. Namespaces that exist only because something is below them have no line: `load` makes them again.
 * Revisions, `updatedAt` and `createdBy` have no place in a dataset.
 */
export function exportDataset(
  db: Database,
  sink: LineSink,
  onProgress: (records: number) => void,
): Promise<ExportReport> {
  return db.transaction(async (trx) => {
    await trx.raw('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const tooLong: string[] = [];
    let records = 0;
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

async function* pagesOf(trx: Knex.Transaction, family: Family): AsyncGenerator<readonly ExportRow[]> {
  let after = { path: '', id: '00000000-0000-0000-0000-000000000000' };
  for (;;) {
    const page = await rowsOf<ExportRow>(
      trx,
      sql`SELECT id, path, name, description, properties, version, schema, slots, template, parameters, resources, state, unique_name,
          created_at, archived_at
        FROM records
        WHERE family = ${familyCode(family)}::smallint AND NOT implied AND (path, id) > (${after.path}::text, ${after.id}::uuid)
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
    namespace: row.path === '/' ? '/' : row.path.slice(0, -1),
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

function instantText(value: unknown): string | null {
  return value instanceof Date ? value.toISOString() : null;
}
