// The statements that store a batch of lines, inside one transaction of the caller's. Families go in the order in which they
// can refer to one another, each with a few statements however many lines there are.
import type { Knex } from 'knex';
import { FAMILIES, formatInstant, lineageOf, type Instant, type NamespacePath } from '../../engine/index.js';
import { familyCode, storedPath } from '../db/tables.js';
import { rowsOf, sql, type Fragment } from '../db/sql.js';
import { deriveId, nameDigest } from './record-id.js';
import type { LoadRow, Reference } from './record-line.js';

/** What a line does about a record that is stored with other content. */
export type OnConflict = 'report' | 'replace';

export interface StoreOptions {
  readonly onConflict: OnConflict;
  /** When records are created whose lines do not say. */
  readonly now: Instant;
  /** Stored paths of namespaces that are known to be there. */
  readonly known: ReadonlySet<string>;
}

export interface Refusal {
  readonly code: 'reference.not_found' | 'record.conflict' | 'record.refused';
  readonly pointer: string;
  readonly message: string;
}

export type Outcome = 'loaded' | 'replaced' | 'unchanged' | Refusal;

export interface StoredBatch {
  readonly outcomes: ReadonlyMap<LoadRow, Outcome>;
  /** Stored paths of all namespaces that are there now because of this batch. */
  readonly namespaces: readonly string[];
  /** How many of them were made because something below them was loaded. */
  readonly implied: number;
}

/** No two rows share an id, and no two of them describe one namespace: the caller sees to it. */
export async function storeBatch(trx: Knex, rows: readonly LoadRow[], options: StoreOptions): Promise<StoredBatch> {
  const outcomes = new Map<LoadRow, Outcome>();
  for (const family of FAMILIES) {
    const wave = rows.filter((row) => row.family === family);
    if (wave.length === 0) continue;
    const sound = await refuseDangling(trx, wave, outcomes);
    if (family === 'namespace') await storeNamespaces(trx, sound, { options, outcomes });
    else await storeRecords(trx, sound, { options, outcomes });
  }
  const stored = [...outcomes].filter(([, outcome]) => typeof outcome === 'string').map(([row]) => row);
  return { outcomes, ...(await implyNamespaces(trx, stored, options)) };
}

interface Storing {
  readonly options: StoreOptions;
  readonly outcomes: Map<LoadRow, Outcome>;
}

/** Leaves the rows whose references all point to a record above, of the right family, in the store or on a line before. */
async function refuseDangling(
  trx: Knex,
  rows: readonly LoadRow[],
  outcomes: Map<LoadRow, Outcome>,
): Promise<readonly LoadRow[]> {
  const ids = [...new Set(rows.flatMap(({ references }) => references.map(({ id }) => id)))];
  if (ids.length === 0) return rows;
  const found = await rowsOf<{ readonly id: string; readonly family: number; readonly path: string }>(
    trx,
    sql`SELECT id, family, path FROM records WHERE id = ANY(${ids}::uuid[])`,
  );
  const targets = new Map(found.map((target) => [target.id, target]));
  const fresh = new Map([...outcomes].filter(([, how]) => how === 'loaded').map(([{ id, line }]) => [id, line]));
  return rows.filter((row) => {
    const holds = ({ id, family }: Reference): boolean => {
      const target = targets.get(id);
      const line = fresh.get(id);
      return (
        target?.family === familyCode(family) &&
        row.path.startsWith(target.path) &&
        (line === undefined || line < row.line)
      );
    };
    const dangling = row.references.find((reference) => !holds(reference));
    if (dangling !== undefined) outcomes.set(row, referenceNotFound(dangling));
    return dangling === undefined;
  });
}

function referenceNotFound({ pointer, family }: Reference): Refusal {
  const message = `is not the id of a ${family} in the lineage of the namespace, on a line before or in the store`;
  return { code: 'reference.not_found', pointer, message };
}

async function storeRecords(trx: Knex, rows: readonly LoadRow[], storing: Storing): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const code = sql`${familyCode(first.family)}::smallint`;
  const inserted = await insertRows(trx, rows, storing.options);
  settle(storing.outcomes, inserted, 'loaded');
  await compareStored(
    trx,
    rows.filter((row) => !inserted.has(row)),
    {
      ...storing,
      code,
      match: sql`r.id = i.id`,
      same: sql`r.family = ${code} AND r.path = i.path AND ${SAME_CONTENT}`,
      replaceable: sql`r.family = ${code}`,
    },
  );
}

/** A namespace that is there because something below it is takes the content of its line, id and instants included. */
async function storeNamespaces(trx: Knex, rows: readonly LoadRow[], storing: Storing): Promise<void> {
  if (rows.length === 0) return;
  const code = sql`${familyCode('namespace')}::smallint`;
  const { options, outcomes } = storing;
  const described = await numbersOf(
    trx,
    rows,
    sql`UPDATE records AS r SET id = i.id, name = i.name, description = i.description, properties = i.properties,
        created_at = COALESCE(i.created_at, r.created_at), updated_at = COALESCE(i.created_at, r.created_at),
        archived_at = i.archived_at, created_by = ${CREATED_BY}::text, implied = false
      FROM ${inputOf(rows)}
      WHERE r.family = ${code} AND r.path = i.path AND r.implied
        AND NOT EXISTS (SELECT 1 FROM records AS o WHERE o.id = i.id AND o.id <> r.id)
      RETURNING i.n`,
  );
  settle(outcomes, described, 'loaded');
  const rest = rows.filter((row) => !described.has(row));
  const inserted = await insertRows(trx, rest, options);
  settle(outcomes, inserted, 'loaded');
  await compareStored(
    trx,
    rest.filter((row) => !inserted.has(row)),
    {
      ...storing,
      code,
      match: sql`r.family = ${code} AND r.path = i.path`,
      same: sql`(r.id = i.id OR NOT i.given) AND ${SAME_CONTENT}`,
      replaceable: sql`(r.id = i.id OR NOT i.given)`,
    },
  );
}

const CREATED_BY = 'load';

/** Inserts the rows whose id and namespace are free; those it inserted. */
async function insertRows(trx: Knex, rows: readonly LoadRow[], { now }: StoreOptions): Promise<ReadonlySet<LoadRow>> {
  const [first] = rows;
  if (first === undefined) return new Set();
  const at = sql`COALESCE(i.created_at, ${formatInstant(now)}::timestamptz)`;
  const stored = await rowsOf<{ readonly id: string }>(
    trx,
    sql`INSERT INTO records (id, family, path, name, description, properties, version, schema, slots, template,
        parameters, resources, state, revision, created_at, updated_at, archived_at, created_by)
      SELECT i.id, ${familyCode(first.family)}::smallint, i.path, i.name, i.description, i.properties, i.version, i.schema,
        i.slots, i.template, i.parameters, i.resources, i.state, 1, ${at}, ${at}, i.archived_at, ${CREATED_BY}::text
      FROM ${inputOf(rows)} ON CONFLICT DO NOTHING RETURNING id`,
  );
  const ids = new Set(stored.map(({ id }) => id));
  return new Set(rows.filter(({ id }) => ids.has(id)));
}

interface Comparison extends Storing {
  readonly code: Fragment;
  /** Which stored record a line is about. */
  readonly match: Fragment;
  readonly same: Fragment;
  readonly replaceable: Fragment;
}

/** Lines about records that were there before: nothing to do, something to replace, or a conflict. */
async function compareStored(trx: Knex, rows: readonly LoadRow[], comparison: Comparison): Promise<void> {
  if (rows.length === 0) return;
  const { options, outcomes, match, same, replaceable } = comparison;
  const input = inputOf(rows);
  const unchanged = await numbersOf(
    trx,
    rows,
    sql`SELECT i.n FROM ${input} JOIN records AS r ON ${match} WHERE ${same}`,
  );
  settle(outcomes, unchanged, 'unchanged');
  const different = rows.filter((row) => !unchanged.has(row));
  if (different.length === 0) return;
  const replaced =
    options.onConflict === 'report'
      ? new Set<LoadRow>()
      : await numbersOf(
          trx,
          different,
          sql`UPDATE records AS r SET path = i.path, name = i.name, description = i.description, properties = i.properties,
        version = i.version, schema = i.schema, slots = i.slots, template = i.template, parameters = i.parameters,
        resources = i.resources, state = i.state, archived_at = i.archived_at, implied = false,
        created_at = COALESCE(i.created_at, r.created_at), updated_at = ${formatInstant(options.now)}::timestamptz,
        revision = r.revision + 1
      FROM ${inputOf(different)} WHERE ${match} AND ${replaceable} RETURNING i.n`,
        );
  settle(outcomes, replaced, 'replaced');
  for (const row of different) {
    if (!replaced.has(row)) outcomes.set(row, conflictOf(row, options.onConflict));
  }
}

function conflictOf({ family, given }: LoadRow, onConflict: OnConflict): Refusal {
  const what = family === 'namespace' ? (given ? 'id or the namespace' : 'namespace') : 'id';
  const message =
    onConflict === 'report'
      ? `the ${what} is stored with other content; --replace takes the line's`
      : `the ${what} is stored for another record`;
  return { code: 'record.conflict', pointer: given ? '/id' : '', message };
}

/** Makes the namespaces of these rows and all above them, as far as they are not there. */
async function implyNamespaces(
  trx: Knex,
  rows: readonly LoadRow[],
  { known, now }: StoreOptions,
): Promise<Pick<StoredBatch, 'namespaces' | 'implied'>> {
  const missing = new Map<string, NamespacePath>();
  for (const { path, namespace } of rows) {
    if (known.has(path) || missing.has(path)) continue;
    for (const above of lineageOf(namespace)) missing.set(storedPath(above), above);
  }
  const fresh = [...missing].filter(([path]) => !known.has(path)).sort(([a], [b]) => (a < b ? -1 : 1));
  if (fresh.length === 0) return { namespaces: [], implied: 0 };
  const paths = fresh.map(([path]) => path);
  const names = fresh.map(([, name]) => name);
  const ids = names.map(namespaceId);
  const at = sql`${formatInstant(now)}::timestamptz`;
  const made = await rowsOf<{ readonly id: string }>(
    trx,
    sql`INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, implied)
      SELECT i.id, ${familyCode('namespace')}::smallint, i.path, i.name, '{}', 1, ${at}, ${at}, ${CREATED_BY}::text, true
      FROM unnest(${ids}::uuid[], ${paths}::text[], ${names}::text[]) AS i (id, path, name)
      ON CONFLICT DO NOTHING RETURNING id`,
  );
  return { namespaces: paths, implied: made.length };
}

/** The id of a namespace that no line gives one. */
function namespaceId(namespace: NamespacePath): string {
  return deriveId(nameDigest({ family: 'namespace', namespace, name: namespace, version: null }), 0);
}

const SAME_CONTENT = sql`r.name IS NOT DISTINCT FROM i.name AND r.description IS NOT DISTINCT FROM i.description
  AND r.properties = i.properties AND r.version IS NOT DISTINCT FROM i.version AND r.schema IS NOT DISTINCT FROM i.schema
  AND r.slots IS NOT DISTINCT FROM i.slots AND r.template IS NOT DISTINCT FROM i.template
  AND r.parameters IS NOT DISTINCT FROM i.parameters AND r.resources IS NOT DISTINCT FROM i.resources
  AND r.state IS NOT DISTINCT FROM i.state AND r.archived_at IS NOT DISTINCT FROM i.archived_at
  AND (i.created_at IS NULL OR r.created_at = i.created_at)`;

/** The rows as a table `i`; `n` is the place in the list. */
function inputOf(rows: readonly LoadRow[]): Fragment {
  const column = <T>(read: (row: LoadRow) => T): readonly T[] => rows.map(read);
  return sql`unnest(${rows.map((_, index) => index)}::int[], ${column(({ id }) => id)}::uuid[],
    ${column(({ given }) => String(given))}::boolean[], ${column(({ path }) => path)}::text[],
    ${column(({ name }) => name)}::text[], ${column(({ description }) => description)}::text[],
    ${column(({ properties }) => properties)}::jsonb[], ${column(({ version }) => version)}::text[],
    ${column(({ schema }) => schema)}::jsonb[], ${column(({ slots }) => slots)}::jsonb[],
    ${column(({ template }) => template)}::uuid[], ${column(({ parameters }) => parameters)}::jsonb[],
    ${column(({ resources }) => resources)}::jsonb[], ${column(({ state }) => state)}::text[],
    ${column(({ createdAt }) => createdAt)}::timestamptz[], ${column(({ archivedAt }) => archivedAt)}::timestamptz[])
    AS i (n, id, given, path, name, description, properties, version, schema, slots, template, parameters, resources,
      state, created_at, archived_at)`;
}

/** Runs a statement over `inputOf(rows)` that gives places, and finds the rows of them. */
async function numbersOf(trx: Knex, rows: readonly LoadRow[], statement: Fragment): Promise<ReadonlySet<LoadRow>> {
  const numbers = await rowsOf<{ readonly n: number }>(trx, statement);
  return new Set(numbers.flatMap(({ n }) => rows[n] ?? []));
}

function settle(outcomes: Map<LoadRow, Outcome>, rows: Iterable<LoadRow>, outcome: Outcome): void {
  for (const row of rows) outcomes.set(row, outcome);
}
