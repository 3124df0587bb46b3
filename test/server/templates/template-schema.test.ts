// Schemas of templates: which values they accept, which schemas are refused, and that no schema causes much work.
import { describe, expect, it, test } from '@jest/globals';
import { LOAD_LIMITS } from '../../../server/limits/records.js';
import { judgePart, NOT_IN_TIME } from '../../../server/templates/judge-record.js';
import { newTemplateFaults, readTemplate } from '../../../server/templates/template-schema.js';
import { stopCpu } from '../../support/cpu-time.js';

type Json = Readonly<Record<string, unknown>>;

function faultOf(schema: Json): string | null {
  const faults = newTemplateFaults(readTemplate(schema));
  return faults.length === 0 ? null : faults.map(({ pointer, message }) => `${pointer}: ${message}`).join('\n');
}

function checked(schema: Json, value: unknown): readonly string[] {
  const result = readTemplate(schema);
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return result.template.check(value).map(({ place, message }) => `/${place.join('/')} ${message}`);
}

const list = { $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } }, $ref: '#/$defs/node' };

describe('a schema is accepted with', () => {
  test.each<[string, Json]>([
    ['nothing in it', {}],
    ['the draft named', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }],
    ['an id of its own', { $id: 'https://example.org/x', $defs: { a: {} }, properties: { a: { $ref: '#/$defs/a' } } }],
    ['words that are notes', { title: 'x', 'x-unit': 'mm', $comment: 'x', examples: [{ unit: 'mm' }] }],
    ['a format', { properties: { a: { format: 'date-time' } } }],
    ['members and definitions that are called like no word', { properties: { unit: {} }, $defs: { emial: {} } }],
    ['recursion', list],
    ['two ways of recursion that no value can take at once', { properties: { a: { $ref: '#' }, b: { $ref: '#' } } }],
    ['an anchor', { $defs: { a: { $anchor: 'leaf' } }, properties: { x: { $ref: '#leaf' } } }],
    ['a name that is escaped', { $defs: { 'a/b~c': {} }, $ref: '#/$defs/a~1b~0c' }],
    [
      'a name of 100 letters',
      { $defs: { ['x'.repeat(100)]: {}, [`${'x'.repeat(100)}y`]: {} }, $ref: `#/$defs/${'x'.repeat(100)}y` },
    ],
    ['a harmless pattern', { properties: { a: { pattern: '^[a-z]+(-[a-z]+)*$' } } }],
    ['a pattern of a class with a colon', { properties: { a: { pattern: '^[:;]{2}\\\\$' } } }],
    ['a long pattern', { properties: { a: { pattern: `^(${'([0-9a-fA-F]{1,4}:){7}|'.repeat(20)}::)$` } } }],
    ['members that are called like words of no draft', { properties: { nullable: {}, dependencies: {}, $async: {} } }],
  ])('%s', (_, schema) => {
    expect(faultOf(schema)).toBeNull();
  });
});

/** Each definition asks for the one before it twice. */
function doubling(levels: number): Json {
  const defs: Record<string, Json> = { d0: { type: 'object' } };
  for (let i = 1; i <= levels; i += 1) {
    const ref = { $ref: `#/$defs/d${String(i - 1)}` };
    defs[`d${String(i)}`] = { allOf: [ref, ref] };
  }
  return { $defs: defs, $ref: `#/$defs/d${String(levels)}` };
}

describe('a schema is refused with', () => {
  test.each<[string, Json, RegExp]>([
    ['another document', { $ref: 'http://evil.example/x' }, /^\/\$ref: must begin with `#`/],
    [
      'another document, deep',
      { properties: { a: { items: { $ref: 'file:///etc/passwd' } } } },
      /^\/properties\/a\/items\/\$ref: /,
    ],
    ['a reference to nothing', { $ref: '#/$defs/x' }, /^\/\$ref: refers to no schema/],
    [
      'a pointer that readers take for two different ones',
      { $defs: { a: { not: true }, 'a/not': { type: 'string' } }, properties: { p: { $ref: '#/$defs/a%2Fnot' } } },
      /^\/properties\/p\/\$ref: must not contain `%2F`: write `~1` for a `\/` in a key/,
    ],
    ['a reference to an anchor that is not there', { $ref: '#x' }, /^\/\$ref: refers to no schema/],
    ['a type that is a number', { type: 42 }, /^\/type: .*2020-12/],
    ['an unknown type', { properties: { a: { type: 'text' } } }, /^\/properties\/a\/type: /],
    ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#' }, /^\/\$schema: must be /],
    ['a look-ahead', { properties: { a: { pattern: '(?=a)' } } }, /pattern that is not supported/],
    ['a back-reference', { patternProperties: { '(a)\\1': {} } }, /pattern that is not supported/],
    ['an endless circle', { $ref: '#' }, /refers to itself without end/],
    [
      'an endless circle of two',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { not: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' },
      /without end/,
    ],
    ['work that doubles', doubling(20), /more than 500 checks/],
    [
      'work that doubles with each level of the value',
      { anyOf: [{ properties: { a: { $ref: '#' } } }, { additionalProperties: { $ref: '#' } }] },
      /more than 500 checks/,
    ],
    ['a dynamic reference', { $dynamicRef: '#node' }, /^\/\$dynamicRef: is not supported/],
    ['an id inside', { properties: { a: { $id: 'https://example.org/y' } } }, /^\/properties\/a\/\$id: /],
    [
      'a long way',
      Object.fromEntries([
        ['$ref', '#/$defs/d600'],
        [
          '$defs',
          Object.fromEntries(
            Array.from({ length: 601 }, (_, i) => [
              `d${String(i)}`,
              i === 0 ? {} : { $ref: `#/$defs/d${String(i - 1)}` },
            ]),
          ),
        ],
      ]),
      /more than 500 checks/,
    ],
    [
      'a word that is misspelt',
      { propertees: { a: {} } },
      /^\/propertees: is not a keyword of JSON Schema \(2020-12\); did you mean `properties`\?/,
    ],
    [
      'a word that nothing is like',
      { properties: { a: { unit: 'mm' } } },
      /^\/properties\/a\/unit: .*begin with `x-`$/,
    ],
    [
      'a word of an older draft',
      { additionalItems: false },
      /^\/additionalItems: .*: use `items` beside `prefixItems`$/,
    ],
    ['a format that is misspelt', { format: 'emial' }, /^\/format: is not a format .*; did you mean `email`\?$/],
    ['a format of OpenAPI', { format: 'int32' }, /^\/format: .*the known formats are date, time, date-time,/],
    ['a format that is a number', { format: 3 }, /^\/format: must be a string/],
    ['a word in a definition that nothing refers to', { $defs: { a: { lenght: 1 } } }, /^\/\$defs\/a\/lenght: /],
    // What ajv would do all the same: answer with a promise, follow what is not measured, let null pass.
    ['a word of ajv that makes every value right', { $async: true, required: ['a'] }, /^\/\$async: is not supported/],
    ['a word of an older draft', { dependencies: { a: { $ref: '#' } } }, /^\/dependencies: .*dependentRequired/],
    [
      'a word of OpenAPI',
      { properties: { a: { type: 'number', nullable: true } } },
      /^\/properties\/a\/nullable: .*`null`/,
    ],
    [
      'a pattern that repeats much',
      { properties: { a: { pattern: 'a{1000}'.repeat(1_000) } } },
      /\/pattern: is too large/,
    ],
    ['a pattern that repeats repetitions', { patternProperties: { '((a{100}){10}){100}': {} } }, /: is too large/],
    [
      'a long class that is repeated',
      { pattern: `^[${'\\p{L}'.repeat(4)}]{900}$` },
      /^\/pattern: is too large: .* 2000000 ranges of characters in their classes/,
    ],
    ['many patterns', { anyOf: Array.from({ length: 20 }, () => ({ pattern: 'a{900}' })) }, /\/pattern: is too large/],
    ['a pattern with a quotation', { pattern: '(a\\Q)\\E){100}' }, /^\/pattern: .*not supported/],
    ['a pattern with a class of POSIX', { pattern: '([[:alpha:](]a){100}' }, /^\/pattern: .*not supported/],
    ['too many parts', { allOf: Array.from({ length: 2_001 }, () => ({})) }, /more than 2000 parts/],
    [
      'too many words in few parts',
      { allOf: Array.from({ length: 500 }, () => ({ type: 'string', minLength: 1, maxLength: 9, const: 'a' })) },
      /^\/allOf\/\d+\/\w+: has more than 2000 parts/,
    ],
    [
      'too many names written out',
      { dependentRequired: { a: Array.from({ length: 2_000 }, (_, i) => String(i)) } },
      /^\/dependentRequired: has more than 2000 parts/,
    ],
    ['too many characters', { description: 'x'.repeat(300_000) }, /more than 262144 characters/],
  ])('%s', (_, schema, message) => {
    const cpu = stopCpu();
    expect(faultOf(schema)).toMatch(message);
    expect(cpu()).toBeLessThan(1_000);
  });
});

test('all mistakes of a schema are said together, each at its place', () => {
  const faults = faultOf({
    type: 'objekt',
    properties: {
      z: { pattern: '(?=a)b' },
      w: { minimum: '3', nullable: true },
      v: { pattern: '(' },
      u: { patternProperties: { '(?<=x)': { $ref: '#/nowhere' }, '[a': { $ref: 'other.json', required: 'name' } } },
      t: { $dynamicRef: '#x', items: { type: [] }, additionalProperties: 3 },
      s: { format: 'emial', requird: ['x'] },
    },
  });
  expect(faults?.split('\n')).toEqual([
    '/properties/s/format: is not a format that templates know; did you mean `email`?',
    '/properties/s/requird: is not a keyword of JSON Schema (2020-12); did you mean `required`?',
    '/properties/t/$dynamicRef: is not supported: use `$ref`',
    '/properties/t/additionalProperties: must be an object or true or false, as JSON Schema (2020-12) requires',
    '/properties/t/items/type: must be one of array, boolean, integer, null, number, object, string, as JSON Schema (2020-12) requires',
    '/properties/u/patternProperties/(?<=x): has a pattern that is not supported: no look-around, no back-reference',
    '/properties/u/patternProperties/(?<=x)/$ref: refers to no schema of this document',
    '/properties/u/patternProperties/[a: is not a regular expression of ECMAScript',
    '/properties/u/patternProperties/[a/$ref: must begin with `#`: other documents are never read',
    '/properties/u/patternProperties/[a/required: must be a list, as JSON Schema (2020-12) requires',
    '/properties/v/pattern: is not a regular expression of ECMAScript',
    '/properties/w/minimum: must be a number, as JSON Schema (2020-12) requires',
    '/properties/w/nullable: is not a keyword of JSON Schema: add `null` to `type`',
    '/properties/z/pattern: has a pattern that is not supported: no look-around, no back-reference',
    '/type: must be one of array, boolean, integer, null, number, object, string, as JSON Schema (2020-12) requires',
  ]);
});

test('a thousand unknown words are said soon, with a short list', () => {
  const words = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`requirde${String(i)}`, i]));
  const cpu = stopCpu();
  expect(faultOf({ ...words, [`x${'y'.repeat(100_000)}`]: 1 })?.split('\n')).toHaveLength(32);
  expect(cpu()).toBeLessThan(1_000);
});

describe('a format', () => {
  const dated = { properties: { taken: { type: 'string', format: 'date-time' } } };

  it('is asserted of strings, with the others of its mistakes', () => {
    const schema = { properties: { ...dated.properties, n: { type: 'number' }, mail: { format: 'email' } } };
    expect(checked(schema, { taken: 'yesterday', n: 'x', mail: 7 })).toEqual([
      '/taken must be a date and time with its offset, like 2027-01-31T09:30:00Z',
      '/n must be a number',
    ]);
    expect(checked(schema, { taken: '2027-01-31T09:30:00Z', mail: 'a@b' })).toEqual([]);
  });

  it('decides between alternatives', () => {
    expect(checked({ oneOf: [{ format: 'ipv4' }, { format: 'ipv6' }] }, '::1')).toEqual([]);
    expect(checked({ not: { format: 'ipv4' } }, '192.0.2.1')).toHaveLength(1);
  });

  it.each([
    ['another word', { ...dated, unit: 'mm' }],
    ['another format', { properties: { ...dated.properties, a: { format: 'int32' } } }],
  ])('checks nothing in a stored template with an unknown word: %s', (_, schema) => {
    expect(checked(schema, { taken: 'yesterday', a: 'x' })).toEqual([]);
    expect(checked(schema, { taken: 3 })).toEqual(['/taken must be a string']);
  });
});

test('a schema with thousands of mistakes is refused soon, with a short list', () => {
  const cpu = stopCpu();
  const faults = faultOf({
    properties: Object.fromEntries(
      Array.from({ length: 900 }, (_, i) => [`p${String(i)}`, { type: 'no', pattern: '(' }]),
    ),
  });
  expect(faults?.split('\n').length).toBeLessThanOrEqual(100);
  expect(cpu()).toBeLessThan(1_000);
});

describe('a value', () => {
  const schema = {
    type: 'object',
    required: ['rank'],
    properties: {
      rank: { type: 'integer', minimum: 1 },
      tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    },
    additionalProperties: false,
  };

  test.each<[string, unknown, readonly string[]]>([
    ['that is right', { rank: 1, tags: ['a', 'b'] }, []],
    ['without what is required', {}, ['/rank is required']],
    [
      'with every mistake',
      { rank: 'no', tags: [1, 'a', 'a'], more: true },
      [
        '/more is not known here',
        '/rank must be a whole number',
        '/tags/0 must be a string',
        '/tags must not have the same element twice',
      ],
    ],
    ['with a name of every object', { rank: 1, toString: 1 }, ['/toString is not known here']],
  ])('%s', (_, value, faults) => {
    expect([...checked(schema, value)].sort()).toEqual([...faults].sort());
  });

  it('must have a required member itself', () => {
    expect(checked({ required: ['toString'] }, {})).toEqual(['/toString is required']);
  });

  it('is judged deep down a recursive schema', () => {
    const tree = {
      $ref: '#/$defs/t',
      $defs: { t: { properties: { v: { type: 'number' }, kids: { items: { $ref: '#/$defs/t' } } } } },
    };
    expect(checked(tree, { v: 1, kids: [{ v: 2 }, { kids: [{ v: 'x' }] }] })).toEqual([
      '/kids/1/kids/0/v must be a number',
    ]);
  });

  it.each([
    [
      { a: 1, b: [1, { c: null }] },
      { b: [1, { c: null }], a: 1 },
    ],
    [1, 1.0],
    [0, -0],
  ])('%j equals %j for uniqueItems', (a, b) => {
    expect(checked({ uniqueItems: true }, [a, b])).toHaveLength(1);
    expect(checked({ uniqueItems: true }, [a, [b], '1', 'a', null])).toEqual([]);
  });

  it('takes a multiple in decimals', () => {
    expect(checked({ multipleOf: 0.01 }, 0.07)).toEqual([]);
    expect(checked({ multipleOf: 0.01 }, 0.075)).toHaveLength(1);
  });

  it('is too large, and nothing worse, where checking it would take the whole stack', () => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`p${String(i)}`, { type: 'number' }]));
    const schema = { properties: { ...many, kid: { $ref: '#' } } };
    const nested = Array.from({ length: 30 }).reduce<object>((kid) => ({ kid }), {});
    expect(['', '/ is too large to be checked against the schema of its template']).toContain(
      checked(schema, nested).join(),
    );
    expect(checked(schema, { kid: { p7: 'x' } })).toEqual(['/kid/p7 must be a number']);
  });

  it('is compared with many words soon', () => {
    const words = { type: 'string', minLength: 1, maxLength: 1_000, enum: ['a', 'b'], minimum: 3, required: ['x'] };
    const properties = Object.fromEntries(Array.from({ length: 280 }, (_, i) => [`p${String(i)}`, words]));
    const cpu = stopCpu();
    expect(checked({ properties }, { p1: 1 })).toHaveLength(3);
    expect(cpu()).toBeLessThan(3_000);
  });

  it.each<[string, Json, unknown, number]>([
    [
      'many values of a long enumeration',
      { items: { enum: Array.from({ length: 20_000 }, (_, i) => i) } },
      Array.from({ length: 200_000 }, () => 19_999),
      0,
    ],
    [
      'a long list of what is required, many times not there',
      { items: { required: Array.from({ length: 20_000 }, (_, i) => String(i)) } },
      Array.from({ length: 500 }, () => ({})),
      1,
    ],
    [
      'a long text that is looked at often',
      { properties: { a: { allOf: Array.from({ length: 450 }, () => ({ minLength: 1 })) } } },
      { a: 'a'.repeat(1_000_000) },
      1,
    ],
    [
      'many names that are looked at often',
      { patternProperties: Object.fromEntries(Array.from({ length: 450 }, (_, i) => [`^a${String(i)}$`, {}])) },
      Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`b${String(i)}`, 1])),
      1,
    ],
  ])('is judged in bounded time: %s', (_, schema, value, faults) => {
    const result = readTemplate(schema);
    if (!result.ok) throw new Error(JSON.stringify(result.faults));
    const cpu = stopCpu();
    expect(result.template.check(value)).toHaveLength(faults);
    expect(cpu()).toBeLessThan(1_500);
  });

  it('is too large for `load` where looking at one of its texts may take minutes', () => {
    const result = readTemplate({ items: { pattern: 'a[ab]{990}[cd]|b[ab]{990}[cd]' } });
    const texts = { value: ['ab'.repeat(400_000)] };
    const cpu = stopCpu();
    expect(judgePart(result, texts, LOAD_LIMITS.stepTime)).toEqual(NOT_IN_TIME);
    expect(cpu()).toBeLessThan(1_000);
  });

  it.each<[unknown, boolean]>([
    ['b', true],
    ['c', false],
    [{ y: [1], x: null }, true],
    [{ x: null }, false],
    [-0, true],
    ['0', false],
    [null, false],
  ])('%j is one of an enumeration: %j', (value, isOne) => {
    const schema = { enum: ['a', 'b', { x: null, y: [1.0] }, 0] };
    expect(checked(schema, value)).toHaveLength(isOne ? 0 : 1);
    expect(checked({ properties: { a: { enum: ['p', 2] } } }, { a: 'x' })).toEqual(['/a must be one of p, 2']);
  });

  it('is judged in bounded time', () => {
    const cpu = stopCpu();
    const pattern = { items: { pattern: '^(a+)+$' } };
    expect(
      checked(
        pattern,
        Array.from({ length: 200 }, () => `${'a'.repeat(200)}b`),
      ),
    ).toHaveLength(32);
    expect(
      checked(
        { uniqueItems: true },
        Array.from({ length: 50_000 }, (_, i) => ({ i })),
      ),
    ).toEqual([]);
    const heavy = { items: { allOf: Array.from({ length: 400 }, () => ({ type: 'number' })) } };
    expect(
      checked(
        heavy,
        Array.from({ length: 100_000 }, () => 1),
      ),
    ).toEqual(['/ is too large to be checked against the schema of its template']);
    expect(cpu()).toBeLessThan(5_000);
  });
});
