// What the statements of the feed read: one plan each, whatever the store knows of its tables, and no more pages of the store than what is
// visible takes, however much happened elsewhere.
import { beforeAll, expect, it } from '@jest/globals';
import { FAMILIES, type Visible } from '../../../engine/index.js';
import { changesStatement, headStatement, settledStatement } from '../../../server/changes/change-statement.js';
import { numberChanges } from '../../../server/changes/number-changes.js';
import type { Database } from '../../../server/db/database.js';
import type { Fragment } from '../../../server/db/sql.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { describeLargePostgres } from '../../support/large-postgres.js';
import { planOf, type Step } from '../../support/query-plans.js';
import { some } from '../query/asked-pages.js';

const ALL: Visible = { kind: 'all' };
const HUNDRED = some(
  [],
  Array.from({ length: 100 }, (_, i) => `/n${String(i % 20)}/m${String(i)}`),
);
/** What somebody sees, and which indexes of the changes that takes; nothing else may read them. */
const SHAPES: readonly (readonly [string, Visible, readonly string[]])[] = [
  ['everything', ALL, ['changes_level0']],
  ['a namespace', some(['/n1'], []), ['changes_path']],
  ['a subtree', some([], ['/n1']), ['changes_level1']],
  ['a few of both', some(['/n1', '/n2/m2'], ['/n3', '/n4/m4']), ['changes_path', 'changes_level1', 'changes_level2']],
  ['a hundred subtrees', HUNDRED, ['changes_level2']],
];

function ask(visible: Visible, after: number, longest: number | null = null): Fragment {
  const predicates = new Map(FAMILIES.slice(2, 3).map((family) => [family, rowPredicate(visible)]));
  const place = { position: after, mark: 1, since: 4e12 };
  return changesStatement({ predicates, after: place, limit: 50, keep: 1_000, longest });
}

/** Each step that reads a table of the feed, as `how index: condition`. */
function readsOf(steps: readonly Step[]): readonly string[] {
  return steps
    .filter(({ node }) => /^changes/.test(node['Relation Name'] ?? node['Index Name'] ?? ''))
    .map(({ node }) => `${node['Node Type']} ${node['Index Name'] ?? node['Relation Name'] ?? ''}`);
}

const blocksOf = (steps: readonly Step[]): number =>
  (steps[0]?.node['Shared Hit Blocks'] ?? 0) + (steps[0]?.node['Shared Read Blocks'] ?? 0);

describeLargePostgres('the statements of the feed', (open) => {
  let db: Database;
  beforeAll(async () => {
    db = await open();
  });

  /** Changes of as many new resources, at `place` of their number. */
  const write = async (count: number, place: string): Promise<void> => {
    await db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
       SELECT gen_random_uuid(), 2, ${place}, 'r', '{}', 1, now(), now(), 'test' FROM generate_series(1, ${String(count)}) AS i`,
    );
    while ((await numberChanges(db, 2_000)) > 0);
    // As autovacuum does: what has been given its place is dead in the table of what waits, and is stepped over until then.
    await db.knex.raw('VACUUM changes_pending, changes_head');
  };
  const plans = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
    const found = new Map<string, readonly string[]>();
    for (const [name, visible] of SHAPES) {
      found.set(name, readsOf(await planOf(db, ask(visible, 10))));
      // A statement that ends itself reads the same.
      expect(readsOf(await planOf(db, ask(visible, 10, 1_000)))).toEqual(found.get(name));
    }
    found.set('the head', readsOf(await planOf(db, headStatement())));
    found.set('the settled place', readsOf(await planOf(db, settledStatement(1_000))));
    return found;
  };

  it('have one plan each on an empty store, on a full one that was never analyzed, and on one that was', async () => {
    const empty = await plans();
    for (const [name, , indexes] of SHAPES) {
      const reads = (empty.get(name) ?? []).filter((step) => !/ changes_(?:head|pending|position)/.test(step));
      expect([name, new Set(reads)]).toEqual([name, new Set(indexes.map((index) => `Index Scan ${index}`))]);
    }
    expect(new Set(empty.get('the settled place'))).toEqual(
      new Set([
        'Index Scan changes_position',
        ...(empty.get('the head') ?? []).filter((step) => step.includes('changes_head')),
      ]),
    );
    await write(40_000, `'/n' || i % 20 || '/m' || i % 100 || '/'`);
    expect(await plans()).toEqual(empty);
    for (const table of ['changes', 'changes_pending', 'changes_head', 'records'])
      await db.knex.raw('VACUUM ANALYZE ??', [table]);
    expect(await plans()).toEqual(empty);
  });

  it('read no more than what is visible takes, whatever else happened', async () => {
    const hidden = some(['/quiet'], ['/calm']);
    await write(200, `CASE WHEN i % 2 = 0 THEN '/quiet/' ELSE '/calm/x/' END`);
    const read = async (visible: Visible, after: number): Promise<number> =>
      blocksOf(await planOf(db, ask(visible, after), ['ANALYZE', 'BUFFERS']));
    const before = await read(hidden, 0);
    const settled = async (): Promise<number> =>
      blocksOf(await planOf(db, settledStatement(0), ['ANALYZE', 'BUFFERS']));
    const place = await settled();
    await write(40_000, `'/n' || i % 20 || '/m' || i % 100 || '/'`);
    // A level more of an index, and what the last step of its growth leaves.
    expect(await read(hidden, 0)).toBeLessThan(before + 30);
    expect(await settled()).toBeLessThan(place + 60);
    // A page of 50 from one of twenty, or from everywhere: entries and their rows, never the 80,000.
    for (const visible of [ALL, some([], ['/n1']), some(['/n1/m1'], [])])
      for (const after of [0, 40_000, 80_000]) expect(await read(visible, after)).toBeLessThan(400);
    expect(await read(HUNDRED, 0)).toBeLessThan(2_000);
  });
});
