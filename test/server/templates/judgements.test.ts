// The judging of one request: what is put off, what the thread says, and that its time is bounded.
import { expect, it } from '@jest/globals';
import { makeJudging, PutOff } from '../../../server/templates/judgements.js';
import { isSmall, readTemplate } from '../../../server/templates/template-schema.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { failIdle } from '../../support/idle-thread.js';

const judging = makeJudging();
const large = {
  properties: Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`p${String(i)}`, { type: 'number' }])),
};

it('judges what is small, at once or later', async () => {
  const one = judging('ada');
  const schema = one.schemaFrom({ properties: { a: { pattern: '^[a-z]+$' }, b: { pattern: '^[0-9]+$' } } });
  const wrong = one.schemaFrom({ $ref: 'x' });
  one.judge(schema, { value: { a: 'x', b: '1' } });
  one.judge(schema, { value: { a: 'x', b: 'x' } });
  one.judge(wrong, null);
  await one.settle();
  expect(one.judge(schema, { value: { a: 'x', b: '1' } })).toEqual({ kind: 'right' });
  expect(one.judge(schema, { value: { a: 'x', b: 'x' } })).toMatchObject({ kind: 'wrong', faults: [{ place: ['b'] }] });
  expect(one.judge(wrong, null)).toMatchObject({ kind: 'unusable' });
  one.assertSettled();
});

it.each<[string, object, unknown]>([
  ['a large schema', large, { p3: 'x' }],
  ['a long text for a pattern', { properties: { p3: { pattern: '^a[ab]{50}c' } } }, { p3: 'ab'.repeat(5_000) }],
  ['many values', { properties: { p3: { type: 'string' } } }, { p3: Array.from({ length: 60_000 }, (_, i) => i) }],
])('puts off %s, and knows the verdict once it is settled', async (_, json, value) => {
  const one = judging('ada');
  const schema = one.schemaFrom(json);
  expect(one.judge(schema, { value })).toEqual({ kind: 'right' });
  expect(one.judge(schema, { value })).toEqual({ kind: 'right' });
  expect(() => {
    one.assertSettled();
  }).toThrow(PutOff);
  await one.settle();
  expect(one.judge(schema, { value })).toMatchObject({ kind: 'wrong', faults: [{ place: ['p3'] }] });
  one.assertSettled();
});

it('puts off many texts for a pattern, although each of them is soon looked at', async () => {
  const one = judging('ada');
  const schema = one.schemaFrom({ properties: { p: { items: { not: { pattern: 'a[ab]{250}[cd]' } } } } });
  let state = 1;
  const letter = (): string => ((state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 31 === 0 ? 'a' : 'b');
  const texts = Array.from({ length: 700 }, () => Array.from({ length: 220 }, letter).join(''));
  // The first pattern of a process takes longer than others, on a busy machine too long.
  one.judge(schema, { value: { p: texts.slice(0, 1) } });
  await one.settle();
  const other = judging('ada');
  other.judge(schema, { value: { p: texts } });
  expect(() => {
    other.assertSettled();
  }).toThrow(PutOff);
});

it.each<[string, object]>([
  ['many classes of Unicode', { items: { pattern: `[${'\\p{L}'.repeat(1_000)}]` } }],
  ['ranges whose letters are of either case', { items: { pattern: `(?i)${'[A-\\x{1e942}]'.repeat(12)}` } }],
  ['a class of Unicode that is repeated', { items: { pattern: '\\p{L}{60}' } }],
  ['large patterns and a fault', { $ref: '#/nowhere', pattern: 'a{900}'.repeat(10) }],
])('compiles no schema between other requests that has %s', (_, schema) => {
  expect(isSmall(schema)).toBe(false);
});

it('puts off the schema itself', async () => {
  const one = judging('ada');
  const schema = one.schemaFrom({ ...large, items: { pattern: '(?=x)' } });
  one.judge(schema, null);
  await one.settle();
  expect(one.judge(schema, null)).toMatchObject({ kind: 'unusable' });
});

it('bounds the time of all values of a request, and serves the next request afterwards', async () => {
  const [greedy, other] = [judging('greedy'), judging('other')];
  const endless = greedy.schemaFrom({ items: { pattern: 'a[ab]{990}[cd]|b[ab]{990}[cd]' } });
  const values = Array.from({ length: 10 }, (_, n) => [`${'ab'.repeat(400_000)}${String(n)}`]);
  for (const value of values) greedy.judge(endless, { value });
  const schema = other.schemaFrom(large);
  other.judge(schema, { value: { p3: 'x' } });
  await Promise.all([greedy.settle(), other.settle()]);
  const last = values.at(-1);
  expect(greedy.judge(endless, { value: last })).toMatchObject({
    faults: [{ place: [], message: 'is too large to be checked against the schema of its template' }],
  });
  expect(other.judge(schema, { value: { p3: 'x' } })).toMatchObject({ faults: [{ place: ['p3'] }] });
});

it('has a new thread judge once the last one has failed while nobody waited for it', async () => {
  const judgingAnew = makeJudging();
  const settle = async (): Promise<unknown> => {
    const one = judgingAnew('ada');
    const schema = one.schemaFrom(large);
    one.judge(schema, { value: { p3: 'x' } });
    await one.settle();
    return one.judge(schema, { value: { p3: 'x' } });
  };
  await failIdle(settle);
  expect(await settle()).toMatchObject({ kind: 'wrong', faults: [{ place: ['p3'] }] });
});

it('takes what is left of the time of a request as the most for one check', () => {
  const result = readTemplate({ items: { contains: { const: 1 } } });
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  const value = Array.from({ length: 100 }, () => Array.from({ length: 300 }, () => 0));
  expect(result.template.check(value)).toHaveLength(1);
  expect(result.template.checkSoon(value, 0.01)).toBeNull();
});

it('has too large only what the memory of the thread is too small for, and judges the others in a new one', async () => {
  const [one, other] = [judging('ada'), judging('other')];
  const schema = one.schemaFrom(large);
  const largest = Array.from({ length: 22 }, () => 'x'.repeat(10_000_000));
  for (const value of [{ p3: 'before' }, largest]) one.judge(schema, { value });
  other.judge(schema, { value: { p3: 'after' } });
  await Promise.all([one.settle(), other.settle()]);
  expect(one.judge(schema, { value: { p3: 'before' } })).toMatchObject({ faults: [{ place: ['p3'] }] });
  expect(one.judge(schema, { value: largest })).toMatchObject({
    faults: [{ place: [], message: 'is too large to be checked against the schema of its template' }],
  });
  expect(other.judge(schema, { value: { p3: 'after' } })).toMatchObject({ faults: [{ place: ['p3'] }] });
});

const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
const members = (count: number, name: string): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${String(i)}`, 0]));

it.each<[string, object, object]>([
  ['has many faults', { additionalProperties: { allOf: times(47, { const: 1 }) } }, members(990, 'k')],
  ['has none but such members', { additionalProperties: { allOf: times(150, false) } }, members(990, 'k')],
  [
    'has them by a reference',
    { $defs: { y: { const: 1 } }, additionalProperties: { allOf: times(30, { $ref: '#/$defs/y' }) } },
    members(990, 'k'),
  ],
  [
    'has them where they are swallowed',
    { properties: { s: { not: { contains: { anyOf: times(4, { $ref: '#/not' }) } } } }, not: { const: 1 } },
    { s: times(5_000, 0) },
  ],
  [
    'has many members whose names are looked at',
    {
      patternProperties: { '^a': {} },
      $defs: { z: { patternProperties: { '^b': {} } } },
      $ref: '#/$defs/z',
      unevaluatedProperties: false,
    },
    { ...members(20_000, 'a'), ...members(20_000, 'b'), c: 1 },
  ],
])('counts what a template holds after a value that %s', (_, schema, value) => {
  const kept: ReturnType<typeof readTemplate>[] = [];
  const judgeOne = (title: string): number => {
    const template = readTemplate({ title, ...schema });
    kept.push(template);
    if (!template.ok) throw new Error(JSON.stringify(template.faults));
    template.template.check(value);
    return template.template.bytes;
  };
  judgeOne('first');
  const before = heap();
  const counted = Array.from({ length: 10 }, (_, n) => judgeOne(String(n))).reduce((sum, bytes) => sum + bytes);
  expect(heap() - before).toBeLessThan(counted);
  expect(kept).toHaveLength(11);
});

it.each<[string, (n: number) => string, number]>([
  ['and has judged', (n) => `a[ab]{${String(100 + n)}}[cd]`, 40],
  ['with a class of Unicode, written out', (n) => `^\\p{L}{200}${String(n)}$`, 10],
  ['without one', (n) => `^[^\\p{L}\\p{N}]{200}${String(n)}$`, 10],
  ['with many such classes', (n) => `^${'\\p{L}'.repeat(200)}${String(n)}$`, 10],
  ['in either case', (n) => `(?i)^\\p{L}{100}[a-z\\x{122b}-\\x{a863}]{100}${String(n)}$`, 10],
  ['with many ranges', (n) => `^[${oddOnes(1_300)}]{300}${String(n)}$`, 3],
  ['with small classes', (n) => `^\\W[a-zA-Z0-9_.]{480}${String(n)}$`, 10],
])('counts what a template holds %s', (_, patternOf, templates) => {
  const kept: unknown[] = [];
  let counted = 0;
  readTemplate({ pattern: '\\p{L}' });
  const before = heap();
  for (let n = 0; n < templates; n += 1) {
    const template = readTemplate({ properties: { [`s${String(n)}`]: { not: { pattern: patternOf(n) } } } });
    if (!template.ok) throw new Error(JSON.stringify(template.faults));
    const text = Array.from({ length: 4_000 }, (_, i) => ((i * i * 7 + n) % 11 < 5 ? 'a' : 'b')).join('');
    template.template.check({ [`s${String(n)}`]: text });
    template.template.check({ [`s${String(n)}`]: 1 });
    counted += template.template.bytes;
    kept.push(template);
  }
  expect(heap() - before).toBeLessThan(counted);
  expect(kept).toHaveLength(templates);
});

/** Every second character, so that each is a range of its own. */
function oddOnes(count: number): string {
  return Array.from({ length: count }, (_, i) => String.fromCodePoint(0x4e00 + 2 * i)).join('');
}

function heap(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
