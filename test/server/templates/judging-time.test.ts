// How long one check holds up everybody: small schemas that people have made for the purpose, and random ones.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isSmall, readTemplate } from '../../../server/templates/template-schema.js';
import { stopCpu } from '../../support/cpu-time.js';
import { testRuns } from '../../support/test-runs.js';

/** Milliseconds of the processor. A check is put off after 10 on the clock. */
const MOST = 50;

/** Whatever compiles or collects garbage in between does so once. */
function leastTime(work: () => unknown): number {
  const once = (): number => {
    const cpu = stopCpu();
    work();
    return cpu();
  };
  const time = once();
  return time < MOST ? time : Math.min(time, once(), once());
}

function timeOf(schema: object, value: unknown): number {
  const result = readTemplate(schema);
  return result.ok && isSmall(schema) ? leastTime(() => result.template.checkSoon(value, MOST)) : 0;
}

const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);
const members = (count: number, name: string): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${String(i)}`, 0]));
const four = <T>(one: T): T[] => [one, one, one, one];
const not = { allOf: [{ const: 1 }, ...Array.from({ length: 6 }, () => false)] };

it.each<[string, object, unknown]>([
  [
    'a list in which no element is what is looked for',
    { properties: { s: { not: { contains: { anyOf: four({ $ref: '#/not' }) } } } }, not: { const: 1 } },
    { s: zeros(5_000) },
  ],
  ['many faults of each member', { not, additionalProperties: { allOf: four({ $ref: '#/not' }) } }, members(990, 'k')],
  [
    'many faults of members that a pattern names',
    { not: { patternProperties: { '^k': { anyOf: four({ $ref: '#/$defs/y' }) } } }, $defs: { y: { const: 1 } } },
    members(5_000, 'k'),
  ],
  [
    'regular expressions of many classes',
    { properties: { s: { items: { format: 'regex' } } } },
    { s: Array.from({ length: 90 }, (_, i) => `[${'\\p{L}'.repeat(190)}]${String(i)}`) },
  ],
  ['a long template of URIs', { properties: { s: { format: 'uri-template' } } }, { s: '{a}'.repeat(200_000) }],
  ['many members that are sorted', { enum: [1] }, members(40_000, 'k')],
  ['few of many members', { unevaluatedProperties: { const: 0 } }, members(90_000, 'k')],
  ['more than is looked at', { items: { type: 'number' } }, zeros(500_000)],
])('holds up nobody long: %s', (_, schema, value) => {
  timeOf(schema, {});
  expect(timeOf(schema, value)).toBeLessThan(MOST);
});

it('tells soon of the mistakes of a small schema', () => {
  const types = { type: Array.from({ length: 1_800 }, () => 'x') };
  const schema = Array.from({ length: 31 }).reduce<object>((inner) => ({ anyOf: [inner] }), types);
  expect(isSmall(schema)).toBe(true);
  readTemplate({});
  expect(leastTime(() => readTemplate(schema))).toBeLessThan(MOST);
});

/** Each is a small part of a schema, of which references find their targets at a few well-known places. */
const { schema } = fc.letrec<{ schema: object; part: object | boolean }>((tie) => {
  const part = tie('part');
  const parts = fc.oneof(
    fc.tuple(part, fc.integer({ min: 1, max: 8 })).map(([one, count]) => Array.from({ length: count }, () => one)),
    fc.array(part, { minLength: 1, maxLength: 3 }),
  );
  const word = (name: string, of: fc.Arbitrary<unknown>): fc.Arbitrary<object> => of.map((it) => ({ [name]: it }));
  const places = [
    '#',
    '#/not',
    '#/properties/s',
    '#/properties/s/not',
    '#/items',
    '#/contains',
    '#/anyOf/0',
    '#/$defs/y',
  ];
  const formats = ['regex', 'uri', 'uri-template', 'email', 'hostname', 'date-time', 'duration', 'json-pointer'];
  return {
    part: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        ...[fc.boolean(), word('$ref', fc.constantFrom(...places)), word('format', fc.constantFrom(...formats))],
        ...[
          word('const', fc.constantFrom(0, 1, {})),
          word('enum', fc.constant([[], 1])),
          word('minProperties', fc.nat(9)),
        ],
        ...[word('multipleOf', fc.constant(1e-9)), word('uniqueItems', fc.constant(true)), word('maxItems', fc.nat(9))],
        ...[word('pattern', fc.constantFrom('^a+$', '[ab]{9}c')), word('required', fc.constant(['a', 's']))],
      ),
      tie('schema'),
    ),
    schema: fc
      .array(
        fc.oneof(
          ...['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames'].map((name) =>
            word(name, part),
          ),
          ...['unevaluatedItems', 'unevaluatedProperties'].map((name) => word(name, part)),
          ...['anyOf', 'allOf', 'oneOf', 'prefixItems'].map((name) => word(name, parts)),
          ...['properties', 'dependentSchemas'].map((name) => word(name, fc.record({ s: part }))),
          ...[word('patternProperties', fc.record({ '^[ak]': part })), word('$defs', fc.record({ y: part }))],
          word('minContains', fc.nat(9)),
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map((words) => Object.assign({}, ...words) as object),
  };
});

/** Up to 100 KB. */
const body = fc
  .tuple(
    fc.constantFrom<((count: number) => unknown)[]>(
      (count) => zeros(count),
      (count) => members(count / 2, 'k'),
      (count) => members(count / 2, 'a'),
      (count) => Array.from({ length: count / 2 }, (_, i) => ({ s: i })),
      (count) => ['a', 'a.', '{a}', 'x@', '~0'].map((text) => text.repeat(count / 2)),
      (count) => Array.from({ length: count / 500 }, (_, i) => `[${'\\p{L}'.repeat(190)}]${String(i)}`),
      (count) =>
        Array.from({ length: 28 }).reduce<unknown>(
          (inner, _, i) => (i % 2 === 0 ? [inner] : { s: inner }),
          zeros(count),
        ),
    ),
    fc.constantFrom(500, 4_000, 14_000),
  )
  .map(([make, count]) => ({ a: 0, s: make(count) }));

it('holds up nobody long, whatever the schema and the value are', () => {
  fc.assert(
    fc.property(schema, body, (made, value) => {
      fc.pre(JSON.stringify(made).length <= 170);
      expect(timeOf(made, value)).toBeLessThan(MOST);
    }),
    testRuns({ usual: 300, deep: 10_000 }),
  );
});
