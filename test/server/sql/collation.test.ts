// What `assertCollation` accepts and what it says otherwise, through every door: columns of each kind, in databases of each
// kind of locale.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDoors, type OpenDoors } from '../../support/sql-doors.js';
import { dropDatabase, takeDatabase, type TakenDatabase } from '../../support/one-postgres.js';
import { runSql } from '../../support/postgres.js';

const REPAIR = 'Run: ALTER TABLE "invoice" ALTER COLUMN "path" TYPE text COLLATE "C"';
const ICU = `LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'`;

describe.each([
  { database: `LOCALE 'C.UTF-8'`, plain: null },
  { database: ICU, plain: 'the locale en-US of the database (ICU)' },
])('in a database with $database', ({ database, plain }) => {
  let taken: TakenDatabase;
  let open: OpenDoors;
  const own = `collation_${plain === null ? 'c' : 'icu'}_${String(process.pid)}`;

  beforeAll(async () => {
    taken = await takeDatabase('empty');
    await runSql(taken.url, `CREATE DATABASE ${own} TEMPLATE template0 ${database}`);
    const url = new URL(taken.url);
    url.pathname = own;
    open = openDoors(url.href);
    await open.pool.query(`
      CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
      CREATE DOMAIN place AS text COLLATE "C";
      CREATE SCHEMA "Odd.Name";`);
  });

  afterAll(async () => {
    await open.close();
    await dropDatabase(taken.url, own);
    await taken.drop();
  });

  const refusals = async (column: string): Promise<readonly (string | null)[]> =>
    Promise.all(
      open.doors.map(({ assertCollation }) =>
        assertCollation(column).then(
          () => null,
          (error: unknown) => (error instanceof Error ? error.message : String(error)),
        ),
      ),
    );

  it.each([
    ['text COLLATE "C"', null],
    ['text COLLATE "POSIX"', null],
    ['varchar(1024) COLLATE "C"', null],
    ['place', null],
    ['text', plain],
    ['text COLLATE "und-x-icu"', 'the collation "und-x-icu" (ICU, und)'],
    ['text COLLATE blind', 'the collation "blind" (ICU, und-u-ks-level1)'],
  ])('says whether a column of %s is compared byte by byte', async (type, by) => {
    await open.pool.query(`DROP TABLE IF EXISTS invoice; CREATE TABLE invoice (path ${type})`);
    const said = await refusals('invoice.path');
    expect(said.length).toBe(5);
    for (const one of said) {
      if (by === null) expect(one).toBeNull();
      else {
        expect(one).toContain(`invoice.path is compared by ${by}, not byte by byte.`);
        expect(one?.endsWith(REPAIR)).toBe(true);
      }
    }
  });

  it('mends the column with the statement that it names', async () => {
    await open.pool.query('DROP TABLE IF EXISTS invoice; CREATE TABLE invoice (path text COLLATE blind)');
    const [said] = await refusals('invoice.path');
    await open.pool.query(/Run: (.*)$/.exec(said ?? '')?.[1] ?? 'no statement');
    expect(await refusals('invoice.path')).toEqual([null, null, null, null, null]);
  });

  it.each([
    ['integer', 'integer'],
    ['bytea', 'bytea'],
    ['char(20)', 'character'],
    ['text[]', 'text[]'],
  ])('refuses a column of type %s', async (type, shown) => {
    await open.pool.query(`DROP TABLE IF EXISTS invoice; CREATE TABLE invoice (path ${type})`);
    for (const said of await refusals('invoice.path'))
      expect(said).toBe(`invoice.path has the type ${shown}; namespaces are stored as text. ${REPAIR}`);
  });

  it('says that a table or a column does not exist, and refuses a name that is none', async () => {
    await open.pool.query('DROP TABLE IF EXISTS invoice; CREATE TABLE invoice (path text)');
    for (const column of ['invoice.nmae', 'invoyce.path', 'Odd.invoice.path'])
      for (const said of await refusals(column))
        expect(said).toBe(`the database has no column ${column}: check its name, the schema and the search_path`);
    for (const said of await refusals('path'))
      expect(said).toBe('`path` must name a table and a column, like `invoice.path`');
    for (const said of await refusals('invoice..path')) expect(said).toContain('does not name a column');
  });

  it('quotes names that need it', async () => {
    await open.pool.query('CREATE TABLE "I""voice" ("Pa th?" text COLLATE "C")');
    expect(await refusals('public.I"voice.Pa th?')).toEqual([null, null, null, null, null]);
  });
});
