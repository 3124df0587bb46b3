// The statements that store a batch of lines, inside a transaction of the caller. Families go in an order in which
// later ones can refer to earlier ones. Each takes a few statements, however many lines there are.
import type { Knex } from 'knex';
import { FAMILIES, type Family, formatInstant, lineageOf, type NamespacePath } from '../../engine/index.js';
import { copyIn } from '../db/copy-in.js';
import { codeOf } from '../db/failures.js';
import { familyCode, IS_NAMED, isNamed, storedPath } from '../db/tables.js';
import { rowsOf, sql, type Fragment } from '../db/sql.js';
import { giveUpNames, MARK } from './exchange-names.js';
import type { Batch, LineOutcome, OnConflict, RecordRefusal, StoredBatch, StoreOptions } from './batch.js';
import { buryRows } from './bury-rows.js';
import { holdDeleted, holdMoved } from './hold-records.js';
import { deriveId, nameDigest } from './record-id.js';
import type { LoadRow } from './record-line.js';
import { refuseDangling, refuseDeleted, refuseInvalid } from './refuse-rows.js';
import { createStage, RECORDS, recordValues, STAGE, stageRows, unstage } from './stage.js';

/** The caller makes sure that no two rows share an id and that no two describe the same namespace. */
export async function storeBatch(
  trx: Knex.Transaction,
  rows: readonly LoadRow[],
  options: StoreOptions,
): Promise<StoredBatch> {
  const batch: Batch = { trx, rows, options, outcomes: new Map(), way: options.way, staged: false };
  await holdDeleted(batch);
  await buryRows(batch);
  for (const family of FAMILIES) {
    const wave = [...rows.keys()].filter((n) => rows[n]?.family === family && rows[n].deletedAt === null);
    if (wave.length > 0) await storeFamily(batch, family, wave);
  }
  const stored = [...batch.outcomes].flatMap(([row, outcome]) =>
    typeof outcome === 'string' && row.deletedAt === null ? [row] : [],
  );
  return { outcomes: batch.outcomes, way: batch.way, ...(await implyNamespaces(trx, stored, options)) };
}

async function storeFamily(batch: Batch, family: Family, wave: readonly number[]): Promise<void> {
  const left = without(wave, await refuseDeleted(batch, wave));
  const attached = without(left, await refuseDangling(batch, left));
  const sound = without(attached, await refuseInvalid(batch, attached));
  if (sound.length === 0) return;
  if (family !== 'namespace' && batch.way === 'direct' && (await copyRecords(batch, sound))) {
    settle(batch, sound, 'loaded');
    return;
  }
  if (!batch.staged) await createStage(batch.trx);
  batch.staged = true;
  await stageRows(batch.trx, batch.rows, sound);
  const described = family === 'namespace' ? await describeImplied(batch) : [];
  await unstage(batch.trx, described);
  const undescribed = without(sound, described);
  const there = await insertStaged(batch, family, undescribed);
  settle(batch, without(undescribed, there), 'loaded');
  if (family !== 'namespace') batch.way = there.length > 0 ? 'staged' : 'direct';
  if (there.length > 0) await compareStored(batch, family, there);
}

/** Copies into the table itself. If an id or a unique name is already in use, returns false and nothing is stored. */
async function copyRecords({ trx, rows, options }: Batch, places: readonly number[]): Promise<boolean> {
  await trx.raw('SAVEPOINT copied');
  try {
    await copyIn(trx, RECORDS, recordValues(rows, places, { now: options.now, createdBy: CREATED_BY }));
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    await trx.raw('ROLLBACK TO SAVEPOINT copied');
    return false;
  }
  await trx.raw('RELEASE SAVEPOINT copied');
  return true;
}

const UNIQUE_VIOLATION = '23505';

/**
 * A namespace that exists only because of something below it takes the content of its line, including id and instants.
 */
async function describeImplied(batch: Batch): Promise<readonly number[]> {
  const described = await placesOf(
    batch.trx,
    sql`UPDATE records AS r SET id = i.id, name = i.name, description = i.description, properties = i.properties,
        created_at = COALESCE(i.created_at, r.created_at), updated_at = COALESCE(i.created_at, r.created_at),
        archived_at = i.archived_at, created_by = ${CREATED_BY}::text, implied = false, revision = r.revision + 1
      FROM ${STAGE} WHERE i.family = ${NAMESPACE} AND r.family = ${NAMESPACE} AND r.path = i.path AND r.implied
        AND NOT EXISTS (SELECT 1 FROM records AS o WHERE o.id = i.id AND o.id <> r.id)
      RETURNING i.n`,
  );
  settle(batch, described, 'loaded');
  return described;
}

const CREATED_BY = 'load';

/** Inserts the rows of a family, at these places, that have a free id and namespace. Returns the places of the other rows. */
async function insertStaged(
  { trx, rows, options }: Batch,
  family: Family,
  places: readonly number[],
): Promise<readonly number[]> {
  const code = sql`${familyCode(family)}::smallint`;
  const at = sql`COALESCE(i.created_at, ${formatInstant(options.now)}::timestamptz)`;
  const inserted = await rowsOf<{ readonly id: string }>(
    trx,
    sql`INSERT INTO records (id, family, path, name, description, properties, version, schema, slots, template, parameters,
        resources, state, unique_name, revision, created_at, updated_at, archived_at, created_by)
      SELECT i.id, i.family, i.path, i.name, i.description, i.properties, i.version, i.schema, i.slots, i.template,
        i.parameters, i.resources, i.state, i.unique_name, 1, ${at}, ${at}, i.archived_at, ${CREATED_BY}::text
      FROM ${STAGE} WHERE i.family = ${code} AND ${ID_IS_FREE} ON CONFLICT DO NOTHING RETURNING id`,
  );
  const stored = new Set(inserted.map(({ id }) => id));
  return places.filter((n) => !stored.has(rows[n]?.id ?? ''));
}

/** Handles lines about existing records: nothing to do, something to replace, or a conflict. */
async function compareStored(batch: Batch, family: Family, there: readonly number[]): Promise<void> {
  const { trx, options } = batch;
  const { match, same, replaceable } = family === 'namespace' ? NAMESPACE_RULES : RECORD_RULES;
  const unchanged = await placesOf(
    trx,
    // Fenced, so that each line looks up its own record, however many lines there are and whatever the planner expects
    // of the stage.
    sql`SELECT i.n FROM ${STAGE} CROSS JOIN LATERAL (SELECT r.* FROM records AS r WHERE ${match} OFFSET 0) AS r
      WHERE i.n = ANY(${there}::int[]) AND ${same} AND ${SAME_CONTENT}`,
  );
  settle(batch, unchanged, 'unchanged');
  const different = without(there, unchanged);
  if (different.length === 0) return;
  await holdMoved(trx, different, options);
  if (options.onConflict === 'replace' && isNamed(family)) await giveUpNames(trx, different);
  const replaced =
    options.onConflict === 'report'
      ? []
      : await placesOf(
          trx,
          sql`UPDATE records AS r SET path = i.path, name = i.name, description = i.description,
        properties = i.properties, version = i.version, schema = i.schema, slots = i.slots, template = i.template,
        parameters = i.parameters, resources = i.resources, state = i.state, archived_at = i.archived_at, implied = false,
        unique_name = ${MARK},
        created_at = COALESCE(i.created_at, r.created_at),
        updated_at = GREATEST(r.updated_at, i.created_at, ${formatInstant(options.now)}::timestamptz),
        revision = r.revision + 1
      FROM ${STAGE} WHERE i.n = ANY(${different}::int[]) AND ${match} AND ${replaceable} RETURNING i.n`,
        );
  settle(batch, replaced, 'replaced');
  const left = without(different, replaced);
  // The store took a row for its id or for its name: those whose id it does not have were refused for their names.
  const unnamed = isNamed(family) ? await withoutRecord(trx, left) : [];
  for (const n of left) {
    const row = batch.rows[n];
    if (row !== undefined)
      batch.outcomes.set(row, unnamed.includes(n) ? NAME_TAKEN : conflictOf(row, options.onConflict));
  }
}

export const NAME_TAKEN: RecordRefusal = Object.freeze({
  code: 'record.name_taken',
  pointer: '/name',
  message:
    'is the name of another record in this namespace, and the template asks for unique names; lines that exchange names must be close together, or load one of them under another name first',
});

/** The places of those rows whose id no record has. */
function withoutRecord(trx: Knex, places: readonly number[]): Promise<readonly number[]> {
  return placesOf(
    trx,
    sql`SELECT i.n FROM ${STAGE} WHERE i.n = ANY(${places}::int[]) AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.id = i.id)`,
  );
}

function conflictOf({ family, given }: LoadRow, onConflict: OnConflict): RecordRefusal {
  const what = family === 'namespace' ? (given ? 'id or the namespace' : 'namespace') : 'id';
  const message =
    onConflict === 'report'
      ? `the ${what} is stored with other content; --replace overwrites it`
      : family.endsWith('-template')
        ? `the ${what} is stored for another record, or for a template with another \`uniqueName\``
        : `the ${what} is stored for another record`;
  return { code: 'record.conflict', pointer: given ? '/id' : '', message };
}

/** Creates the namespaces of these rows and all above them that do not exist yet. */
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
      WHERE ${ID_IS_FREE} ON CONFLICT DO NOTHING RETURNING id`,
  );
  return { namespaces: paths, implied: made.length };
}

/**
 * That no record has the id of a row called `i`. Where records are partitioned, ON CONFLICT looks into one partition alone.
 * No index has the revision, so it is the primary key that is looked up. In an empty store the planner would walk another
 * one for each row, which grows with each row.
 */
const ID_IS_FREE = sql`NOT EXISTS (SELECT r.revision FROM records AS r WHERE r.id = i.id OFFSET 0)`;

/** The id of a namespace that gets none from a line. */
function namespaceId(namespace: NamespacePath): string {
  return deriveId(nameDigest({ family: 'namespace', namespace, name: namespace, version: null }), 0);
}

const NAMESPACE = sql`${familyCode('namespace')}::smallint`;

/** Of templates: whether they ask for unique names. Of all others, the store sets the column. */
const SAME_DEMAND = sql`(r.family ${IS_NAMED} OR r.unique_name = i.unique_name)`;

interface Rules {
  /** Which stored record `r` a line `i` is about. */
  readonly match: Fragment;
  /** What must be equal in addition to the content. */
  readonly same: Fragment;
  readonly replaceable: Fragment;
}

const RECORD_RULES: Rules = Object.freeze({
  match: sql`r.id = i.id`,
  same: sql`r.family = i.family AND r.path = i.path`,
  // What is made from a template is marked for good.
  replaceable: sql`r.family IS NOT DISTINCT FROM i.family AND ${SAME_DEMAND}`,
});

const NAMESPACE_RULES: Rules = Object.freeze({
  match: sql`r.family = ${NAMESPACE} AND r.path = i.path`,
  same: sql`(r.id = i.id OR NOT i.given)`,
  replaceable: sql`(r.id = i.id OR NOT i.given)`,
});

const SAME_CONTENT = sql`r.name IS NOT DISTINCT FROM i.name AND r.description IS NOT DISTINCT FROM i.description
  AND r.properties = i.properties AND r.version IS NOT DISTINCT FROM i.version AND r.schema IS NOT DISTINCT FROM i.schema
  AND r.slots IS NOT DISTINCT FROM i.slots AND r.template IS NOT DISTINCT FROM i.template
  AND r.parameters IS NOT DISTINCT FROM i.parameters AND r.resources IS NOT DISTINCT FROM i.resources
  AND ${SAME_DEMAND} AND r.state IS NOT DISTINCT FROM i.state AND r.archived_at IS NOT DISTINCT FROM i.archived_at
  AND (i.created_at IS NULL OR r.created_at = i.created_at)`;

/** Runs a statement that returns places. */
async function placesOf(trx: Knex, statement: Fragment): Promise<readonly number[]> {
  const places = await rowsOf<{ readonly n: number }>(trx, statement);
  return places.map(({ n }) => n);
}

function without(places: readonly number[], others: readonly number[]): readonly number[] {
  const left = new Set(others);
  return places.filter((n) => !left.has(n));
}

function settle({ rows, outcomes }: Batch, places: readonly number[], outcome: LineOutcome): void {
  for (const n of places) {
    const row = rows[n];
    if (row !== undefined) outcomes.set(row, outcome);
  }
}
