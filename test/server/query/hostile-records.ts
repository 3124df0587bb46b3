// Records made to break a query: every JSON type under the same names, texts that mean something to SQL, LIKE or JSON, numbers
// at the ends, characters whose order differs between encodings. They go into the table past all checks.
import type { Database } from '../../../server/db/database.js';
import type { Json } from './oracle/evaluate.js';

export const TEXTS = [
  '',
  'a',
  'A',
  'ab',
  'b%',
  'b_x',
  'bqx',
  '\\',
  "'",
  '"',
  '%',
  '_',
  'é',
  'e\u0301',
  '\uffff',
  '😀',
  '10',
  '9',
  'true',
  'null',
  '{}',
];
export const NUMBERS = [0, -1, 1, 1.5, 1e-7, 1e21, -1e300, 5e-324, 1.7976931348623157e308, 9007199254740991];
export const NAMESPACES = ['/', '/a', '/a/b', '/a/b/c', '/a-b', '/a.b', '/ab', '/b'];
/** Elements of all kinds; what stands deeper is no element. */
const LISTS = [[], [1, 'a', ['x'], ['b']], [{ a: 1 }, 'a', 'A', '', '1', 'é', '%', 1e21, 1.5, 0, true, null]];
const OTHERS = [true, false, null, {}, { a: 1 }, { a: { b: 'x' } }, ...LISTS];
export const VALUES: readonly unknown[] = [...TEXTS, ...NUMBERS, ...OTHERS, undefined];

/** The same 240 records every time, as the API shows them. */
export function hostileRecords(): readonly Json[] {
  return Array.from({ length: 240 }, (_, index) => {
    const at = (list: readonly unknown[], step: number): unknown => list[(index * step) % list.length];
    const properties: Record<string, unknown> = {
      rank: at(VALUES, 1),
      label: at(VALUES, 7),
      deep: at([...OTHERS, { a: at(VALUES, 3) }], 5),
    };
    const createdAt = new Date(Date.UTC(2030, 0, 1 + (index % 11), 0, 0, 0, index % 3)).toISOString();
    return {
      id: `01900000-0000-7000-8000-${((index * 7919) % 100_000).toString(16).padStart(12, '0')}`,
      family: 'resource',
      namespace: at(NAMESPACES, 3),
      name: at(TEXTS, 5) === '' ? 'x' : at(TEXTS, 5),
      description: index % 4 === 0 ? null : at(TEXTS, 2),
      properties: JSON.parse(JSON.stringify(properties)) as Json,
      template: null,
      copiedFrom: null,
      revision: 1 + (index % 5),
      createdAt,
      updatedAt: createdAt,
      createdBy: 'test',
      archivedAt: index % 6 === 0 ? new Date(Date.UTC(2031, 0, 1 + (index % 3))).toISOString() : null,
    };
  });
}

const FAMILIES = ['namespace', 'resource-template', 'resource', 'process-template', 'process-run'];

/** Puts records into the table as they are; fields that a record lacks are NULL. */
export async function plant(db: Pick<Database, 'knex'>, records: readonly Json[]): Promise<void> {
  const rows = records.map((record) => ({
    ...record,
    family: FAMILIES.indexOf(String(record['family'])),
    path: record['namespace'] === '/' ? '/' : `${String(record['namespace'])}/`,
  }));
  await db.knex.raw(
    `INSERT INTO records (id, family, path, name, description, properties, version, schema, slots, template, copied_from,
       parameters, resources, state, unique_name, revision, created_at, updated_at, archived_at, created_by)
     SELECT id, family, path, name, description, properties, version, schema, slots, template, "copiedFrom",
       parameters, resources, state, COALESCE("uniqueName", FALSE), revision, "createdAt", "updatedAt", "archivedAt", "createdBy"
     FROM jsonb_to_recordset(?::jsonb) AS r (id uuid, family smallint, path text, name text, description text,
       properties jsonb, version text, schema jsonb, slots jsonb, template uuid, "copiedFrom" uuid, parameters jsonb,
       resources jsonb, state text, "uniqueName" boolean, revision int, "createdAt" timestamptz, "updatedAt" timestamptz,
       "archivedAt" timestamptz, "createdBy" text)`,
    [JSON.stringify(rows)],
  );
}
