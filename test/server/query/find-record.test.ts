// Single records at the doors of the store: what the statements read, by which index, and that none shows anything
// outside its predicate.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { FAMILIES, type Visible } from '../../../engine/index.js';
import { isRecordId } from '../../../server/api/record-schema.js';
import {
  findNamespace,
  findRecord,
  locateStatement,
  namespaceOfRecord,
  namespaceStatement,
  recordStatement,
} from '../../../server/query/find-record.js';
import { rowPredicate, type RowPredicate } from '../../../server/query/row-predicate.js';
import { pathOf } from '../../engine/oracle/worlds.js';
import { planOf, type PlanNode } from '../../support/query-plans.js';
import { describeOnStores } from '../../support/stores.js';
import { hostileRecords, plant } from './hostile-records.js';

function only(path: string): RowPredicate {
  return rowPredicate({ kind: 'some', exact: [pathOf(path)], subtrees: [] });
}

describe('an id', () => {
  it.each(['01900000-0000-7000-8000-00000000abcd', 'E3385D9D-0FA5-8283-A392-6CC53E2B7364'])('can be %s', (text) => {
    expect(isRecordId(text)).toBe(true);
  });

  it.each([
    '',
    '__proto__',
    '01900000000070008000000000000000',
    '{01900000-0000-7000-8000-000000000000}',
    '01900000-0000-7000-8000-00000000000g',
    '01900000-0000-7000-8000-000000000000\n',
    ' 01900000-0000-7000-8000-000000000000',
    '01900000-0000-7000-8000-0000000000000',
  ])('cannot be %j', (text) => {
    expect(isRecordId(text)).toBe(false);
  });
});

describeOnStores('finding a record', (store) => {
  const records = hostileRecords();

  beforeAll(async () => {
    await plant(store.db, records);
    // As large as a load can make them: where a record is must not take as long as reading it.
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
         SELECT gen_random_uuid(), 2, '/large/', 'x', jsonb_build_object('a', repeat(md5(n::text), 2000)), 1, now(), now(), ?
         FROM generate_series(1, 50) AS n`,
      ['test'],
    );
    await store.db.knex.raw('VACUUM ANALYZE records');
  });

  const largeId = async (): Promise<string> => {
    const { rows } = await store.db.knex.raw<{ rows: readonly { id: string }[] }>(
      "SELECT id FROM records WHERE path = '/large/' ORDER BY id LIMIT 1",
    );
    return rows[0]?.id ?? '';
  };

  it('finds a record where it is, and nowhere else', async () => {
    for (const { id, namespace } of records.filter((_, index) => index % 4 === 0)) {
      const key = { family: 'resource', id: String(id) } as const;
      expect(await namespaceOfRecord(store.db, key)).toBe(namespace);
      expect((await findRecord(store.db, { ...key, predicate: only(String(namespace)) }))?.json).toContain(String(id));
      const elsewhere = namespace === '/a' ? '/b' : '/a';
      expect(await findRecord(store.db, { ...key, predicate: only(elsewhere) })).toBeNull();
    }
  });

  it('finds none under another family or an id that is nobody’s', async () => {
    const [{ id } = {}] = records;
    for (const family of FAMILIES.filter((one) => one !== 'resource')) {
      const key = { family, id: String(id) };
      expect(await namespaceOfRecord(store.db, key)).toBeNull();
      expect(await findRecord(store.db, { ...key, predicate: rowPredicate({ kind: 'all' }) })).toBeNull();
    }
    expect(
      await namespaceOfRecord(store.db, { family: 'resource', id: '00000000-0000-0000-0000-000000000000' }),
    ).toBeNull();
  });

  it('treats an invalid stored path as no record', async () => {
    const id = '01900000-0000-7000-8000-ffffffffffff';
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
         VALUES (?::uuid, 2, '/A b/', 'x', '{}', 1, now(), now(), 'test')`,
      [id],
    );
    expect(await namespaceOfRecord(store.db, { family: 'resource', id })).toBeNull();
  });

  it('finds a namespace by what is visible of it', async () => {
    expect(await findNamespace(store.db, only('/'))).toMatchObject({ revision: 1 });
    expect(await findNamespace(store.db, only('/a/b'))).toBeNull();
  });

  it('refuses values that are not predicates', () => {
    const forged = {} as RowPredicate;
    expect(() => namespaceStatement(forged)).toThrow(TypeError);
    const id = String(records[0]?.['id']);
    expect(() => recordStatement({ family: 'resource', id, predicate: forged })).toThrow(TypeError);
    const nothing: Visible = { kind: 'some', exact: [], subtrees: [] };
    expect(() => namespaceStatement(rowPredicate(nothing))).toThrow(TypeError);
  });

  const readsOf = async (statement: ReturnType<typeof locateStatement>): Promise<readonly PlanNode[]> => {
    const steps = await planOf(store.db, statement, ['ANALYZE', 'BUFFERS']);
    return steps.map(({ node }) => node).filter((node) => node['Relation Name'] === 'records');
  };
  const blocks = (nodes: readonly PlanNode[]): number =>
    nodes.reduce((sum, node) => sum + (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0), 0);

  it('looks an id up by the primary key alone, as quickly for a large record as for a small one', async () => {
    const ids = [await largeId(), String(records[0]?.['id']), '00000000-0000-0000-0000-000000000000'];
    const read: number[] = [];
    for (const id of ids) {
      const nodes = await readsOf(locateStatement({ family: 'resource', id }));
      expect(nodes.map((node) => node['Index Name'])).toEqual(['records_pkey']);
      read.push(blocks(nodes));
    }
    const [large = 0, small = 0, none = 0] = read;
    expect(large).toBe(small);
    expect(small - none).toBeLessThanOrEqual(1);
    const request = { family: 'resource', id: ids[0] ?? '', predicate: only('/large') } as const;
    expect((await readsOf(recordStatement(request))).map((node) => node['Index Name'])).toEqual(['records_pkey']);
  });

  it('looks a namespace up by its path', async () => {
    const nodes = await readsOf(namespaceStatement(only('/')));
    expect(nodes.every((node) => node['Index Name']?.startsWith('records_') === true)).toBe(true);
    expect(nodes.length).toBeGreaterThan(0);
    expect(blocks(nodes)).toBeLessThan(8);
  });
});
