// Partitions of a PostgreSQL store: what holds for records in one table holds for records in several.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { partition } from '../../../server/db/partitions.js';
import { exportDataset } from '../../../server/load/export-dataset.js';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { pathOf } from '../../support/gateway.js';
import { loadLines, replaceLines } from '../../support/loaded-records.js';
import { type OpenedStore, testStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

const postgres = testStores().find(({ name }) => name === 'postgres');
const describePostgres = postgres === undefined ? describe.skip : describe;

const idOf = (n: number): string => `0190c0de-0000-7000-8000-${String(n).padStart(12, '0')}`;
const ASKING = idOf(900);
const OWNED = [
  'TABLE records',
  'TABLE records_1',
  'TABLE records_2',
  'TABLE records_rest',
  'FUNCTION records_ids_once',
];
/** As long as a name can be. */
const LONG = 'added_by_hand_'.padEnd(63, 'x');

const resource = (n: number, namespace: string, more: object = {}): string =>
  JSON.stringify({ family: 'resource', id: idOf(n), namespace, name: `r${String(n)}`, ...more });

describePostgres('a store with partitions', () => {
  let opened: OpenedStore;
  let db: Database;
  let doors: CommandDoors;
  beforeAll(async () => {
    if (postgres === undefined) return;
    opened = await postgres.open();
    db = opened.database;
    await migrate(db);
    doors = await openCommandDoors({ db, actors: { ada: { '/': '*:*' } } });
    const template = {
      family: 'resource-template',
      namespace: '/',
      name: 't',
      version: '1',
      schema: {},
      uniqueName: true,
    };
    const lines = [
      JSON.stringify({ ...template, id: ASKING }),
      resource(1, '/a'),
      resource(2, '/b/c'),
      resource(3, '/c'),
    ];
    expect(await loadLines(db, lines)).toMatchObject({ bad: 0 });
  });
  afterAll(async () => {
    await doors.close();
    await opened.dispose();
  });

  const split = (...namespaces: readonly string[]): Promise<boolean> => partition(db, namespaces.map(pathOf));

  async function rowsOf(query: string): Promise<readonly unknown[]> {
    const { rows } = await db.knex.raw<{ rows: readonly Record<string, unknown>[] }>(query);
    return rows.map((row) => Object.values(row).map(String).join(' '));
  }

  const whereRecordsAre = (): Promise<readonly unknown[]> =>
    rowsOf('SELECT tableoid::regclass, path FROM records WHERE family = 2 ORDER BY path');

  it('puts the records of each namespace into a table of its own, and copies them only if the list is another', async () => {
    const before = await rowsOf('SELECT * FROM records ORDER BY id');
    expect(await split('/b', '/a')).toBe(true);
    expect(await whereRecordsAre()).toEqual(['records_1 /a/', 'records_2 /b/c/', 'records_rest /c/']);
    expect(await split('/a', '/b')).toBe(false);
    expect(await split('/b', '/c', '/d')).toBe(true);
    expect(await whereRecordsAre()).toEqual(['records_rest /a/', 'records_1 /b/c/', 'records_2 /c/']);
    expect(await split('/a', '/b')).toBe(true);
    expect(await rowsOf('SELECT * FROM records ORDER BY id')).toEqual(before);
    expect(await migrate(db)).toEqual([]);
    expect((await openAgain()).isPartitioned).toBe(true);
  });

  async function openAgain(): Promise<Database> {
    const again = await openDatabase(opened.config);
    await again.close();
    return again;
  }

  it('keeps indexes, triggers and rights, also what others have added', async () => {
    const added = [
      'CREATE ROLE partition_reader',
      'GRANT SELECT ON records TO partition_reader WITH GRANT OPTION',
      'GRANT UPDATE (name, path) ON records TO partition_reader',
      'ALTER TABLE records ENABLE ROW LEVEL SECURITY',
      `CREATE INDEX ${LONG} ON records (version)`,
      ...['DISABLE', 'ENABLE REPLICA', 'ENABLE ALWAYS'].flatMap((how, n) => [
        `CREATE TRIGGER "By hand ${String(n)}" BEFORE UPDATE ON records FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
        `ALTER TABLE records ${how} TRIGGER "By hand ${String(n)}"`,
      ]),
    ];
    try {
      for (const statement of [...added, "CREATE INDEX added_by_hand ON records ((properties ->> 'rank'))"])
        await db.knex.raw(statement.replaceAll('?', String.raw`\?`));
      const told = async (): Promise<unknown> => ({
        indexes: await rowsOf(
          "SELECT replace(indexdef, ' ONLY ', ' ') FROM pg_indexes WHERE tablename = 'records' ORDER BY indexname",
        ),
        triggers: await rowsOf(
          "SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE tgrelid = 'records'::regclass AND NOT tgisinternal ORDER BY tgname",
        ),
        rights: await rowsOf(
          "SELECT relacl, relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = 'records'::regclass",
        ),
        ofColumns: await rowsOf(
          "SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'records'::regclass AND attacl IS NOT NULL ORDER BY 1",
        ),
      });
      const before = await told();
      expect(JSON.stringify(before)).toMatch(/partition_reader=r\*.*|added_by_hand/);
      expect(await split('/a', '/b', '/d')).toBe(true);
      expect(await told()).toEqual(before);
      expect(await split('/a', '/b')).toBe(true);
    } finally {
      await db.knex.raw(`DROP INDEX IF EXISTS added_by_hand, ${LONG}`);
      for (const n of [0, 1, 2]) await db.knex.raw(`DROP TRIGGER IF EXISTS "By hand ${String(n)}" ON records`);
      await db.knex.raw('ALTER TABLE records DISABLE ROW LEVEL SECURITY');
      await db.knex.raw('DROP OWNED BY partition_reader');
      await db.knex.raw('DROP ROLE partition_reader');
    }
    expect(await rowsOf("SELECT indexname FROM pg_indexes WHERE tablename = 'records_2' ORDER BY 1 LIMIT 3")).toEqual([
      'records_level0_created_2',
      'records_level0_id_2',
      'records_level0_name_2',
    ]);
  });

  it('leaves everything with the owner of the table, whoever splits it', async () => {
    const owners = (): Promise<readonly unknown[]> =>
      rowsOf(`SELECT DISTINCT relowner::regrole FROM pg_class WHERE relname ~ '^records' AND relkind IN ('r', 'p', 'i', 'I')
        UNION SELECT proowner::regrole FROM pg_proc WHERE proname = 'records_ids_once'`);
    const [me] = await rowsOf('SELECT current_user');
    await db.knex.raw('CREATE ROLE partition_owner');
    try {
      await db.knex.raw('GRANT ALL ON SCHEMA bailiwick TO partition_owner');
      for (const what of OWNED) await db.knex.raw(`ALTER ${what} OWNER TO partition_owner`);
      expect(await split('/a', '/b', '/d')).toBe(true);
      expect(await owners()).toEqual(['partition_owner']);
      expect(await rowsOf('SELECT current_user')).toEqual([me]);
    } finally {
      await db.knex.raw('REASSIGN OWNED BY partition_owner TO CURRENT_USER');
      await db.knex.raw('DROP OWNED BY partition_owner');
      await db.knex.raw('DROP ROLE partition_owner');
    }
    expect(await split('/a', '/b')).toBe(true);
  });

  it('has every id once, whoever brings it', async () => {
    const report = await loadLines(db, [resource(1, '/b'), resource(4, '/b')]);
    expect(report).toMatchObject({ loaded: 1, bad: 1, faults: [{ line: 1, code: 'record.conflict', pointer: '/id' }] });
    await expect(
      db.knex
        .raw(`INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
        VALUES ('${idOf(1)}', 2, '/b/', 'r', '{}', 1, now(), now(), 'test')`),
    ).rejects.toMatchObject({ code: '23505', constraint: 'records_pkey' });
    expect(await rowsOf('SELECT path FROM records WHERE family = 2 ORDER BY id')).toEqual([
      '/a/',
      '/b/c/',
      '/c/',
      '/b/',
    ]);
  });

  it('stores each id once though several loads bring it to several partitions at once', async () => {
    const ids = Array.from({ length: 40 }, (_, n) => 100 + n);
    const reports = await Promise.all(
      ['/a', '/b', '/c', '/d'].map((namespace) =>
        loadLines(
          db,
          ids.map((n) => resource(n, namespace)),
        ),
      ),
    );
    expect(reports.reduce((sum, { loaded }) => sum + loaded, 0)).toBe(ids.length);
    expect(await rowsOf("SELECT count(*), count(DISTINCT id) AS ids FROM records WHERE id::text LIKE '%01__'")).toEqual(
      ['40 40'],
    );
  });

  /** Begins `work` while a split has its place in the queue for the table, and lets both go on. */
  async function meanwhile<T>(
    config: OpenedStore['config'],
    namespaces: readonly string[],
    work: () => Promise<T>,
  ): Promise<T> {
    const operator = await openDatabase(config);
    const waiting = (sessions: number): Promise<unknown> =>
      until(async () => {
        const { rows } = await operator.knex.raw<{ rows: readonly unknown[] }>(WAITING);
        return rows.length >= sessions;
      });
    try {
      const before = await operator.knex.transaction();
      await before.raw('LOCK TABLE records IN ACCESS SHARE MODE');
      const splitting = partition(operator, namespaces.map(pathOf));
      await waiting(1);
      const working = work();
      await waiting(2);
      await before.commit();
      expect(await splitting).toBe(true);
      return await working;
    } finally {
      await operator.close();
    }
  }

  const WAITING = `SELECT FROM pg_locks
    WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

  it('stores each id once though loads begin while the table is split for the first time', async () => {
    const young = await postgres?.open();
    if (young === undefined) throw new Error('there is no PostgreSQL');
    const { database, config } = young;
    const linesIn = (namespace: string): string[] => Array.from({ length: 300 }, (_, n) => resource(n, namespace));
    try {
      const reports = await meanwhile(config, ['/a', '/b'], () =>
        Promise.all(['/a', '/b'].map((namespace) => loadLines(database, linesIn(namespace)))),
      );
      expect(reports.map(({ loaded }) => loaded).sort()).toEqual([0, 300]);
    } finally {
      await young.dispose();
    }
  });

  it('exports every record though the table is split meanwhile', async () => {
    const ids = await rowsOf('SELECT id FROM records WHERE family = 2 ORDER BY id');
    const texts: string[] = [];
    const take = (text: string): Promise<void> => Promise.resolve(void texts.push(text));
    await meanwhile(opened.config, ['/a', '/c'], () => exportDataset(db, take, () => undefined));
    const lines = texts
      .join('')
      .split('\n')
      .filter((line) => line.includes('"family":"resource"'));
    expect(lines.map((line) => (JSON.parse(line) as { readonly id: string }).id).sort()).toEqual(ids);
    expect(await split('/a', '/b')).toBe(true);
  });

  it('keeps unique names, and says so as always', async () => {
    const body = { namespace: '/a', name: 'one', template: ASKING };
    const create = (): Promise<{ readonly status: number; readonly json: object }> =>
      doors.send('ada', 'POST /api/v1/resources', { body });
    expect(await create()).toMatchObject({ status: 201 });
    expect(await create()).toMatchObject({ status: 409, json: { code: 'record.name_taken' } });
    const report = await loadLines(db, [resource(5, '/a', { name: 'one', template: ASKING })]);
    expect(report.faults).toMatchObject([{ line: 1, code: 'record.name_taken' }]);
  });

  it('moves records from one partition to another: counters and the feed hold', async () => {
    const since = (await rowsOf('SELECT COALESCE(max(seq), 0) FROM changes_pending'))[0];
    expect(await replaceLines(db, [resource(2, '/a/x')])).toMatchObject({ replaced: 1, bad: 0 });
    expect(await rowsOf(`SELECT tableoid::regclass, path FROM records WHERE id = '${idOf(2)}'`)).toEqual([
      'records_1 /a/x/',
    ]);
    expect(
      await rowsOf(
        `SELECT change, left_path, path FROM changes_pending WHERE id = '${idOf(2)}' AND seq > ${String(since)}`,
      ),
    ).toEqual(['2 /b/c/ /a/x/']);
    expect(
      await rowsOf(`SELECT r.path, r.n, c.n FROM (SELECT path, count(*) AS n FROM records WHERE family = 2 GROUP BY path) AS r
        FULL JOIN (SELECT path, sum(active) AS n FROM record_counts WHERE family = 2 GROUP BY path HAVING sum(active) <> 0) AS c USING (path)
        WHERE r.n IS DISTINCT FROM c.n`),
    ).toEqual([]);
  });

  it('takes commands for a record while it moves to and fro', async () => {
    const moving = (async () => {
      for (let round = 0; round < 20; round += 1)
        expect(await replaceLines(db, [resource(3, round % 2 === 0 ? '/a' : '/b')])).toMatchObject({ bad: 0 });
    })();
    const statuses = new Set<number>();
    for (let round = 0; round < 40; round += 1) {
      const [revision] = await rowsOf(`SELECT revision FROM records WHERE id = '${idOf(3)}'`);
      const [way, body] =
        round % 4 === 0
          ? [`POST /api/v1/resources/${idOf(3)}/move`, { namespace: ['/c', '/a', '/b'][round % 3] }]
          : [`PATCH /api/v1/resources/${idOf(3)}`, { description: String(round) }];
      statuses.add((await doors.send('ada', way, { body, ifMatch: Number(revision) })).status);
    }
    await moving;
    for (const status of statuses) expect([200, 409, 412]).toContain(status);
    expect(statuses).toContain(200);
    expect(await rowsOf(`SELECT count(*) FROM records WHERE id = '${idOf(3)}'`)).toEqual(['1']);
  });

  it.each([
    ['CREATE TABLE records_3 (n int)', 'DROP TABLE records_3', 'relation "records_3" already exists'],
    ['CREATE VIEW seen AS SELECT id FROM records', 'DROP VIEW seen', 'view seen depends on table records_before'],
  ])('says what is in the way after %s, and leaves everything as it was', async (before, after, told) => {
    await db.knex.raw(before);
    try {
      await expect(split('/a', '/b', '/c')).rejects.toThrow(new RegExp(`in the way of partitions: .*${told}`));
      expect((await whereRecordsAre())[0]).toBe('records_1 /a/');
    } finally {
      await db.knex.raw(after);
    }
  });

  it('is refused for a namespace that is not at the top', async () => {
    await expect(split('/a/b')).rejects.toThrow(RangeError);
    await expect(split('/')).rejects.toThrow(RangeError);
  });
});
