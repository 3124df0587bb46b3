// Snapshots in the store: each once, in parts that come back unchanged, and none kept for longer than there is room.
import { expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { instantOf } from '../../../engine/index.js';
import { STORED_LIMITS } from '../../../server/limits/policy.js';
import { storedActivations } from '../../../server/policy/store/activations.js';
import { type NewSnapshot, storedSnapshots } from '../../../server/policy/store/stored-snapshots.js';
import { describeOnStores } from '../../support/stores.js';

const NOON = Date.parse('2027-01-01T12:00:00Z');
const digestOf = (number: number): string => `sha256:${number.toString(16).padStart(64, '0')}`;

function made(number: number, more: Partial<NewSnapshot> = {}): NewSnapshot {
  const policy = { name: 'stored', digest: digestOf(number), decisions: digestOf(0) };
  const bytes = Buffer.from(`snapshot ${String(number)}`);
  return { policy, bytes, labels: 'unverified', statement: null, at: instantOf(NOON + number), ...more };
}

describeOnStores('stored snapshots', (store) => {
  const open = (): ReturnType<typeof storedSnapshots> => storedSnapshots(store.db);

  async function read(digest: string): Promise<Buffer | null> {
    const stored = await open().find(digest);
    const parts = stored === null ? null : await open().read(stored);
    return parts === null ? null : Buffer.concat(parts);
  }

  it('come back byte for byte, also those of several parts, by several who store the same at once', async () => {
    const bytes = Buffer.concat([
      randomBytes(STORED_LIMITS.partBytes),
      Buffer.alloc(STORED_LIMITS.partBytes),
      Buffer.from('end'),
    ]);
    await Promise.all([1, 2, 3].map(() => open().put(made(1, { bytes }))));
    expect(Buffer.compare((await read(digestOf(1))) ?? Buffer.of(), bytes)).toBe(0);
    expect(await store.db.knex('snapshots').count()).toEqual([{ count: '1' }]);
    expect(await read(digestOf(404))).toBeNull();
  });

  it('keep what is known: labels that were verified, and the statement that came last', async () => {
    await open().keep(made(2));
    expect(await open().keep(made(2, { labels: 'verified', statement: '{"payload":"a"}' }))).toBe('verified');
    expect(await open().keep(made(2))).toBe('verified');
    expect(await open().find(digestOf(2))).toMatchObject({ labels: 'verified', statement: '{"payload":"a"}' });
    await open().noteLabels(digestOf(2), 'false');
    expect(await open().keep(made(2, { labels: 'verified' }))).toBe('false');
  });

  it('are nothing where a part is damaged or gone, and whole again where they are stored again', async () => {
    await open().put(made(3));
    const where = { snapshot: digestOf(3) };
    await store.db
      .knex('snapshot_parts')
      .where(where)
      .update({ bytes: Buffer.from('nonsense') });
    expect(await read(digestOf(3))).toBeNull();
    await open().put(made(3));
    expect(await read(digestOf(3))).toEqual(made(3).bytes);
    await store.db.knex('snapshot_parts').where(where).del();
    expect(await read(digestOf(3))).toBeNull();
  });

  it('are the last to make room once they are kept again: they are about to be in force', async () => {
    await open().put(made(100));
    for (let number = 101; number < 100 + STORED_LIMITS.kept; number += 1) await open().put(made(number));
    await open().keep(made(100, { at: instantOf(NOON + 200) }));
    await open().put(made(201));
    expect(await read(digestOf(100))).toEqual(made(100).bytes);
    await store.db.knex('snapshots').del();
    await store.db.knex('snapshot_parts').del();
  });

  it('make room for others, those that were used longest ago first, but never what is in force', async () => {
    const { policy } = made(10);
    await open().put(made(10));
    const activation = { kind: 'activated', policy, statement: null, reason: 'test', askedBy: 'test' } as const;
    await storedActivations(store.db).record({ ...activation, at: instantOf(NOON) });
    // Nobody writes this any more.
    await store.db.knex('snapshot_parts').insert({
      ...{
        snapshot: digestOf(5),
        part: 0,
        bytes: Buffer.from('left'),
        written_at: new Date(NOON - STORED_LIMITS.unfinished),
      },
    });
    for (let number = 11; number <= 11 + STORED_LIMITS.kept; number += 1) await open().put(made(number));
    const kept = (await open().list()).map(({ snapshot }) => snapshot);
    expect(kept).toHaveLength(STORED_LIMITS.kept + 1);
    expect(kept).toContain(digestOf(10));
    expect(kept).not.toContain(digestOf(11));
    const parts = await store.db.knex<{ snapshot: string }>('snapshot_parts').distinct('snapshot');
    expect(new Set(parts.map(({ snapshot }) => snapshot))).toEqual(new Set(kept));
  });
});
