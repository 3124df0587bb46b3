// The plan of a statement as the store runs it: the generic plan of a prepared statement.
import type { Knex } from 'knex';
import type { Database } from '../../server/db/database.js';
import type { Binding, Fragment } from '../../server/db/sql.js';
import { WHOLE_RANGES } from '../../server/db/session-settings.js';
import { inTransaction } from '../../server/db/transaction.js';

/** A step, in the words of `EXPLAIN (FORMAT JSON)`; what is `Actual` is there where it was run. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly 'Actual Loops'?: number;
  /** Of one loop. */
  readonly 'Actual Rows'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Heap Fetches'?: number;
  readonly 'Exact Heap Blocks'?: number;
  readonly 'Lossy Heap Blocks'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Of a step those that it is a part of, the nearest last. */
export interface Step {
  readonly node: PlanNode;
  readonly above: readonly PlanNode[];
}

/** All steps, each before its parts. `options` are those of EXPLAIN. */
export function planOf(db: Database, statement: Fragment, options: readonly string[] = []): Promise<readonly Step[]> {
  return plannedOf(db, statement, { options, whole: false });
}

/** The same of a statement that reads whole ranges. */
export function wholePlanOf(
  db: Database,
  statement: Fragment,
  options: readonly string[] = [],
): Promise<readonly Step[]> {
  return plannedOf(db, statement, { options, whole: true });
}

interface Planning {
  readonly options: readonly string[];
  readonly whole: boolean;
}

function plannedOf(db: Database, statement: Fragment, planning: Planning): Promise<readonly Step[]> {
  return inTransaction(db.knex, (knex) => plannedIn(knex, statement, planning));
}

let planned = 0;

async function plannedIn(
  knex: Knex,
  { text, bindings }: Pick<Fragment, 'text' | 'bindings'>,
  { options, whole }: Planning,
): Promise<readonly Step[]> {
  const parts = text.split('?');
  const prepared = parts.map((part, index) => (index === 0 ? part : `$${String(index)}${part}`)).join('');
  const values = bindings.length === 0 ? '' : `(${bindings.map(literalOf).join(', ')})`;
  // A name of its own, because a failure leaves it behind: the transaction takes no further statement then.
  planned += 1;
  const name = `planned_${String(planned)}`;
  await knex.raw(`PREPARE ${name} AS ${prepared}`);
  await knex.raw('SET LOCAL plan_cache_mode = force_generic_plan');
  if (whole) await knex.raw(WHOLE_RANGES.text);
  const explained = `EXPLAIN (${[...options, 'FORMAT JSON'].join(', ')}) EXECUTE ${name}${values}`;
  const { rows } = await knex.raw<{ rows: readonly { 'QUERY PLAN': readonly { Plan: PlanNode }[] }[] }>(explained);
  await knex.raw(`DEALLOCATE ${name}`);
  return (rows[0]?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => stepsOf(Plan, []));
}

export interface Planned {
  readonly text: string;
  readonly steps: readonly Step[];
}

/** The plans of all statements with values that the work runs in transactions of a store like this one, each made before it is run. */
export async function plansOf(
  db: Database,
  work: (planning: Database) => Promise<unknown>,
): Promise<readonly Planned[]> {
  const plans: Planned[] = [];
  const planning = (trx: Knex.Transaction): Knex.Transaction =>
    new Proxy(trx, {
      get: (of, name) => {
        if (name !== 'raw') return Reflect.get(of, name) as unknown;
        return async (text: string, bindings: readonly string[] = []) => {
          if (bindings.length > 0)
            plans.push({ text, steps: await plannedIn(of, { text, bindings }, { options: [], whole: false }) });
          const answer: unknown = await of.raw(text, bindings);
          return answer;
        };
      },
    });
  await work({ ...db, transaction: (inside, options) => db.transaction((trx) => inside(planning(trx)), options) });
  return plans;
}

function stepsOf(node: PlanNode, above: readonly PlanNode[]): readonly Step[] {
  return [{ node, above }, ...(node.Plans ?? []).flatMap((part) => stepsOf(part, [...above, node]))];
}

/** Steps that read records, however. */
export function readsOf(steps: readonly Step[]): readonly Step[] {
  return steps.filter(({ node }) => {
    const index = node['Index Name'] ?? '';
    return (node['Relation Name'] ?? '').startsWith('records') || index.startsWith('records_');
  });
}

/** A binding as SQL: EXECUTE takes no parameters of its own. The driver reads question marks. */
function literalOf(binding: Binding): string {
  if (binding === null) return 'NULL';
  if (typeof binding === 'object') return literalOf(`{${binding.map(elementOf).join(',')}}`);
  return `'${String(binding).replaceAll("'", "''").replaceAll('?', '\\?')}'`;
}

/** As in the text of a list, which takes the type of its parameter. */
function elementOf(one: Binding): string {
  return one === null ? 'NULL' : `"${String(one).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
