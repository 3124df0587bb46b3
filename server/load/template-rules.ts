// Checks the records of a batch against the schemas of their templates, with the same code that checks records from the
// API. A bounded number of compiled schemas is kept from batch to batch.
import type { Knex } from 'knex';
import type { DatasetSlot } from '../api/dataset-schema.js';
import type { ShapeFault } from '../api/shape-fault.js';
import { rowsOf, sql } from '../db/sql.js';
import { pointerTo } from '../json/strict-json.js';
import { judgedPart, judgePart, requiredText } from '../templates/judge-record.js';
import { isIds, slotFaults, storedSlots, type Uses } from '../templates/judge-slots.js';
import { readTemplate, type TemplateResult } from '../templates/template-schema.js';
import { LOAD_LIMITS } from '../limits/records.js';
import type { LoadRow } from './record-line.js';

interface KnownTemplate {
  /** The transaction that has written it. A `load --replace` may write another at any time. */
  readonly writtenBy: string;
  /** Null if the template demands nothing of the values. */
  readonly schema: TemplateResult | null;
  readonly slots: readonly DatasetSlot[];
}

/** By id of the template. */
export type KnownTemplates = Map<string, KnownTemplate>;

interface Violation {
  readonly code: 'record.invalid';
  readonly pointer: string;
  readonly message: string;
}

/** The rows that their templates refuse, by place. The templates must be in the store by now. */
export async function violations(
  trx: Knex,
  rows: ReadonlyMap<number, LoadRow>,
  known: KnownTemplates,
): Promise<ReadonlyMap<number, Violation>> {
  await learn(trx, [...rows.values()], known);
  const templateOf = await templatesOfUsed(trx, [...rows.values()], known);
  const found = new Map<number, Violation>();
  for (const [n, row] of rows) {
    const template = row.template === null ? undefined : known.get(row.template);
    const violation = template === undefined ? null : judge(row, template, templateOf);
    if (violation !== null) found.set(n, violation);
  }
  return found;
}

/** The templates of the resources that the rows use, if a slot may ask for them. */
async function templatesOfUsed(
  trx: Knex,
  rows: readonly LoadRow[],
  known: KnownTemplates,
): Promise<Uses['templateOf']> {
  const asks = ({ template }: LoadRow): boolean =>
    (known.get(template ?? '')?.slots ?? []).some((slot) => slot.template !== null);
  const used = rows.filter(asks);
  const ids = new Set(used.flatMap((row) => Object.values(usedBy(row))));
  const stored =
    ids.size === 0
      ? []
      : await rowsOf<{ readonly id: string; readonly template: string | null }>(
          trx,
          sql`SELECT id, template FROM records WHERE id = ANY(${[...ids]}::uuid[])`,
        );
  const templates = new Map(stored.map(({ id, template }) => [id, template]));
  return (id) => templates.get(id);
}

function usedBy({ resources }: LoadRow): Readonly<Record<string, string>> {
  const value: unknown = JSON.parse(resources ?? '{}');
  return isIds(value) ? value : {};
}

/** Reads the templates that the store has in another form than the known one. */
async function learn(trx: Knex, rows: readonly LoadRow[], known: KnownTemplates): Promise<void> {
  const ids = [...new Set(rows.flatMap(({ template }) => template ?? []))];
  if (known.size + ids.filter((id) => !known.has(id)).length > LOAD_LIMITS.knownTemplates) known.clear();
  const writers = ids.map((id) => known.get(id)?.writtenBy ?? '');
  const stored = await rowsOf<{
    readonly id: string;
    readonly writtenBy: string;
    readonly schema: object | null;
    readonly slots: unknown;
  }>(
    trx,
    sql`SELECT t.id, t.xmin::text AS "writtenBy", t.schema, t.slots
      FROM unnest(${ids}::uuid[], ${writers}::text[]) AS k (id, writer)
      CROSS JOIN LATERAL (SELECT r.xmin, r.id, r.schema, r.slots FROM records AS r WHERE r.id = k.id OFFSET 0) AS t
      WHERE t.xmin::text <> k.writer`,
  );
  for (const { id, writtenBy, schema, slots } of stored) {
    known.set(id, { writtenBy, schema: schema === null ? null : readTemplate(schema), slots: storedSlots(slots) });
  }
}

const NOT_USABLE = { pointer: '', message: 'is not a JSON Schema' };

function judge(row: LoadRow, { schema, slots }: KnownTemplate, templateOf: Uses['templateOf']): Violation | null {
  const part = judgedPart(row.family);
  const verdict = judgePart(schema, { value: JSON.parse(row[part] ?? '{}') }, LOAD_LIMITS.stepTime);
  switch (verdict.kind) {
    case 'right':
      return slots.length === 0 ? null : violationOf('', slotFaults(slots, { resources: usedBy(row), templateOf }));
    case 'unusable': {
      const [{ pointer, message } = NOT_USABLE] = verdict.faults;
      return {
        code: 'record.invalid',
        pointer: '/template',
        message: `the schema of this template cannot be used: ${pointer} ${message}`,
      };
    }
    case 'wrong':
      return violationOf(`/${part}`, verdict.faults);
  }
}

/** Names the first fault and counts the others; null if there is none. */
function violationOf(below: string, faults: readonly ShapeFault[]): Violation | null {
  const [first, ...others] = faults;
  if (first === undefined) return null;
  const more = others.length === 0 ? '' : `, and ${String(others.length)} more`;
  return {
    code: 'record.invalid',
    pointer: first.place.reduce<string>(pointerTo, below),
    message: `${requiredText(first.message)}${more}`,
  };
}
