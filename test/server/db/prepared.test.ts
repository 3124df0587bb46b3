// Which statements are prepared: those that come again, and never more than a connection should hold.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../server/db/database.js';
import { openDatabase } from '../../../server/db/database.js';
import { literal, sql, type Fragment } from '../../../server/db/sql.js';
import { makeStatementNames, type StatementNames } from '../../../server/db/prepared.js';
import { type OpenedStore, testStores } from '../../support/stores.js';

const text = (index: number, length = 4_000): string => `text ${String(index)}`.padEnd(length);

function seenThrice(names: StatementNames, of: string): ReturnType<StatementNames> {
  names(of);
  names(of);
  return names(of);
}

describe('the names of statements', () => {
  it('are given from the third time on, and stay', () => {
    const names = makeStatementNames();
    expect([names('a'), names('a')]).toEqual([null, null]);
    const named = names('a');
    expect(named).not.toBeNull();
    for (let index = 0; index < 1_000; index += 1) names(`other ${String(index)}`);
    expect(names('a')).toBe(named);
  });

  it('come with the text as the server reads it', () => {
    expect(seenThrice(makeStatementNames(), "SELECT ?::int, '{}'::jsonb \\? ?")?.text).toBe(
      "SELECT $1::int, '{}'::jsonb ? $2",
    );
  });

  it('are those of 160,000 characters that were used last, and no name is given twice', () => {
    const names = makeStatementNames();
    const given = new Set<string>();
    const often = seenThrice(names, text(0));
    for (let index = 1; index < 500; index += 1) {
      const named = seenThrice(names, text(index));
      expect(given.has(named?.name ?? '')).toBe(false);
      given.add(named?.name ?? '');
      if (index % 20 === 0) expect(names(text(0))).toBe(often);
    }
    expect(given.size).toBe(499);
    const kept = Array.from({ length: 500 }, (_, index) => index).filter((index) => names(text(index)) !== null);
    expect(kept).toEqual([0, ...Array.from({ length: 39 }, (_, index) => 461 + index)]);
  });

  it('come back: a text that others pushed out gets another one as soon as it comes again', () => {
    const names = makeStatementNames();
    const first = seenThrice(names, text(0));
    for (let index = 1; index < 100; index += 1) seenThrice(names, text(index));
    expect(names(text(0))).toBeNull();
    const second = seenThrice(names, text(0));
    expect(second).not.toBeNull();
    expect(second?.name).not.toBe(first?.name);
  });

  it('are not given to long texts, of which one would take megabytes on every connection', () => {
    const names = makeStatementNames();
    for (let times = 0; times < 5; times += 1) expect(names('x'.repeat(40_001))).toBeNull();
  });

  it('are not given to what came long ago: texts that never come again push it out', () => {
    const names = makeStatementNames();
    names('rare');
    names('rare');
    for (let index = 0; index < 300; index += 1) names(`once ${String(index)}`);
    expect(names('rare')).toBeNull();
  });
});

/** Of `index` alone, and about 8,000 characters. */
function statement(index: number): Fragment {
  const places = Array.from({ length: 400 }, (_, place) => literal(place + index));
  const sum = places.reduce((all, place) => sql`${all} + ${place}`, literal(0));
  return sql`SELECT ${sum} + ${0}::int AS n, ${'x'.padEnd(10)}::text AS padding /* ${literal(index)} a statement that is long enough */`;
}

for (const store of testStores()) {
  describe(`prepared statements on the ${store.name} store`, () => {
    let opened: OpenedStore;
    let db: Database;
    beforeAll(async () => {
      opened = await store.open();
      // One connection, so that what it has prepared can be asked for.
      db = await openDatabase({ ...opened.config, maxConnections: 1 });
    });
    afterAll(async () => {
      await db.close();
      await opened.dispose();
    });

    async function preparedThere(): Promise<readonly { readonly name: string; readonly statement: string }[]> {
      return db.read(sql`SELECT name, statement FROM pg_prepared_statements WHERE name LIKE ${'%bailiwick %'}::text`);
    }

    const run = async (index: number): Promise<unknown> => (await db.read(statement(index)))[0];

    it('are closed for others, and prepared again when they come again, with the same answers', async () => {
      const length = statement(0).text.length;
      expect(length).toBeGreaterThan(1_000);
      const expected = (index: number): object => ({ n: 79_800 + 400 * index, padding: 'x'.padEnd(10) });
      const many = Math.ceil(200_000 / length);
      // The first ones again at the end, when they have long been closed.
      for (const index of [...Array(many).keys(), 0, 1, 2]) {
        for (let times = 0; times < 4; times += 1) expect(await run(index)).toEqual(expected(index));
        if (index % 16 !== 0) continue;
        const there = await preparedThere();
        expect(there.reduce((sum, one) => sum + one.statement.length, 0)).toBeLessThanOrEqual(160_000);
        expect(new Set(there.map(({ name }) => name)).size).toBe(there.length);
        expect(there.length).toBeGreaterThan(0);
      }
      const last = await preparedThere();
      expect(last.some((one) => one.statement.includes(` ${String(many - 1)} a statement`))).toBe(true);
      expect(last.some((one) => one.statement.includes(' 0 a statement'))).toBe(true);
      expect(last.some((one) => one.statement.includes(' 5 a statement'))).toBe(false);
    });

    it('that read whole ranges are planned for that, and nothing after them, even if they fail', async () => {
      const planning = async (whole: boolean): Promise<unknown> =>
        (
          await db.read(
            sql`SELECT current_setting('enable_bitmapscan') AS bitmap, current_setting('enable_indexscan') AS index, ${0}::int AS n`,
            { whole },
          )
        )[0];
      const usual = { bitmap: 'off', index: 'on', n: 0 };
      expect(await planning(false)).toEqual(usual);
      for (let times = 0; times < 4; times += 1) {
        expect(await planning(true)).toEqual({ bitmap: 'on', index: 'off', n: 0 });
        expect(await planning(false)).toEqual(usual);
        await expect(db.read(sql`SELECT 1 / ${0}::int AS n`, { whole: true })).rejects.toMatchObject({ code: '22012' });
        expect(await planning(false)).toEqual(usual);
      }
    });

    it('are prepared again where somebody has changed a column, or has dropped what was prepared', async () => {
      await db.knex.raw('CREATE TABLE shapes (n int, m int)');
      await db.knex.raw('INSERT INTO shapes VALUES (1, 0)');
      const shape = (): Promise<unknown> => db.read(sql`SELECT n FROM shapes WHERE m = ${0}::int`);
      const settle = async (code: string): Promise<unknown> => {
        await expect(shape()).rejects.toMatchObject({ code });
        return shape();
      };
      for (let times = 0; times < 4; times += 1) expect(await shape()).toEqual([{ n: 1 }]);
      await db.knex.raw('ALTER TABLE shapes ALTER COLUMN n TYPE text');
      expect(await settle('0A000')).toEqual([{ n: '1' }]);
      await db.knex.raw('ALTER TABLE shapes ALTER COLUMN n TYPE jsonb USING to_jsonb(n)');
      expect(await settle('0A000')).toEqual([{ n: '1' }]);
      await db.knex.raw('ALTER TABLE shapes ALTER COLUMN n TYPE boolean USING true');
      expect(await settle('0A000')).toEqual([{ n: true }]);
      expect(await shape()).toEqual([{ n: true }]);
      // The embedded store has one session for all connections, so that another one can drop what this one has prepared.
      if (store.name === 'postgres') return;
      for (const { name } of await preparedThere()) await db.knex.raw(`DEALLOCATE "${name}"`);
      expect(await settle('26000')).toEqual([{ n: true }]);
    });

    it('go on after a failure of one of them', async () => {
      const divide = (by: number): Fragment => sql`SELECT 1 / ${by}::int AS n`;
      for (let times = 0; times < 5; times += 1) {
        await expect(db.read(divide(0))).rejects.toThrow();
        expect(await db.read(divide(1))).toEqual([{ n: 1 }]);
      }
    });
  });
}
