// Conditions as SQL over a row called `x`. Every expression is total: whatever JSON is stored, it gives true or false,
// never NULL and never an error. So `not` is plain negation, and a failure reveals nothing (docs/queries.md
// "Conditions"). One exception is deliberate: an `inTime` condition raises an error when its statement has run for too
// long.
import { assertNever } from '../../engine/index.js';
import { foldedSearch } from './case-folding.js';
import type {
  CompareOperator,
  Containment,
  MemberOperator,
  Operand,
  OperandType,
  PatternOperator,
  QueryCondition,
} from './condition.js';
import { propertyValue, USED_RESOURCES, type Field, type PropertyField } from './fields.js';
import { join, literal, sql, type Fragment } from '../db/sql.js';

const compiled = new WeakMap<QueryCondition, Fragment>();

/**
 * Returns the same fragment each time it is given the same condition. A statement contains it in many places, and its
 * bindings are then sent only once (server/db/sql.ts).
 */
export function compileCondition(condition: QueryCondition): Fragment {
  const known = compiled.get(condition);
  if (known !== undefined) return known;
  const made = compile(condition);
  compiled.set(condition, made);
  return made;
}

function compile(condition: QueryCondition): Fragment {
  switch (condition.kind) {
    case 'and':
      return condition.parts.length === 0 ? sql`TRUE` : sql`(${join(condition.parts.map(compileCondition), ' AND ')})`;
    case 'or':
      return condition.parts.length === 0 ? sql`FALSE` : sql`(${join(condition.parts.map(compileCondition), ' OR ')})`;
    case 'not':
      return sql`(NOT ${compileCondition(condition.part)})`;
    case 'inTime':
      return orTooLate(condition.limit, compileCondition(condition.part));
    case 'isNull':
      return isNull(condition.field, condition.wanted ? 'absent' : 'present');
    case 'compare':
      return total(condition.field, condition.operand.type, (value) =>
        compare(value, condition.operator, condition.operand),
      );
    case 'pattern':
      return total(condition.field, 'text', (value) => match(value, condition.operator, condition.text));
    case 'member': {
      const { field, operator, type, values } = condition;
      if (type === null) return operator === 'in' ? sql`FALSE` : isNull(field, 'present');
      return total(field, type, (value) => member(value, operator, { type, values }));
    }
    case 'list':
      return inList(listOf(condition.field), condition.operator, condition.values);
    default:
      return assertNever(condition);
  }
}

/**
 * Raises SQLSTATE 2203A, which nothing else of ours raises, if the statement has run for longer than `limit`
 * milliseconds. The error is made from the clock, because PostgreSQL would raise a constant error while it plans the
 * statement.
 */
export function orTooLate(limit: number, condition: Fragment): Fragment {
  return sql`(CASE WHEN clock_timestamp() > statement_timestamp() + ${literal(limit)} * interval '1 ms'
    THEN jsonb_path_exists(to_jsonb(clock_timestamp()), 'strict $.time') ELSE ${condition} END)`;
}

/** `test` of the field's value if it has one of this type, false otherwise. */
function total(field: Field, type: OperandType, test: (value: Fragment) => Fragment): Fragment {
  if (field.kind === 'core') {
    return field.optional ? sql`COALESCE(${test(field.value)}, FALSE)` : test(field.value);
  }
  // PostgreSQL promises to evaluate CASE in order, so the cast only sees values of its own type.
  const value = propertyValue(field);
  return sql`(CASE WHEN jsonb_typeof(${value}) = ${JSON_TYPES[type]} THEN ${test(typed(value, type))} ELSE FALSE END)`;
}

/** A property's value as SQL, given that its JSON type is already known to be this one. */
export function typed(value: Fragment, type: OperandType): Fragment {
  switch (type) {
    case 'number':
      return sql`${value}::numeric`;
    case 'boolean':
      return sql`${value}::boolean`;
    case 'text':
      return sql`((${value} #>> '{}') COLLATE "C")`;
    case 'instant':
      throw new TypeError('a property is never an instant');
    default:
      return assertNever(type);
  }
}

const JSON_TYPES: Readonly<Record<OperandType, Fragment>> = Object.freeze({
  number: sql`'number'`,
  text: sql`'string'`,
  boolean: sql`'boolean'`,
  // No JSON type: a property is never an instant.
  instant: sql`''`,
});

function isNull(field: Field, wanted: 'absent' | 'present'): Fragment {
  if (field.kind === 'core') {
    if (!field.optional) return wanted === 'absent' ? sql`FALSE` : sql`TRUE`;
    return wanted === 'absent' ? sql`(${field.value} IS NULL)` : sql`(${field.value} IS NOT NULL)`;
  }
  const type = typeOrNull(field);
  return wanted === 'absent' ? sql`(${type} = 'null')` : sql`(${type} <> 'null')`;
}

function typeOrNull(field: PropertyField): Fragment {
  return sql`COALESCE(jsonb_typeof(${propertyValue(field)}), 'null')`;
}

const SYMBOLS: Readonly<Record<CompareOperator, Fragment>> = Object.freeze({
  eq: sql`=`,
  ne: sql`<>`,
  lt: sql`<`,
  lte: sql`<=`,
  gt: sql`>`,
  gte: sql`>=`,
});

function compare(value: Fragment, operator: CompareOperator, operand: Operand): Fragment {
  return sql`(${value} ${SYMBOLS[operator]} ${bound(operand)})`;
}

function bound({ type, value }: Operand): Fragment {
  switch (type) {
    case 'number':
      return sql`${value}::numeric`;
    case 'text':
      return sql`${value}::text`;
    case 'boolean':
      return sql`${value}::boolean`;
    case 'instant':
      return sql`${value}::timestamptz`;
    default:
      return assertNever(type);
  }
}

/** Literal text, compared code point by code point: no pattern language is ever involved. */
function match(value: Fragment, operator: PatternOperator, text: string): Fragment {
  switch (operator) {
    case 'contains':
      return sql`(strpos(${value}, ${text}::text) > 0)`;
    case 'containsIgnoreCase':
      return containsFolded(value, text);
    case 'startsWith':
      return sql`starts_with(${value}, ${text}::text)`;
    case 'endsWith':
      return sql`(right(${value}, length(${text}::text)) = ${text}::text)`;
    default:
      return assertNever(operator);
  }
}

/**
 * Only functions on characters, whose result no locale changes. A value of ASCII alone, which most are, is folded by
 * `lower` under the collation C, which is twenty times as fast.
 */
function containsFolded(value: Fragment, text: string): Fragment {
  const { wanted, from, to, wide } = foldedSearch(text);
  const narrow = from === '' ? value : sql`translate(${value}, ${from}::text, ${to}::text)`;
  const folded = wide.reduce(
    (before, [one, several]) => sql`replace(${before}, ${one}::text, ${several}::text)`,
    narrow,
  );
  return sql`(CASE WHEN octet_length(${value}) = length(${value}) THEN strpos(lower(${value} COLLATE "C"), ${wanted}::text) > 0
    ELSE strpos(${folded}, ${wanted}::text) > 0 END)`;
}

interface OperandList {
  readonly type: OperandType;
  readonly values: readonly Operand[];
}

/**
 * A list of more values than this is looked up in a hash table. Comparing them one by one would cost each record more
 * than everything else.
 */
const FEW_VALUES = 16;

function member(value: Fragment, operator: MemberOperator, list: OperandList): Fragment {
  const array = boundList(list);
  if (list.values.length > FEW_VALUES) {
    const isIn = sql`${value} IN (SELECT unnest(${array}))`;
    // COALESCE, because the planner would turn a bare IN into a join, and a join loses the order.
    return operator === 'in' ? sql`COALESCE(${isIn}, FALSE)` : sql`COALESCE(NOT ${isIn}, FALSE)`;
  }
  return operator === 'in' ? sql`(${value} = ANY(${array}))` : sql`(${value} <> ALL(${array}))`;
}

/** One binding, however long the list. */
function boundList({ type, values }: OperandList): Fragment {
  const texts = values.map(({ value }) => String(value));
  switch (type) {
    case 'number':
      return sql`${texts}::numeric[]`;
    case 'text':
      return sql`${texts}::text[]`;
    case 'boolean':
      return sql`${texts}::boolean[]`;
    case 'instant':
      return sql`${texts}::timestamptz[]`;
    default:
      return assertNever(type);
  }
}

/**
 * Whether a property is a list that holds the values. As jsonb compares them, a value only equals an element of the
 * same JSON type.
 */
function inList(value: Fragment, operator: Containment, operands: readonly Operand[]): Fragment {
  const wanted = operands.map((operand) => JSON.stringify(jsonOf(operand)));
  const test = operands.length > FEW_VALUES ? manyInList(value, operator, wanted) : fewInList(value, operator, wanted);
  return sql`(CASE WHEN jsonb_typeof(${value}) = 'array' THEN ${test} ELSE FALSE END)`;
}

function listOf(field: PropertyField | 'resources'): Fragment {
  return field === 'resources' ? USED_RESOURCES : propertyValue(field);
}

function fewInList(value: Fragment, operator: Containment, wanted: readonly string[]): Fragment {
  // `@>` does not look inside the elements: a number or a string is only found where it is an element itself.
  if (operator === 'hasAny') return sql`(${value} @> ANY(${wanted}::jsonb[]))`;
  return sql`(${value} @> ${`[${wanted.join(',')}]`}::jsonb)`;
}

/** Uses hash tables. Comparing each element with each value would cost the product of the two counts. */
function manyInList(value: Fragment, operator: Containment, wanted: readonly string[]): Fragment {
  // This subquery checks the type itself: PostgreSQL does not promise that it stays unevaluated where CASE skips it.
  const elements = sql`(SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(${value}) = 'array' THEN ${value} ELSE '[]' END))`;
  const values = sql`SELECT unnest(${wanted}::jsonb[])`;
  return operator === 'hasAny'
    ? sql`EXISTS (${elements} INTERSECT ${values})`
    : sql`NOT EXISTS (${values} EXCEPT ${elements})`;
}

function jsonOf({ type, value }: Operand): unknown {
  return type === 'number' ? Number(value) : value;
}
