// Reads a body of the right shape into a `QueryPlan`, and checks everything that docs/queries.md asks of names,
// operators, operands, order and sizes. All faults are reported; the problem has the code of the first. Nothing here
// asks the store or the policy.
import { hash } from 'node:crypto';
import { canonicalize, pathFaultText, ROOT, type Family, type NamespacePath, type Reach } from '../../engine/index.js';
import { canonicalJson } from '../json/canonical-json.js';
import type { AggregateBody, QueryBody } from '../api/query-schema.js';
import { parseCondition } from './condition.js';
import { collectFaults, throwIfAny, type Faults, type BodyPath } from '../api/faults.js';
import { fieldFaultText, parseField, type Field } from './fields.js';
import { type Include, referencesOfFamily } from './includes.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import type { AggregatePlan, AggregateValue, QueryPlan, SortKey } from './plan.js';
import { projectionOf, type Projection } from './projection.js';

/** The plan of a body that has the shape. Throws an `ApiProblem` (400) with every fault. */
export function planQuery(envelope: QueryBody): QueryPlan {
  const faults = collectFaults();
  const namespace = readNamespace(envelope.namespace, faults);
  const reach = envelope.reach ?? defaultReach(envelope.family);
  const where = parseCondition(envelope.where ?? {}, envelope.family, faults);
  const orderBy = readOrder(envelope, faults);
  const select = readSelect({ ...envelope, place: [] }, faults);
  const includes = readIncludes(envelope, faults);
  const size = readPageSize(envelope, faults);
  throwIfAny(faults);
  const includeArchived = envelope.includeArchived ?? false;
  return {
    family: envelope.family,
    namespace,
    reach,
    where,
    orderBy,
    select,
    page: { size, after: envelope.page?.after ?? null },
    includes,
    includeArchived,
    digest: hash(
      'sha256',
      canonicalJson([envelope.family, namespace, reach, envelope.where ?? {}, envelope.orderBy ?? [], includeArchived]),
      'base64url',
    ),
  };
}

/** The plan of an aggregate whose body has the shape. Throws an `ApiProblem` (400) with every fault. */
export function planAggregate(envelope: AggregateBody): AggregatePlan {
  const faults = collectFaults();
  const { family, includeArchived = false } = envelope;
  const plan = {
    family,
    namespace: readNamespace(envelope.namespace, faults),
    reach: envelope.reach ?? defaultReach(family),
    where: parseCondition(envelope.where ?? {}, family, faults),
    groupBy:
      envelope.groupBy === undefined ? null : readValue({ family, name: envelope.groupBy, place: ['groupBy'] }, faults),
    values: envelope.values.flatMap((value, index) => readAggregate(value, { family, index }, faults)),
    includeArchived,
  };
  throwIfAny(faults);
  return plan;
}

const AGGREGATES = Object.freeze(['min', 'max', 'sum'] as const);

function readAggregate(
  value: AggregateBody['values'][number],
  { family, index }: { readonly family: Family; readonly index: number },
  faults: Faults,
): readonly AggregateValue[] {
  if (value.count === true) return [{ kind: 'count' }];
  return AGGREGATES.flatMap((kind): readonly AggregateValue[] => {
    const name = value[kind];
    if (name === undefined) return [];
    const place = ['values', index, kind];
    const field = readValue({ family, name, place }, faults);
    if (field === null) return [];
    const isNumber = field.kind === 'core' ? field.type === 'number' : field.root !== 'resources';
    if (kind === 'sum' && !isNumber) {
      faults.add(place, 'query.type_mismatch', 'has no sum: the field holds no numbers');
      return [];
    }
    return [{ kind, field }];
  });
}

/** A field whose values can be told apart and ordered. */
function readValue(named: Parameters<typeof readField>[0], faults: Faults): Field | null {
  const field = readField(named, faults);
  if (field?.kind !== 'core' || (field.type !== 'structure' && field.type !== 'boolean')) return field;
  const held = field.type === 'boolean' ? 'true or false' : 'an object or a list';
  faults.add(named.place, 'query.type_mismatch', `has no order: the field holds ${held}`);
  return null;
}

function readNamespace(text: string, faults: Faults): NamespacePath {
  const result = canonicalize(text);
  if (result.ok) return result.path;
  faults.add(['namespace'], 'namespace.invalid', `is not a namespace path: ${pathFaultText(result.fault)}`);
  return ROOT;
}

/** Process runs are read in their own namespace unless the query names another reach (docs/meaning.md "Visibility"). */
export function defaultReach(family: string): Reach {
  return family === 'process-run' ? 'exact' : 'lineage';
}

function readPageSize({ page }: QueryBody, faults: Faults): number {
  const size = page?.size ?? QUERY_LIMITS.defaultPageSize;
  if (size >= 0 && size <= QUERY_LIMITS.pageSize) return size;
  const limit = size < 0 ? 'at least 0' : `at most ${String(QUERY_LIMITS.pageSize)}`;
  faults.add(['page', 'size'], 'query.limit', `must be ${limit}`);
  return 0;
}

function readOrder({ family, orderBy = [] }: QueryBody, faults: Faults): readonly SortKey[] {
  if (orderBy.length > QUERY_LIMITS.orderKeys) {
    faults.add(['orderBy'], 'query.too_complex', `has more than ${String(QUERY_LIMITS.orderKeys)} keys`);
    return [];
  }
  const keys: SortKey[] = [];
  for (const [index, item] of orderBy.entries()) {
    for (const [name, direction] of Object.entries(item)) {
      const place = ['orderBy', index, name];
      const field = readValue({ family, name, place }, faults);
      if (field !== null) keys.push({ field, direction });
    }
  }
  return keys;
}

interface Selecting extends Pick<QueryBody, 'family' | 'select'> {
  /** Of the object that `select` is a member of. */
  readonly place: BodyPath;
}

function readSelect({ family, select, place: at }: Selecting, faults: Faults): Projection | null {
  if (select === undefined) return null;
  if (select.length > QUERY_LIMITS.selectFields) {
    faults.add([...at, 'select'], 'query.too_complex', `has more than ${String(QUERY_LIMITS.selectFields)} fields`);
    return null;
  }
  const fields = select.map((name, index) => readField({ family, name, place: [...at, 'select', index] }, faults));
  return projectionOf(fields.filter((field) => field !== null));
}

function readIncludes({ family, includes = {} }: QueryBody, faults: Faults): readonly Include[] {
  const known = referencesOfFamily(family);
  return Object.entries(includes).flatMap(([name, { select }]): readonly Include[] => {
    const place = ['includes', name];
    const reference = known.find((one) => one.name === name);
    if (reference === undefined) {
      const names = known.map((one) => one.name).join(', ');
      faults.add(place, 'query.unknown_field', `is not a reference of this family; the references are ${names}`);
      return [];
    }
    const selecting = { family: reference.family, place, ...(select === undefined ? {} : { select }) };
    return [{ ...reference, select: readSelect(selecting, faults) }];
  });
}

function readField(
  { family, name, place }: { readonly family: Family; readonly name: string; readonly place: BodyPath },
  faults: Faults,
): Field | null {
  const result = parseField(family, name);
  if (result.ok) return result.field;
  faults.add(place, result.fault, fieldFaultText(family, name, result.fault));
  return null;
}
