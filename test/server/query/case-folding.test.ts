// `containsIgnoreCase`: the table against what Node knows of letters, the part of it that a search needs against all of
// it, and the statement in databases of several locales against both.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { placeholders } from '../../../server/db/sql.js';
import { foldCase, foldedSearch } from '../../../server/query/case-folding.js';
import { compileCondition } from '../../../server/query/compile-condition.js';
import { parseField } from '../../../server/query/fields.js';
import { dropDatabase, takeDatabase, type TakenDatabase } from '../../support/one-postgres.js';
import { findPostgres, runSql } from '../../support/postgres.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';
import { folded } from './oracle/evaluate.js';

/** Letters whose case is not simple, one that fold to several, parts of what these fold to, and some others. */
const LETTERS = [
  ...['a', 'S', 's', 'ſ', 'ß', 'ẞ', 't', 'T', 'ﬅ', 'ﬆ', 'f', 'F', 'i', 'I', 'ı', 'İ', '\u0307', 'ﬃ', 'ﬁ', 'ﬀ', 'l'],
  ...[
    'K',
    'k',
    'K',
    'Å',
    'Å',
    'å',
    'A\u030a',
    'Σ',
    'σ',
    'ς',
    'ᾳ',
    'ᾼ',
    'α',
    'Α',
    'ι',
    '\u0345',
    'ΐ',
    'ΐ',
    '\u0308',
    '\u0301',
  ],
  ...['Dž', 'DŽ', 'dž', 'Ꭰ', 'ꭰ', 'Ᏸ', '𐐀', '𐐨', 'Ж', 'ж', 'ﬗ', 'մ', 'Խ', '%', '_', '\\', "'", ' ', '😀'],
];
const tricky = fc.array(fc.constantFrom(...LETTERS), { maxLength: 8 }).map((parts) => parts.join(''));

const asSearched = (text: string, value: string): boolean => {
  const { wanted, from, to, wide } = foldedSearch(text);
  const [sources, targets] = [Array.from(from), Array.from(to)];
  const narrow = Array.from(value, (one) => targets[sources.indexOf(one)] ?? one).join('');
  return wide.reduce((before, [one, several]) => before.replaceAll(one, several), narrow).includes(wanted);
};

describe('case folding', () => {
  it('is what Node knows of each character, so this fails on a Node whose Unicode has new letters', () => {
    const different: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      if (/\p{Cn}|\p{Cs}/u.test(character)) continue;
      if (foldCase(character) !== folded(character)) different.push(code.toString(16));
    }
    expect(different).toEqual([]);
  });

  it.each([
    ['straße', 'STRASSE', true],
    ['ß', 's', true],
    ['STRASSE', 'ße', true],
    ['ΟΔΟΣ', 'οδος', true],
    ['İstanbul', 'i̇STANBUL', true],
    ['İstanbul', 'istanbul', false],
    ['ı', 'I', false],
    ['É', 'é', true],
    ['É', 'e\u0301', false],
    ['E\u0301', 'e\u0301', true],
    ['ﬃ', 'FI', true],
    ['Ωmega', 'ωMEGA', true],
  ])('finds in %s the text %s: %s', (value, text, expected) => {
    expect(foldCase(value).includes(foldCase(text))).toBe(expected);
    expect(asSearched(text, value)).toBe(expected);
  });

  it('folds once and for all, and a search needs no more of it than it says', () => {
    fc.assert(
      fc.property(tricky, tricky, (text, value) => {
        expect(foldCase(foldCase(text))).toBe(foldCase(text));
        expect(asSearched(text, value)).toBe(foldCase(value).includes(foldCase(text)));
        expect(folded(value)).toBe(foldCase(value));
      }),
      testRuns(2_000),
    );
  });
});

/** Whether the condition holds of each value as a name. */
async function heldBy(
  query: (text: string, values: readonly unknown[]) => Promise<readonly { readonly held: boolean }[]>,
  text: string,
  values: readonly string[],
): Promise<readonly boolean[]> {
  const name = parseField('resource', 'name');
  if (!name.ok) throw new Error('no name');
  const test = compileCondition({ kind: 'pattern', field: name.field, operator: 'containsIgnoreCase', text });
  const from = `unnest($${String(test.bindings.length + 1)}::text[]) WITH ORDINALITY AS x (name, place)`;
  const rows = await query(`SELECT ${placeholders(test.text)} AS held FROM ${from} ORDER BY x.place`, [
    ...test.bindings,
    values,
  ]);
  return rows.map(({ held }) => held);
}

/** Some searches, each in many texts: a round trip for each pair would take long. */
const searches = fc.record({ text: tricky, values: fc.array(tricky, { minLength: 40, maxLength: 80, size: 'max' }) });

async function agree(query: Parameters<typeof heldBy>[0]): Promise<void> {
  let found = 0;
  await fc.assert(
    fc.asyncProperty(searches, async ({ text, values }) => {
      const whole = [...values, `x${text.toUpperCase()}y`];
      const expected = whole.map((value) => folded(value).includes(folded(text)));
      expect(await heldBy(query, text, whole)).toEqual(expected);
      found += expected.includes(false) && expected.includes(true) ? 1 : 0;
    }),
    testRuns(60),
  );
  expect(found).toBeGreaterThan(10);
}

describeOnStores('containsIgnoreCase', (store) => {
  it('agrees with the folding of whole texts', async () => {
    await agree(async (text, values) => {
      const statement = text.replaceAll(/\$\d+/g, '?');
      const { rows } = await store.db.knex.raw<{ rows: readonly { held: boolean }[] }>(statement, [
        ...values,
      ] as string[]);
      return rows;
    });
  });
});

const describePostgres = findPostgres() === null ? describe.skip : describe;

describePostgres.each([
  ['c', `LOCALE 'C'`],
  ['libc', `LOCALE 'C.UTF-8'`],
  ['turkish', `LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C.UTF-8'`],
  ['german', `LOCALE_PROVIDER icu ICU_LOCALE 'de-DE-u-ks-level1' LOCALE 'C.UTF-8'`],
])('containsIgnoreCase in a database of the locale %s', (name, locale) => {
  let taken: TakenDatabase;
  let client: pg.Client;
  const own = `folding_${name}_${String(process.pid)}`;

  beforeAll(async () => {
    taken = await takeDatabase('empty');
    await runSql(taken.url, `CREATE DATABASE ${own} TEMPLATE template0 ENCODING 'UTF8' ${locale}`);
    const url = new URL(taken.url);
    url.pathname = own;
    client = new pg.Client({ connectionString: url.href });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await dropDatabase(taken.url, own);
    await taken.drop();
  });

  it('agrees with the folding of whole texts', async () => {
    await agree(async (text, values) => (await client.query<{ held: boolean }>(text, [...values])).rows);
  });
});
