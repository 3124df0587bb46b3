// `where` as a tree. It is read from the request with all its type rules (docs/queries.md "Conditions"), and every
// operand is already in the form in which it is bound. Whatever is accepted here has a meaning for every stored value.
import { nearest, parseInstant, type Family } from '../../engine/index.js';
import { FIRST_STORED } from '../db/tables.js';
import type { ProblemCode } from '../problem.js';
import type { BodyPath, Faults } from '../api/faults.js';
import { fieldFaultText, isStorableText, parseField, type Field, type PropertyField } from './fields.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { isObject } from '../json/strict-json.js';

export type CompareOperator = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte';
/** `containsIgnoreCase` compares folded texts (case-folding.ts). */
export type PatternOperator = 'contains' | 'containsIgnoreCase' | 'startsWith' | 'endsWith';
export type MemberOperator = 'in' | 'notIn';
/** For a property that holds a list: whether it has one element, any of several, or all of several. */
export type Containment = 'has' | 'hasAny' | 'hasAll';

/** A value as it is bound; the texts of numbers and instants are ours, not the client's. */
export type Operand =
  | { readonly type: 'number'; readonly value: string }
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'instant'; readonly value: string };

export type OperandType = Operand['type'];

export type QueryCondition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly QueryCondition[] }
  | { readonly kind: 'not'; readonly part: QueryCondition }
  | { readonly kind: 'compare'; readonly field: Field; readonly operator: CompareOperator; readonly operand: Operand }
  | { readonly kind: 'pattern'; readonly field: Field; readonly operator: PatternOperator; readonly text: string }
  | {
      readonly kind: 'member';
      readonly field: Field;
      readonly operator: MemberOperator;
      /** The type that all values share; null for an empty list. */
      readonly type: OperandType | null;
      readonly values: readonly Operand[];
    }
  | {
      readonly kind: 'list';
      /** A property, or what all slots of a run hold. */
      readonly field: PropertyField | 'resources';
      readonly operator: Containment;
      readonly values: readonly Operand[];
    }
  | { readonly kind: 'isNull'; readonly field: Field; readonly wanted: boolean }
  /**
   * Never in a request, added by in-time.ts: the part, or an error once the statement has run for longer than `limit`
   * milliseconds.
   */
  | { readonly kind: 'inTime'; readonly limit: number; readonly part: QueryCondition };

/** Whether it holds for every record because the query asked for no condition. */
export function isEverything(condition: QueryCondition): boolean {
  return condition.kind === 'and' && condition.parts.length === 0;
}

type Operator =
  | { readonly kind: 'comparison'; readonly operator: CompareOperator }
  | { readonly kind: 'pattern'; readonly operator: PatternOperator }
  | { readonly kind: 'membership'; readonly operator: MemberOperator }
  | { readonly kind: 'containment'; readonly operator: Containment }
  | { readonly kind: 'presence' };

const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ...(['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const).map(
    (operator) => [operator, { kind: 'comparison', operator }] as const,
  ),
  ...(['contains', 'containsIgnoreCase', 'startsWith', 'endsWith'] as const).map(
    (operator) => [operator, { kind: 'pattern', operator }] as const,
  ),
  ...(['in', 'notIn'] as const).map((operator) => [operator, { kind: 'membership', operator }] as const),
  ['isNull', { kind: 'presence' }],
  ...(['has', 'hasAny', 'hasAll'] as const).map((operator) => [operator, { kind: 'containment', operator }] as const),
]);

/** Operators of other query languages, and their names here. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ...['equals', 'equal', 'is', '=', '==', '===', '$eq'].map((name) => [name, 'eq'] as const),
  ...['neq', 'not', 'notEquals', 'isNot', '!=', '<>', '$ne'].map((name) => [name, 'ne'] as const),
  ...['<', 'lessThan', 'before', '$lt'].map((name) => [name, 'lt'] as const),
  ...['<=', 'le', '$lte'].map((name) => [name, 'lte'] as const),
  ...['>', 'greaterThan', 'after', '$gt'].map((name) => [name, 'gt'] as const),
  ...['>=', 'ge', '$gte'].map((name) => [name, 'gte'] as const),
  ...['like', 'includes', 'matches', 'regex'].map((name) => [name, 'contains'] as const),
  ...['ilike', 'icontains', 'contains_ci', 'containsInsensitive', 'ignoreCase', 'search'].map(
    (name) => [name, 'containsIgnoreCase'] as const,
  ),
  ...['prefix', 'beginsWith'].map((name) => [name, 'startsWith'] as const),
  ...['suffix'].map((name) => [name, 'endsWith'] as const),
  ...['oneOf', 'anyOf', '$in'].map((name) => [name, 'in'] as const),
  ...['nin', 'not_in', '$nin'].map((name) => [name, 'notIn'] as const),
  ...['null', 'exists', 'isnull', 'is_null'].map((name) => [name, 'isNull'] as const),
]);

function unknownOperator(name: string): OperatorFault {
  const meant = OTHER_NAMES.get(name) ?? (name === 'between' ? 'gte` and `lte' : nearest(name, OPERATORS.keys()));
  const hint = meant === null ? '' : `did you mean \`${meant}\`? `;
  const known = [...OPERATORS.keys()].join(', ');
  return { fault: 'query.unknown_operator', message: `is not an operator; ${hint}the operators are ${known}` };
}

interface ConditionContext {
  readonly family: Family;
  readonly faults: Faults;
  conditions: number;
}

/** `{}` holds for every record. A wrong part is reported to `faults` and left out. */
export function parseCondition(
  where: Readonly<Record<string, unknown>>,
  family: Family,
  faults: Faults,
): QueryCondition {
  return readGroup(where, { place: ['where'], depth: 0 }, { family, faults, conditions: 0 });
}

interface At {
  readonly place: BodyPath;
  readonly depth: number;
}

const OPERATION = '{"eq":"lens"}';
const GROUP = `{"name":${OPERATION}}`;

function readGroup(group: Readonly<Record<string, unknown>>, at: At, reading: ConditionContext): QueryCondition {
  const parts: QueryCondition[] = [];
  for (const [key, value] of Object.entries(group)) {
    const place = [...at.place, key];
    if (key === 'and' || key === 'or') {
      if (!Array.isArray(value))
        reading.faults.add(place, 'request.schema', `must be a list of groups, like [${GROUP}]`);
      else parts.push({ kind: key, parts: readParts(value, { place, depth: at.depth }, reading) });
    } else if (key === 'not') {
      const part = readNested(value, { place, depth: at.depth }, reading);
      if (part !== null) parts.push({ kind: 'not', part });
    } else {
      parts.push(...readField(key, value, { place, reading }));
    }
    if (reading.conditions > QUERY_LIMITS.conditions) break;
  }
  return { kind: 'and', parts };
}

function readParts(list: readonly unknown[], at: At, reading: ConditionContext): QueryCondition[] {
  const parts: QueryCondition[] = [];
  for (const [index, value] of list.entries()) {
    const part = readNested(value, { place: [...at.place, index], depth: at.depth }, reading);
    if (part !== null) parts.push(part);
    if (reading.conditions > QUERY_LIMITS.conditions) break;
  }
  return parts;
}

function readNested(value: unknown, at: At, reading: ConditionContext): QueryCondition | null {
  if (at.depth >= QUERY_LIMITS.depth) {
    reading.faults.add(at.place, 'query.too_complex', 'is nested too deeply');
    return null;
  }
  if (!isObject(value)) {
    reading.faults.add(at.place, 'request.schema', `must be a group of conditions, like ${GROUP}`);
    return null;
  }
  // An empty group counts as one condition. Otherwise a list of empty groups could be of any length.
  if (Object.keys(value).length === 0) countOne(at.place, reading);
  return readGroup(value, { place: at.place, depth: at.depth + 1 }, reading);
}

interface InField {
  readonly place: BodyPath;
  readonly reading: ConditionContext;
}

function readField(name: string, operators: unknown, { place, reading }: InField): QueryCondition[] {
  const result = parseField(reading.family, name);
  const fault = result.ok ? null : result.fault;
  if (fault !== null) reading.faults.add(place, fault, fieldFaultText(reading.family, name, fault));
  else if (!isObject(operators))
    reading.faults.add(place, 'request.schema', `must be an object of operators, like ${OPERATION}`);
  if (!result.ok || !isObject(operators)) {
    countOne(place, reading);
    return [];
  }
  // An empty object would hold for every record, most likely by mistake.
  const entries = Object.entries(operators);
  if (entries.length === 0)
    reading.faults.add(place, 'request.schema', `must have at least one operator, like ${OPERATION}`);
  const conditions: QueryCondition[] = [];
  for (const [operator, operand] of entries) {
    const here = [...place, operator];
    if (!countOne(here, reading)) break;
    const condition = readOperator(result.field, operator, operand);
    if ('fault' in condition) reading.faults.add(here, condition.fault, condition.message);
    else conditions.push(condition);
  }
  return conditions;
}

/** Counts a condition. Returns false if there are too many by now, and reports the first one beyond the limit. */
function countOne(place: BodyPath, reading: ConditionContext): boolean {
  reading.conditions += 1;
  if (reading.conditions <= QUERY_LIMITS.conditions) return true;
  if (reading.conditions === QUERY_LIMITS.conditions + 1) {
    reading.faults.add(place, 'query.too_complex', `has more than ${String(QUERY_LIMITS.conditions)} conditions`);
  }
  return false;
}

interface OperatorFault {
  readonly fault: ProblemCode;
  readonly message: string;
}

function readOperator(field: Field, name: string, operand: unknown): QueryCondition | OperatorFault {
  const known = OPERATORS.get(name);
  if (known === undefined) return unknownOperator(name);
  switch (known.kind) {
    case 'presence':
      if (typeof operand !== 'boolean') return mismatch('must be true or false');
      return { kind: 'isNull', field, wanted: operand };
    case 'pattern':
      if (field.kind === 'core' && field.type !== 'text') return mismatch('is for string fields only');
      if (typeof operand !== 'string') return mismatch('must be a string');
      if (!isStorableText(operand)) return mismatch(UNSTORABLE);
      if (known.operator === 'containsIgnoreCase' && Array.from(operand).length > QUERY_LIMITS.foldedCharacters) {
        const message = `has more than ${String(QUERY_LIMITS.foldedCharacters)} characters`;
        return { fault: 'query.too_complex', message };
      }
      return { kind: 'pattern', field, operator: known.operator, text: asHeld(field, operand) };
    case 'membership':
      return readMembership(field, known.operator, operand);
    case 'containment':
      return readContainment(field, known.operator, operand);
    case 'comparison': {
      const value = readOperand(field, operand);
      if ('fault' in value) return value;
      if (value.type === 'boolean' && known.operator !== 'eq' && known.operator !== 'ne') {
        return mismatch('does not order booleans; use eq, ne, in or notIn');
      }
      if (known.operator === 'eq' || known.operator === 'ne') {
        const foreign = valueFault(field, value);
        if (foreign !== null) return foreign;
      }
      return { kind: 'compare', field, operator: known.operator, operand: value };
    }
  }
}

function readMembership(field: Field, operator: MemberOperator, list: unknown): QueryCondition | OperatorFault {
  const values = readOperands(field, list);
  if ('fault' in values) return values;
  const foreign = values.map((value) => valueFault(field, value)).find((fault) => fault !== null);
  if (foreign !== undefined) return foreign;
  return { kind: 'member', field, operator, type: values[0]?.type ?? null, values };
}

/** Of a field with a closed list of values: a value outside it, mostly misspelt, would match nothing without a word. */
function valueFault(field: Field, { value }: Operand): OperatorFault | null {
  const values = field.kind === 'core' ? field.values : undefined;
  if (values === undefined || values.some((known) => known === value)) return null;
  return mismatch(`must be one of ${values.join(', ')}`);
}

function readContainment(field: Field, operator: Containment, operand: unknown): QueryCondition | OperatorFault {
  const held = field.kind === 'core' && field.name === 'resources' ? 'resources' : field;
  if (held !== 'resources' && (held.kind === 'core' || held.root === 'resources')) return mismatch(NO_LIST);
  const list: unknown = operator === 'has' ? [operand] : operand;
  if (Array.isArray(list) && !list.every((item) => typeof item === 'number' || typeof item === 'string'))
    return mismatch(operator === 'has' ? ELEMENT : `must be a list of numbers or of strings, like ${LIST}`);
  const values = readOperands(held === 'resources' ? SLOT_VALUE : held, list);
  if ('fault' in values) return values;
  return { kind: 'list', field: held, operator, values };
}

/** The values of a list, all of one type. */
function readOperands(field: Field, list: unknown): readonly Operand[] | OperatorFault {
  if (!Array.isArray(list)) return mismatch(`must be a list, like ${LIST}`);
  if (list.length > QUERY_LIMITS.listValues) {
    return { fault: 'query.too_complex', message: `holds more than ${String(QUERY_LIMITS.listValues)} values` };
  }
  if (field.kind === 'core' && field.type === 'structure') return mismatch(STRUCTURE);
  const items: readonly unknown[] = list;
  const values: Operand[] = [];
  for (const item of items) {
    const value = readOperand(field, item);
    if ('fault' in value) return value;
    if (values[0] !== undefined && values[0].type !== value.type) return mismatch('must hold values of one type');
    values.push(value);
  }
  return values;
}

const NO_LIST = 'is for `resources` and for lists in `properties` and `parameters` only';
/** Any slot: what it holds is compared as a string. */
const SLOT_VALUE: PropertyField = Object.freeze({ kind: 'property', root: 'resources', path: [] });
const LIST = '["a","b"]';
const ELEMENT = 'takes a number or a string, to look for in a list';
const UNSTORABLE = 'is a string that no record can hold';
const STRUCTURE = 'cannot be compared: the field holds an object or a list';

/** The operand in the form in which it is bound, or why the field does not compare with it. */
function readOperand(field: Field, value: unknown): Operand | OperatorFault {
  const wanted = field.kind === 'core' ? field.type : field.root === 'resources' ? 'text' : null;
  if (wanted === 'structure') return mismatch(STRUCTURE);
  switch (typeof value) {
    case 'number':
      if (wanted !== null && wanted !== 'number') return mismatch(WANTED[wanted]);
      return Number.isFinite(value) ? { type: 'number', value: String(value) } : mismatch('must be a finite number');
    case 'boolean':
      return wanted === null || wanted === 'boolean' ? { type: 'boolean', value } : mismatch(WANTED[wanted]);
    case 'string':
      if (wanted === 'instant') return readInstant(value);
      if (wanted === 'number' || wanted === 'boolean') return mismatch(WANTED[wanted]);
      return isStorableText(value) ? { type: 'text', value: asHeld(field, value) } : mismatch(UNSTORABLE);
    default:
      return mismatch(value === null ? 'must not be null; use isNull' : wanted === null ? WANTED.any : WANTED[wanted]);
  }
}

/** UUIDs are written in lower case and read in either (RFC 9562). The fields that hold them are in lower case. */
function asHeld(field: Field, text: string): string {
  const holdsIds = field.kind === 'core' ? field.holdsIds : field.root === 'resources';
  return holdsIds ? text.toLowerCase() : text;
}

const WANTED = Object.freeze({
  text: 'must be a string',
  number: 'must be a number',
  boolean: 'must be true or false',
  instant: 'must be an instant with at most three digits after the second, like 2027-01-01T00:00:00.000Z',
  any: 'must be a number, a string or a boolean',
});

function readInstant(text: string): Operand | OperatorFault {
  const instant = parseInstant(text);
  if (instant === null) return mismatch(WANTED.instant);
  // No stored instant is this early, so PostgreSQL's -infinity gives the same comparisons.
  if (instant < FIRST_STORED) return { type: 'instant', value: '-infinity' };
  return { type: 'instant', value: new Date(instant).toISOString() };
}

function mismatch(message: string): OperatorFault {
  return { fault: 'query.type_mismatch', message };
}
