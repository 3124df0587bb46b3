// Rows of keys: what the store has is read exactly, and a row that no code of ours can have written is never a weaker key.
import { describe, expect, it, test } from '@jest/globals';
import { carriedNames, instantOf, scopeSetOf, unrestrictedPolicy } from '../../../engine/index.js';
import {
  createKey,
  findKeys,
  KeyRowError,
  listKeys,
  revokeKey,
  type StoredKey,
} from '../../../server/auth/api-keys.js';
import type { Database } from '../../../server/db/database.js';
import type { Writing } from '../../../server/db/writing.js';
import { KEY_LIMITS } from '../../../server/limits/credentials.js';
import { pathOf } from '../../support/gateway.js';
import { answerRows } from '../../support/row-answers.js';

const NOW = instantOf(Date.parse('2027-01-01T00:00:00Z'));

/** As the drivers give it. */
const ROW = {
  id: 'k',
  actor: 'ada',
  secret_hash: Buffer.alloc(32, 7),
  identities: [{ provider: 'orcid', subject: 'ada' }],
  scopes: null,
  restrictions: null,
  admin: false,
  decide: false,
  monitor: false,
  created_at: new Date(NOW),
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
};

async function decoded(more: object): Promise<StoredKey | null> {
  return (await findKeys({ vital: answerRows({ ...ROW, ...more }) }, ['k']))('k');
}

describe('a row', () => {
  it('is the key that was stored', async () => {
    expect(await decoded({})).toStrictEqual({
      id: 'k',
      actor: 'ada',
      secretHash: ROW.secret_hash,
      identities: [{ provider: 'orcid', subject: 'ada' }],
      scopes: null,
      restrictions: null,
      admin: false,
      decide: false,
      monitor: false,
      createdAt: NOW,
      expires: null,
      revokedAt: null,
      lastUsedAt: null,
    });
  });

  it('keeps each of its marks, narrowings and instants', async () => {
    expect(await decoded({ admin: true })).toMatchObject({ admin: true, decide: false, monitor: false });
    expect(await decoded({ decide: true })).toMatchObject({ admin: false, decide: true, monitor: false });
    expect(await decoded({ monitor: true })).toMatchObject({ admin: false, decide: false, monitor: true });
    const [expires, revoked, used] = [1, 2, 3].map((later) => new Date(NOW + later));
    expect(await decoded({ expires_at: expires, revoked_at: revoked, last_used_at: used })).toMatchObject({
      expires: NOW + 1,
      revokedAt: NOW + 2,
      lastUsedAt: NOW + 3,
    });
    const narrow = await decoded({ scopes: ['resource:read'], restrictions: ['/labs'] });
    expect(narrow?.restrictions).toEqual([pathOf('/labs')]);
    expect(carriedNames(narrow?.scopes ?? scopeSetOf([]), unrestrictedPolicy())).toEqual(['resource:read']);
    expect(await decoded({ scopes: [], restrictions: [], identities: [] })).toMatchObject({
      scopes: scopeSetOf([]),
      restrictions: [],
      identities: [],
    });
  });

  const { admin: _admin, ...unmarked } = ROW;
  test.each<[string, object]>([
    ['of two kinds', { admin: true, decide: true }],
    ['of two other kinds', { decide: true, monitor: true }],
    ['of two kinds that admins see', { admin: true, monitor: true }],
    ['without a hash', { secret_hash: null }],
    ['with a text for a hash', { secret_hash: '\\x07' }],
    ['without the instant that it was made at', { created_at: null }],
    ['with a number for a mark', { admin: 0 }],
    ['with a text for a mark', { monitor: 'f' }],
    ['without a mark', { decide: undefined }],
    ['without a name', { actor: '' }],
    ['with a number for a name', { actor: 7 }],
    ['with no identities', { identities: null }],
    ['with identities that are no list', { identities: {} }],
    ['with an identity that is no object', { identities: [7] }],
    ['with an identity that is null', { identities: [null] }],
    ['with an identity of nobody', { identities: [{ provider: 'orcid', subject: '' }] }],
    ['with an identity of no provider', { identities: [{ subject: 'ada' }] }],
    ['with no column of scopes', { scopes: undefined }],
    ['with a text for scopes', { scopes: 'resource:read' }],
    ['with a scope that does not exist', { scopes: ['resource:delete'] }],
    ['with no column of restrictions', { restrictions: undefined }],
    ['with a restriction that is no path', { restrictions: ['/La bs'] }],
    ['with an expiry in text', { expires_at: '2027-01-01' }],
    ['with an expiry that is no instant', { expires_at: new Date(NaN) }],
    ['with no column of revocations', { revoked_at: undefined }],
  ])('%s is no key', async (_, more) => {
    await expect(decoded(more)).rejects.toThrow(KeyRowError);
    await expect(decoded(more)).rejects.toMatchObject({ name: 'KeyRowError', message: expect.stringMatching(/\w/) });
  });

  it('that is none, or has no column at all, is no key either', async () => {
    expect((await findKeys({ vital: answerRows() }, ['k']))('k')).toBeNull();
    expect((await findKeys({ vital: answerRows({ ...unmarked }) }, ['k']))('other')).toBeNull();
    await expect(listKeys({ rows: answerRows(unmarked) })).rejects.toThrow(KeyRowError);
    for (const row of [null, 7]) await expect(listKeys({ rows: answerRows(row) })).rejects.toThrow('not an object');
  });

  it('that is listed shows no hash', async () => {
    const [key] = await listKeys({ rows: answerRows(ROW) });
    expect(key).toMatchObject({ id: 'k', actor: 'ada' });
    expect(key).not.toHaveProperty('secretHash');
  });
});

describe('a new key', () => {
  test.each([
    [true, true],
    [false, false],
    [undefined, false],
  ])('that may ask about others: %p, is stored so', async (decide, stored) => {
    const asked: unknown[][] = [];
    const rows: Database['rows'] = (statement) => {
      asked.push([...statement.bindings]);
      return Promise.resolve([]);
    };
    const fields = { actor: 'ada', identities: [], scopes: null, restrictions: null, expires: null, admin: false };
    const { key } = await createKey({ rows }, { ...fields, ...(decide === undefined ? {} : { decide }) }, NOW);
    expect(key).toMatchObject({ monitor: false, createdAt: NOW, revokedAt: null, lastUsedAt: null });
    // Three marks in the order of the columns: admin, decide, monitor.
    expect(asked[0]?.filter((value) => typeof value === 'boolean')).toEqual([false, stored, false]);
  });
});

describe('a revocation', () => {
  /** A store whose update finds this row. */
  function revoking(row: object | null) {
    const announced: unknown[] = [];
    const rows: Writing['rows'] = (statement) => {
      const isUpdate = statement.text.includes('UPDATE api_keys');
      if (!isUpdate) announced.push(statement.bindings);
      return (isUpdate && row !== null ? answerRows(row) : answerRows())();
    };
    const write: Database['write'] = (work) => work({ rows, run: () => undefined });
    return { announced, db: { write } };
  }
  const REVOKED = { ...ROW, revoked_at: new Date(NOW) };

  it('says what the key was, and does what goes with it, before it is answered', async () => {
    const [sound, broken] = [revoking(REVOKED), revoking({ ...REVOKED, scopes: ['resource:delete'] })];
    const beside: unknown[] = [];
    const besides = (_: unknown, found: unknown): Promise<void> => {
      beside.push(found);
      return Promise.resolve();
    };
    const begun = performance.now();
    const [revoked, unreadable] = await Promise.all([
      revokeKey(sound.db, { id: 'k', now: NOW, beside: besides }),
      // A row that is no key can be revoked nevertheless.
      revokeKey(broken.db, { id: 'k', now: NOW }),
    ]);
    expect(performance.now() - begun).toBeGreaterThan(KEY_LIMITS.lease);
    expect(revoked).toMatchObject({ at: NOW, key: { actor: 'ada' } });
    expect(beside).toEqual([revoked]);
    expect(unreadable).toEqual({ at: NOW, key: null });
    for (const { announced } of [sound, broken]) expect(announced).toEqual([['bailiwick_keys', 'k']]);
  });

  it('of no key announces nothing, waits for nothing and is none', async () => {
    const { db, announced } = revoking(null);
    const begun = performance.now();
    expect(await revokeKey(db, { id: 'k', now: NOW })).toBeNull();
    expect(performance.now() - begun).toBeLessThan(KEY_LIMITS.lease);
    expect(announced).toEqual([]);
  });
});
