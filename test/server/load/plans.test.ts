// The plans that PostgreSQL makes for the statements of a load: they look up each record by itself, whether or not the
// store has statistics. Each is planned where it is run. So in a store with hardly any records, a join may walk them.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { replaceLines } from '../../support/loaded-records.js';
import { type Planned, plansOf, readsOf } from '../../support/query-plans.js';
import { type OpenedStore, testStores } from '../../support/stores.js';

const postgres = testStores().find(({ name }) => name === 'postgres');
const describePostgres = postgres === undefined ? describe.skip : describe;

const idOf = (n: number): string => `0190c0de-0000-7000-8000-${String(n).padStart(12, '0')}`;
const [ASKING, OTHER] = [idOf(1), idOf(2)];

/** Lines of which each replaces or moves what the round before has left, or exchanges names with another. */
function linesOf(round: number): readonly string[] {
  const isEven = round % 2 === 0;
  const template = { family: 'resource-template', namespace: '/', version: '1', schema: {} };
  const resource = { family: 'resource', namespace: '/a/b', template: ASKING };
  return [
    { family: 'namespace', namespace: '/a', description: String(round) },
    { ...template, id: ASKING, name: 'asks', uniqueName: true },
    { ...template, id: OTHER, name: 'other', namespace: isEven ? '/' : '/a' },
    { ...resource, id: idOf(10), name: isEven ? 'one' : 'two' },
    { ...resource, id: idOf(11), name: isEven ? 'two' : 'one' },
    { ...resource, id: idOf(12), name: 'moved', namespace: isEven ? '/a' : '/a/b' },
  ].map((line) => JSON.stringify(line));
}

/** What it reads of records, each as `index: condition`. */
function conditionsOf({ steps }: Planned): readonly string[] {
  const reads = readsOf(steps).filter(({ node }) => node['Node Type'] !== 'ModifyTable');
  return reads.map(({ node }) => `${node['Index Name'] ?? 'table'}: ${node['Index Cond'] ?? ''}`);
}

/** By an id, or by a path; namespaces, of which there are few, may be walked. */
const LOOKED_UP = /^records_pkey: \(id = |^records_(?:path|namespace_path)\w*: \(.*\b(?:path = |family = \$\d+\)$)/;

describePostgres('the statements of a load that replaces records', () => {
  let store: OpenedStore | undefined;
  let round = 0;
  beforeAll(async () => {
    store = await postgres?.open();
    await replaced();
  });
  afterAll(() => store?.dispose());

  async function replaced(): Promise<readonly Planned[]> {
    if (store === undefined) throw new Error('there is no PostgreSQL');
    const plans = await plansOf(store.database, async (db) => {
      expect(await replaceLines(db, linesOf(round))).toMatchObject({ bad: 0, replaced: round === 0 ? 0 : 5 });
    });
    round += 1;
    return plans;
  }

  const addRecords = (rows: number): unknown =>
    store?.database.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
        SELECT gen_random_uuid(), 2 + i % 3, (ARRAY['/n1/', '/n1/m1/', '/n7/'])[1 + i % 3], 'r', '{}', 1, now(), now(), 'test'
        FROM generate_series(1, ?::int) AS i`,
      [rows],
    );

  it.each<[string, () => unknown]>([
    ['hardly any records', () => undefined],
    ['a thousand records', () => addRecords(1_000)],
    ['some thousands', () => addRecords(5_000)],
    ['some thousands, and statistics', () => store?.database.knex.raw('ANALYZE records')],
  ])('look up each record by itself in a store with %s', async (what, prepare) => {
    await prepare();
    const plans = await replaced();
    const walking = plans.filter((one) => !conditionsOf(one).every((condition) => LOOKED_UP.test(condition)));
    const verbs = new Set(walking.map(({ text }) => text.trim().split(/\s/)[0]));
    expect([...verbs]).toEqual(what === 'hardly any records' ? ['UPDATE', 'SELECT'] : []);
    const updates = plans.filter(({ text }) => text.includes('unique_name = CASE')).map(conditionsOf);
    // One for each family: the template by which a record is marked is found by its id.
    expect(updates.length).toBe(3);
    for (const conditions of updates) expect(conditions).toContain('records_pkey: (id = i.template)');
    const locked = plans.filter(({ text }) => /r\.path <> i\.path\b.*\bFOR UPDATE/s.test(text)).map(conditionsOf);
    expect(locked).toEqual(Array.from({ length: 3 }, () => ['records_pkey: (id = i.id)']));
  });
});
