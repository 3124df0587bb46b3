// Checks the records of a batch against the schemas of their templates, with the same code that checks records from the
// API. A bounded number of compiled schemas is kept from batch to batch.
import type { Knex } from 'knex';
import { rowsOf, sql } from '../db/sql.js';
import { pointerTo } from '../json.js';
import { judgedPart, judgePart } from '../templates/judge-record.js';
import { readTemplate, type TemplateResult } from '../templates/template-schema.js';
import { LOAD_LIMITS } from '../limits/records.js';
import type { LoadRow } from './record-line.js';
import type { Trial } from './trial.js';

/** By id of the template; null if the template demands nothing. */
export type KnownTemplates = Map<string, TemplateResult | null>;

export interface Templates {
  readonly known: KnownTemplates;
  readonly trial: Trial | null;
}

export interface Violation {
  readonly code: 'record.invalid';
  readonly pointer: string;
  readonly message: string;
}

/** The rows that their templates refuse, by place. The templates must be in the store by now. */
export async function violations(
  trx: Knex,
  rows: ReadonlyMap<number, LoadRow>,
  { known, trial }: Templates,
): Promise<ReadonlyMap<number, Violation>> {
  await learn(trx, [...rows.values()], { known, trial });
  const found = new Map<number, Violation>();
  for (const [n, row] of rows) {
    const violation = row.template === null ? null : judge(row, known.get(row.template) ?? null);
    if (violation !== null) found.set(n, violation);
  }
  return found;
}

async function learn(trx: Knex, rows: readonly LoadRow[], { known, trial }: Templates): Promise<void> {
  const wanted = new Set(rows.flatMap(({ template }) => (template === null || known.has(template) ? [] : [template])));
  if (wanted.size === 0) return;
  if (known.size + wanted.size > LOAD_LIMITS.knownTemplates) {
    known.clear();
    for (const { template } of rows) if (template !== null) wanted.add(template);
  }
  const ids = [...wanted];
  const stored = await rowsOf<{ readonly id: string; readonly schema: object | null }>(
    trx,
    sql`SELECT id, schema FROM records WHERE id = ANY(${ids}::uuid[])`,
  );
  for (const { id, schema } of stored) known.set(id, schema === null ? null : readTemplate(schema));
  for (const id of ids) {
    const schema = known.has(id) ? undefined : trial?.schemaOf(id);
    if (schema !== undefined) known.set(id, schema === null ? null : readTemplate(parse(schema)));
  }
}

function parse(schema: string): object {
  const value: unknown = JSON.parse(schema);
  if (typeof value !== 'object' || value === null) throw new TypeError('a schema that is not an object');
  return value;
}

const NOT_USABLE = { pointer: '', message: 'is not a JSON Schema' };

function judge(row: LoadRow, template: TemplateResult | null): Violation | null {
  const part = judgedPart(row.family);
  const verdict = judgePart(template, { value: JSON.parse(row[part] ?? '{}') });
  switch (verdict.kind) {
    case 'right':
      return null;
    case 'unusable': {
      const [{ pointer, message } = NOT_USABLE] = verdict.faults;
      return {
        code: 'record.invalid',
        pointer: '/template',
        message: `the schema of this template cannot be used: ${pointer} ${message}`,
      };
    }
    case 'wrong': {
      const { faults } = verdict;
      const more = faults.length === 1 ? '' : `, and ${String(faults.length - 1)} more`;
      return {
        code: 'record.invalid',
        pointer: (faults[0]?.place ?? []).reduce<string>(pointerTo, `/${part}`),
        message: `${faults[0]?.message ?? 'is not right'}, as the template requires${more}`,
      };
    }
  }
}
