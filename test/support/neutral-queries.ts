// The query conformance cases in their neutral form, and their translation into our envelope and dataset lines. What
// the cases call rank, label, created, status and revision become properties; ids become UUIDs in list order.
import { readFileSync } from 'node:fs';
import type { NeutralPolicy } from './neutral-policy.js';
import { fromRoot } from './root.js';

export interface NeutralRecord {
  readonly id: string;
  readonly family: string;
  readonly namespace: string;
  readonly name: string;
  readonly [property: string]: unknown;
}

export interface NeutralDataset {
  readonly namespaces: readonly string[];
  readonly records: readonly NeutralRecord[];
}

export interface NeutralActor {
  readonly local?: boolean;
  readonly identities: readonly { readonly provider: string; readonly subject: string }[];
  readonly scopes: 'all' | readonly string[];
  readonly restrictions: readonly string[] | null;
}

export interface NeutralQuery {
  readonly family: unknown;
  readonly context: unknown;
  readonly where?: readonly Readonly<Record<string, unknown>>[];
  readonly order?: readonly { readonly field: string; readonly dir: string }[];
  readonly page?: { readonly offset?: number; readonly limit?: unknown };
}

export interface QueryCase {
  readonly group: string;
  readonly id: string;
  readonly dataset: string;
  readonly policy: string;
  readonly actor: string;
  readonly query: NeutralQuery;
  readonly ordered: boolean;
  readonly note: string;
  readonly expect: {
    readonly page_ids: readonly string[];
    readonly matching: readonly string[];
    readonly count: number;
    readonly read_gate?: string;
  };
}

export interface QueryCases {
  readonly datasets: Readonly<Record<string, NeutralDataset>>;
  readonly policies: Readonly<Record<string, NeutralPolicy>>;
  readonly actors: Readonly<Record<string, NeutralActor>>;
  readonly cases: readonly QueryCase[];
  readonly errors: readonly Omit<QueryCase, 'expect' | 'ordered' | 'group'>[];
  readonly non_interference: { readonly from: string; readonly to: string; readonly cases: readonly string[] };
}

export function readQueryCases(): QueryCases {
  return JSON.parse(readFileSync(fromRoot('fixtures/conformance/queries.json'), 'utf8')) as QueryCases;
}

const OPERATORS = new Map([
  ['starts_with', 'startsWith'],
  ['ends_with', 'endsWith'],
  ['not_in', 'notIn'],
]);
const PROPERTIES: ReadonlySet<string> = new Set(['rank', 'label', 'created', 'status', 'revision']);

/** UUIDs that sort in the order of the list, so that ties fall as the cases expect. */
export function uuidsOf(dataset: NeutralDataset): ReadonlyMap<string, string> {
  return new Map(
    dataset.records.map((record, index) => [
      record.id,
      `01900000-0000-7000-8000-${(index + 1).toString(16).padStart(12, '0')}`,
    ]),
  );
}

/** The dataset as `load` takes it: every namespace first, then the records. */
export function datasetLines(dataset: NeutralDataset): readonly string[] {
  const ids = uuidsOf(dataset);
  const described = new Set(dataset.records.filter((r) => r.family === 'namespace').map((r) => r.namespace));
  const bare = dataset.namespaces
    .filter((namespace) => !described.has(namespace) && namespace !== '/')
    .map((namespace) => JSON.stringify({ family: 'namespace', namespace }));
  const records = dataset.records.map((record) => {
    const { id, family, namespace, name, ...rest } = record;
    const template = family.endsWith('-template') ? { version: '1', schema: {} } : {};
    const slots = family === 'process-template' ? { slots: [] } : {};
    return JSON.stringify({ id: ids.get(id), family, namespace, name, properties: rest, ...template, ...slots });
  });
  return [...bare, ...records];
}

/** Our envelope without its page. */
export function toEnvelope(query: NeutralQuery, dataset: NeutralDataset): Record<string, unknown> {
  const ids = uuidsOf(dataset);
  const envelope: Record<string, unknown> = { family: query.family, namespace: query.context };
  if (query.where !== undefined) {
    envelope['where'] = {
      and: query.where.map(({ field, op, value, ...unknown }) => {
        const name = fieldName(String(field));
        return { [name]: { ...condition(String(op), operand(name, value, ids)), ...unknown } };
      }),
    };
  }
  if (query.order !== undefined) {
    envelope['orderBy'] = query.order.map(({ field, dir }) => ({ [fieldName(field)]: dir }));
  }
  return envelope;
}

function fieldName(field: string): string {
  return PROPERTIES.has(field) ? `properties.${field}` : field;
}

function condition(op: string, value: unknown): Record<string, unknown> {
  if (value === null) return { isNull: op === 'eq' };
  return { [OPERATORS.get(op) ?? op]: value };
}

function operand(field: string, value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => operand(field, item, ids));
  if (field === 'namespace' && typeof value === 'string' && !value.startsWith('/')) return `/${value}`;
  if (field === 'id' && typeof value === 'string') return ids.get(value) ?? value;
  return value;
}
