// Query envelopes of every shape that docs/queries.md describes: all operators on all fields of a family, nested, in
// any order. Also reports what a batch of them has used, so that a test can show that nothing was left out.
import fc from 'fast-check';
import { FAMILIES, type Family, type NamespacePath, ROOT } from '../../engine/index.js';
import { coreFields } from '../../server/query/fields.js';
import { QUERY_LIMITS } from '../../server/limits/queries.js';
import { pathOf } from '../engine/oracle/worlds.js';
import type { Json } from '../server/query/oracle/evaluate.js';
import { ASKED_NUMBERS, idOf, PLACES, type QueryWorld, REFERENCES, WORDS } from './query-worlds.js';

export interface Envelope {
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly reach?: 'lineage' | 'exact' | 'subtree';
  readonly where: Json;
  readonly orderBy: readonly Json[];
  readonly select?: readonly string[];
  readonly includeArchived: boolean;
}

/** One has a dot in it. */
export const SLOTS = ['in', 'in.2', 'none'];
const PATHS = ['rank', 'label', 'deep', 'deep.a', 'deep.a.b', 'missing'];
const SCALAR_TYPES = ['text', 'number', 'instant'];

const text = fc.constantFrom(...WORDS);
const number = fc.constantFrom(...ASKED_NUMBERS);
const instant = fc.constantFrom(
  '2030-01-03T00:00:00Z',
  '2030-01-05T02:00:00.001+02:00',
  '0000-01-01T00:00:00Z',
  '9999-12-31T00:00:00+23:00',
);
const named = fc.constantFrom(...PLACES, ...FAMILIES, ...REFERENCES, idOf('1eef'), 'anna', 'pending');

type FieldKind = 'boolean' | 'state' | 'text' | 'number' | 'instant' | 'structure' | 'property' | 'slots';

/** The fields of a family with what they compare with, and the properties that its records have. */
function fieldsOf(family: Family): readonly (readonly [name: string, kind: FieldKind])[] {
  const core = [...coreFields(family).values()].map(
    ({ name, type, values }) => [name, name === 'resources' ? 'slots' : values === undefined ? type : 'state'] as const,
  );
  const slots = family === 'process-run' ? SLOTS.map((slot) => [`resources.${slot}`, 'text'] as const) : [];
  const roots = family === 'process-run' ? ['properties', 'parameters'] : ['properties'];
  return [...core, ...slots, ...roots.flatMap((root) => PATHS.map((path) => [`${root}.${path}`, 'property'] as const))];
}

const COMPARISONS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'];
const PATTERNS = ['contains', 'containsIgnoreCase', 'startsWith', 'endsWith'];

const keyed = (names: readonly string[], operand: fc.Arbitrary<unknown>): fc.Arbitrary<Json> =>
  fc.tuple(fc.constantFrom(...names), operand).map(([name, wanted]) => ({ [name]: wanted }));
const compared = (operand: fc.Arbitrary<unknown>): readonly fc.Arbitrary<Json>[] => [
  keyed(COMPARISONS, operand),
  keyed(['in', 'notIn'], fc.array(operand, { maxLength: 3 })),
];
const present = keyed(['isNull'], fc.boolean());
const patterns = keyed(
  PATTERNS,
  text.map((value) => value.slice(0, QUERY_LIMITS.foldedCharacters)),
);
const containing = (value: fc.Arbitrary<unknown>): readonly fc.Arbitrary<Json>[] => [
  keyed(['has'], value),
  keyed(['hasAny', 'hasAll'], fc.array(value, { maxLength: 3 })),
];

const OPERATORS: Readonly<Record<FieldKind, fc.Arbitrary<Json>>> = {
  text: fc.oneof(...compared(fc.oneof(text, named)), patterns, present),
  state: fc.oneof(...compared(fc.constantFrom('pending', 'running', 'failed', 'cancelled')), patterns, present),
  number: fc.oneof(...compared(number), present),
  instant: fc.oneof(...compared(instant), present),
  boolean: fc.oneof(
    keyed(['eq', 'ne'], fc.boolean()),
    keyed(['in', 'notIn'], fc.array(fc.boolean(), { maxLength: 2 })),
    present,
  ),
  structure: present,
  slots: fc.oneof(present, ...containing(named)),
  property: fc.oneof(
    ...compared(text),
    ...compared(number),
    keyed(['eq', 'ne'], fc.boolean()),
    keyed(['in', 'notIn'], fc.array(fc.boolean(), { maxLength: 2 })),
    ...containing(text),
    ...containing(number),
    patterns,
    present,
  ),
};

function leafOf([field, kind]: readonly [name: string, kind: FieldKind]): fc.Arbitrary<Json> {
  return fc
    .array(OPERATORS[kind], { minLength: 1, maxLength: 2 })
    .map((operators): Json => ({ [field]: Object.assign({}, ...operators) as Json }));
}

function conditions(family: Family): fc.Arbitrary<Json> {
  const leaf = fc.constantFrom(...fieldsOf(family)).chain(leafOf);
  const { where } = fc.letrec<{ where: Json }>((tie) => {
    const parts = fc.array(tie('where'), { maxLength: 3 });
    return {
      where: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        leaf,
        parts.map((and) => ({ and })),
        parts.map((or) => ({ or })),
        tie('where').map((not) => ({ not })),
        fc.tuple(leaf, tie('where')).map(([a, b]) => ({ ...a, ...b })),
      ),
    };
  });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: leaf },
    { weight: 4, arbitrary: where },
  );
}

/** By any of the fields, the same one more than once, too. */
function orders(family: Family): fc.Arbitrary<readonly Json[]> {
  return fc.array(keyed(orderable(family), direction), { maxLength: 3 });
}

const direction = fc.constantFrom('asc', 'desc');

function orderable(family: Family): readonly string[] {
  return fieldsOf(family).flatMap(([name, kind]) =>
    kind === 'structure' || kind === 'slots' || kind === 'boolean' ? [] : [name],
  );
}

export function envelopeOf(family: Family, context: fc.Arbitrary<NamespacePath>): fc.Arbitrary<Envelope> {
  const names = fieldsOf(family).map(([name]) => name);
  return fc.record(
    {
      family: fc.constant(family),
      namespace: context,
      reach: fc.constantFrom('lineage', 'exact', 'subtree'),
      where: conditions(family),
      orderBy: orders(family),
      select: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 5 }),
      includeArchived: fc.boolean(),
    },
    { requiredKeys: ['family', 'namespace', 'where', 'orderBy', 'includeArchived'] },
  );
}

/**
 * Much in one question: all that is below the root, archived or not, by any of all the fields of a family, in an order of
 * most of them.
 */
export function sweepOf(family: Family): fc.Arbitrary<Envelope> {
  const names = orderable(family);
  const most = Math.min(QUERY_LIMITS.orderKeys, names.length);
  return fc
    .record({
      base: envelopeOf(family, fc.constant(ROOT)),
      anyOf: fc.tuple(...fieldsOf(family).map(leafOf)),
      order: fc.shuffledSubarray([...names], { minLength: most, maxLength: most }),
      directions: fc.array(direction, { minLength: most, maxLength: most, size: 'max' }),
    })
    .map(({ base, anyOf, order, directions }) => ({
      ...base,
      reach: 'subtree' as const,
      where: { or: anyOf },
      includeArchived: true,
      orderBy: order.map((name, index) => ({ [name]: directions[index] })),
    }));
}

/** Mostly where something is, sometimes where there is nothing. */
export function anyContext({ places }: Pick<QueryWorld, 'places'>): fc.Arbitrary<NamespacePath> {
  const nowhere = fc.constantFrom(...PLACES, '/nowhere', '/a/nowhere/z');
  return fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...places) }, { weight: 1, arbitrary: nowhere }).map(pathOf);
}

/** Mostly of a family that is there. */
export function anyFamily({ families }: Pick<QueryWorld, 'families'>): fc.Arbitrary<Family> {
  const any = fc.constantFrom(...FAMILIES);
  return fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...families) }, { weight: 1, arbitrary: any });
}

/** Everything that envelopes can use: `operator eq`, `field resource.name`, `order createdAt desc`, `or`, `reach exact`. */
export const EVERYTHING: readonly string[] = [
  ...[...COMPARISONS, ...PATTERNS, 'in', 'notIn', 'isNull', 'has', 'hasAny', 'hasAll'].map(
    (name) => `operator ${name}`,
  ),
  ...FAMILIES.flatMap((family) => fieldsOf(family).map(([name]) => `field ${family}.${name}`)),
  ...[...new Map(FAMILIES.flatMap((family) => [...fieldsOf(family)])).entries()].flatMap(([name, kind]) =>
    kind === 'property' || SCALAR_TYPES.includes(kind) ? [`order ${name} asc`, `order ${name} desc`] : [],
  ),
  ...['and', 'or', 'not', 'select', 'reach lineage', 'reach exact', 'reach subtree', 'reach', 'includeArchived'],
];

/** Adds what the envelope uses to `used`, in the words of `EVERYTHING`. */
export function noteUse(envelope: Envelope, used: Set<string>): void {
  const { family, reach, where, orderBy, select, includeArchived } = envelope;
  noteWhere(where, family, used);
  for (const [name, direction] of orderBy.flatMap((key) => Object.entries(key))) {
    used.add(`order ${name} ${String(direction)}`);
  }
  used.add(reach === undefined ? 'reach' : `reach ${reach}`);
  if (select !== undefined) used.add('select');
  if (includeArchived) used.add('includeArchived');
}

function noteWhere(where: Json, family: Family, used: Set<string>): void {
  for (const [key, value] of Object.entries(where)) {
    if (key === 'and' || key === 'or' || key === 'not') {
      used.add(key);
      for (const part of [value].flat() as Json[]) noteWhere(part, family, used);
    } else {
      used.add(`field ${family}.${key}`);
      for (const operator of Object.keys(value as Json)) used.add(`operator ${operator}`);
    }
  }
}
