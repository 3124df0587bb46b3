// The counters of migration 0003: the exact number of visible records, and how many there are about, which is all that the
// choice of a shape needs. What is remembered here steers that choice and is never part of an answer.
import type { Knex } from 'knex';
import { FAMILIES, type Family } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { rowsOf, sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { visibleRanges, type RowPredicate } from './row-predicate.js';

export interface CountRequest {
  readonly predicate: RowPredicate;
  readonly family: Family;
  readonly includeArchived: boolean;
}

/** The sum over the visible ranges: no record is read. */
export function counterStatement(request: CountRequest): Fragment {
  return sql`SELECT COALESCE(sum(c.n), 0) AS count FROM ${visibleCounters(request)} AS c`;
}

function visibleCounters({ predicate, family, includeArchived }: CountRequest): Fragment {
  const n = includeArchived ? sql`c.active + c.archived` : sql`c.active`;
  return sql`(SELECT f.* FROM ${visibleRanges(predicate)} CROSS JOIN LATERAL (SELECT ${n} AS n FROM record_counts AS c
      WHERE c.family = ${familyCode(family)}::smallint AND c.path >= v.lo AND c.path < v.hi OFFSET 0) AS f)`;
}

export interface Extent {
  /** Visible records of the family; where the counters are many, at least so many. */
  readonly visible: number;
  /** All records of the family. */
  readonly family: number;
  /** All records of all families. */
  readonly everything: number;
}

export interface ExtentRequest extends CountRequest {
  /** Names the visible set (engine `visibilityDigest`). */
  readonly visibility: string;
}

/** Counters that are read for an estimate: more of them than this are many records in any case. */
const COUNTERS = 8_192;
const VISIBLE_AGE = 60_000;
const TOTALS_AGE = 300_000;
const REMEMBERED = 4_096;

interface Dated<T> {
  readonly value: T;
  /** Milliseconds of `performance.now`. */
  readonly at: number;
}

interface Memory {
  /** By family, visible set and whether archived records count, the longest unused first. */
  readonly visible: Map<string, Dated<number>>;
  totals: Dated<readonly number[]> | null;
}

const memories = new WeakMap<Knex, Memory>();

/** How many records there are, and how many of them are visible: what was so a few minutes ago at most. */
export async function extentOf({ knex }: Database, request: ExtentRequest): Promise<Extent> {
  const memory = memories.get(knex) ?? { visible: new Map(), totals: null };
  memories.set(knex, memory);
  const visible = await recentVisible(knex, memory.visible, request);
  if (memory.totals === null || isOld(memory.totals, TOTALS_AGE)) {
    memory.totals = { value: await readTotals(knex), at: performance.now() };
  }
  const totals = memory.totals.value;
  return {
    visible,
    family: totals[familyCode(request.family)] ?? 0,
    everything: totals.reduce((sum, records) => sum + records, 0),
  };
}

async function recentVisible(knex: Knex, remembered: Memory['visible'], request: ExtentRequest): Promise<number> {
  const { family, includeArchived, visibility } = request;
  const key = JSON.stringify([family, includeArchived, visibility]);
  const found = remembered.get(key);
  remembered.delete(key);
  const fresh =
    found === undefined || isOld(found, VISIBLE_AGE)
      ? { value: await readVisible(knex, request), at: performance.now() }
      : found;
  remembered.set(key, fresh);
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  return fresh.value;
}

function isOld({ at }: Dated<unknown>, age: number): boolean {
  return performance.now() - at > age;
}

async function readVisible(knex: Knex, request: ExtentRequest): Promise<number> {
  const rows = await rowsOf<{ readonly count: string }>(
    knex,
    sql`SELECT COALESCE(sum(c.n), 0) AS count
      FROM (SELECT c.n FROM ${visibleCounters(request)} AS c LIMIT ${COUNTERS}::bigint) AS c`,
  );
  return Number(rows[0]?.count ?? 0);
}

/** By family code. */
async function readTotals(knex: Knex): Promise<readonly number[]> {
  const rows = await rowsOf<{ readonly family: number; readonly count: string }>(
    knex,
    sql`SELECT c.family, sum(c.active + c.archived) AS count FROM record_counts AS c
      WHERE c.family = ANY(${FAMILIES.map(familyCode)}::smallint[]) GROUP BY c.family`,
  );
  const counts = new Map(rows.map(({ family, count }) => [family, Number(count)]));
  return FAMILIES.map((family) => counts.get(familyCode(family)) ?? 0);
}
