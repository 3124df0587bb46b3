// Parts of large documents: each document is read once, however many of its parts are selected, and a page that takes
// too long ends, though it shows next to nothing.
import { beforeAll, expect, it } from '@jest/globals';
import { openDatabase } from '../../../server/db/database.js';
import { keyOrder } from '../../../server/query/key-order.js';
import { largePageStatement } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../support/parse-query.js';
import { listPage } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';
import { planOf } from '../../support/query-plans.js';
import { describeOnStores } from '../../support/stores.js';

const RECORDS = 40;
const predicate = rowPredicate({ kind: 'all' });
const planFor = (select: readonly string[]): ReturnType<typeof parseQuery> =>
  parseQuery({ family: 'process-run', namespace: '/', page: { size: 500 }, select }, 'query');
const none = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${index % 2 === 0 ? 'properties' : 'parameters'}.none${String(index)}`);

describeOnStores('a page of parts of large records', (store) => {
  beforeAll(async () => {
    // Half a megabyte of what does not compress, twice in each.
    const patient = await openDatabase({ ...store.config, statementTimeout: 0 });
    await patient.knex.raw(
      `WITH d AS MATERIALIZED (
         SELECT jsonb_object_agg('k' || i, (SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 16 + 0 * i))) AS document
         FROM generate_series(1, 1000) AS i)
       INSERT INTO records (id, family, path, properties, parameters, resources, state, revision, created_at, updated_at, created_by)
       SELECT gen_random_uuid(), 4, '/large/', d.document, d.document, '{}', 'pending', 1, now(), now(), ?
       FROM d, generate_series(1, ${String(RECORDS)})`,
      ['test'],
    );
    await patient.close();
  });

  it('reads each of them once', async () => {
    const blocksOf = async (select: readonly string[]): Promise<number> => {
      const plan = planFor(select);
      const statement = largePageStatement({
        predicate,
        plan,
        after: null,
        order: keyOrder(plan.orderBy, plan.family),
      });
      const [top] = await planOf(store.db, statement, ['ANALYZE', 'BUFFERS']);
      return (top?.node['Shared Hit Blocks'] ?? NaN) + (top?.node['Shared Read Blocks'] ?? NaN);
    };
    const [few, many] = [await blocksOf(none(2)), await blocksOf(none(100))];
    expect(few).toBeGreaterThan(2 * RECORDS * 60);
    expect(many).toBeLessThan(1.2 * few);
  });

  it('ends itself where the store cannot stop it, though it compares nothing', async () => {
    const cursors = { secret: new Uint8Array(32), actorId: 'test', visibility: 'v' };
    const asked = { predicate, plan: planFor(none(100)), cursors };
    expect((await listPage({ ...store.db, longestQuery: 60_000 }, asked)).count).toBe(RECORDS);
    const error: unknown = await listPage({ ...store.db, longestQuery: 1 }, asked).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: '2203A' });
    expect(toStoreProblem(error)).toMatchObject({ code: 'db.timeout' });
  });
});
