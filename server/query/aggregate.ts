// Counts, least and greatest values and sums of the visible records that meet a condition, for all of them or by the
// values of one field. As for a count, the visible records stand behind a fence, and everything that the user asks is
// evaluated above it. Every expression is total.
import type { Database } from '../db/database.js';
import type { ReadOptions } from '../db/prepared.js';
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { ApiProblem } from '../problem.js';
import { orTooLate, typed } from './compile-condition.js';
import { type Field, instantText, propertyValue } from './fields.js';
import { inTime } from './in-time.js';
import type { AggregatePlan, AggregateValue } from './plan.js';
import type { RowPredicate } from './row-predicate.js';
import { visibleMatches } from './visible-counts.js';

export interface AggregateRequest {
  readonly predicate: RowPredicate;
  readonly plan: AggregatePlan;
}

interface AggregateParts extends AggregateRequest {
  /** Milliseconds after which the statement ends itself; null if the store ends it. */
  readonly longest: number | null;
}

export interface Groups {
  /** The JSON text of the list of groups. */
  readonly json: string;
  readonly count: number;
  /** The ids of records that are alone in their group, with commas between them: whoever asks learns about each of them. */
  readonly alone: string;
}

/** Throws `query.limit` if there are too many groups, or if they are too large to be answered. */
export async function aggregateRecords(
  db: Database,
  { predicate, plan, ...options }: AggregateRequest & ReadOptions,
): Promise<Groups> {
  const { longestQuery } = db;
  const where = longestQuery === null ? plan.where : inTime(plan.where, longestQuery);
  const statement = aggregateStatement({ predicate, plan: { ...plan, where }, longest: longestQuery });
  const [row] = await db.readReplica<{
    readonly count: string;
    readonly json: string | null;
    readonly alone: string | null;
  }>(statement, { ...options, whole: true });
  const count = Number(row?.count ?? 0);
  if (count > QUERY_LIMITS.groups)
    throw tooMuch('/groupBy', `has more than ${String(QUERY_LIMITS.groups)} values here`);
  if (count > 0 && typeof row?.json !== 'string') {
    if (plan.groupBy === null) throw tooMuch('/values', 'are together too large for an answer');
    throw tooMuch('/groupBy', 'and the values together are too large for an answer');
  }
  return { json: `[${row?.json ?? ''}]`, count, alone: row?.alone ?? '' };
}

function tooMuch(pointer: string, message: string): ApiProblem {
  const code = 'query.limit';
  const errors = [{ pointer, code, message: `${message}; ask for fewer with \`where\`` }] as const;
  return new ApiProblem(code, { errors });
}

/**
 * One row: the number of groups, at most one more than the limit, and their JSON in the order of their keys; null if
 * there are too many or if they are too large. What is too large is added up as it is made, and not kept. Since the groups
 * are made when all records have been read, each of them looks at the clock, too.
 */
function aggregateStatement({ predicate, plan, longest }: AggregateParts): Fragment {
  const { groupBy, values } = plan;
  const key = groupBy === null ? sql`` : sql`${keyJson(groupBy)} AS key, `;
  const rows = visibleMatches({ predicate, ...plan }, plan.where, sql`${key}${inputs(values)}`);
  const results = sql`concat_ws(',', ${join(values.map(result), ', ')})`;
  const inTime = longest === null ? sql`TRUE` : orTooLate(longest, sql`TRUE`);
  const shown = groupBy === null ? sql`'{'` : sql`'{"key":' || g.key || ','`;
  const group = sql`${shown} || '"values":[' || g.results || ']}'`;
  const grouping = groupBy === null ? sql`` : sql` GROUP BY a.key LIMIT ${literal(QUERY_LIMITS.groups + 1)}`;
  // FILTER keeps rows out of an aggregate. A CASE around it would not: all would be joined first, gigabytes of them.
  return sql`SELECT count(*) AS count, CASE WHEN count(*) <= ${literal(QUERY_LIMITS.groups)} AND max(g.bytes) <= ${literal(QUERY_LIMITS.pageBytes)}
        THEN string_agg(${group}, ',' ORDER BY ${KEY_ORDER}) FILTER (WHERE g.bytes <= ${literal(QUERY_LIMITS.pageBytes)} AND ${inTime}) END AS json,
      string_agg(CASE WHEN g.records = 1 THEN g.id END, ',') AS alone
    FROM (SELECT g.*, sum(octet_length(g.key) + octet_length(g.results) + ${literal(AROUND)}) OVER (ROWS UNBOUNDED PRECEDING) AS bytes
      FROM (SELECT ${groupBy === null ? sql`'null'` : sql`a.key`} AS key, CASE WHEN ${inTime} THEN ${results} END AS results, count(*) AS records,
          min(a.id::text COLLATE "C") AS id FROM (${rows}) AS a${grouping}) AS g) AS g`;
}

/** Bytes of a group beside its key and its results. */
const AROUND = '{"key":,"values":[]},'.length;

/**
 * Keys are JSON texts that this file makes, so that reading them cannot fail: numbers, then strings, then booleans, and
 * what is absent last.
 */
const KEY_ORDER = sql`CASE jsonb_typeof(g.key::jsonb) WHEN 'number' THEN 1 WHEN 'string' THEN 2 WHEN 'boolean' THEN 3 ELSE 4 END,
        CASE WHEN jsonb_typeof(g.key::jsonb) = 'number' THEN g.key::numeric END, ((g.key::jsonb #>> '{}') COLLATE "C")`;

/** The value of a field as JSON, equal for equal values. What has no order is null, as in an order. */
function keyJson(field: Field): Fragment {
  if (field.kind === 'core') return sql`(COALESCE(${field.json}, 'null') COLLATE "C")`;
  const value = propertyValue(field);
  return sql`(CASE jsonb_typeof(${value}) WHEN 'number' THEN trim_scale(${typed(value, 'number')})::text
        WHEN 'string' THEN ${value}::text WHEN 'boolean' THEN ${value}::text ELSE 'null' END COLLATE "C")`;
}

/** Columns of each record that the results are computed of. */
function inputs(values: readonly AggregateValue[]): Fragment {
  return join([sql`x.id AS id`, ...values.flatMap(inputsOf)], ', ');
}

function inputsOf(value: AggregateValue, index: number): readonly Fragment[] {
  if (value.kind === 'count') return [];
  const { field } = value;
  const n = literal(index);
  if (field.kind === 'core') return [sql`${field.value} AS v${n}`];
  const property = propertyValue(field);
  const ofType = (type: 'number' | 'text' | 'boolean', name: Fragment): Fragment =>
    sql`(CASE WHEN jsonb_typeof(${property}) = ${name} THEN ${typed(property, type)} END)`;
  const number = sql`${ofType('number', sql`'number'`)} AS n${n}`;
  if (value.kind === 'sum') return [number];
  return [number, sql`${ofType('text', sql`'string'`)} AS t${n}`, sql`${ofType('boolean', sql`'boolean'`)} AS b${n}`];
}

/** The JSON of one result. */
function result(value: AggregateValue, index: number): Fragment {
  const n = literal(index);
  if (value.kind === 'count') return sql`count(*)::text`;
  const { field, kind } = value;
  if (kind === 'sum') {
    const column = field.kind === 'core' ? sql`a.v${n}` : sql`a.n${n}`;
    return sql`COALESCE(trim_scale(sum(${column}))::text, '0')`;
  }
  const most = kind === 'min' ? sql`min` : sql`max`;
  if (field.kind === 'core')
    return sql`COALESCE(${field.type === 'instant' ? instantJson(sql`${most}(a.v${n})`) : jsonOf(sql`${most}(a.v${n})`)}, 'null')`;
  const number = sql`trim_scale(${most}(a.n${n}))::text`;
  const text = jsonOf(sql`${most}(a.t${n})`);
  const boolean = jsonOf(kind === 'min' ? sql`bool_and(a.b${n})` : sql`bool_or(a.b${n})`);
  const inOrder = kind === 'min' ? [number, text, boolean] : [boolean, text, number];
  return sql`COALESCE(${join(inOrder, ', ')}, 'null')`;
}

/** NULL stays NULL. */
function jsonOf(value: Fragment): Fragment {
  return sql`to_json(${value})::text`;
}

function instantJson(value: Fragment): Fragment {
  return sql`'"' || ${instantText(value)} || '"'`;
}
