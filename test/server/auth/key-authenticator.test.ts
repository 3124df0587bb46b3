// Keys as evidence: which door takes which, why the others are refused, and what is noted of those that are used.
import { beforeEach, describe, expect, it, test } from '@jest/globals';
import { type Instant, instantOf } from '../../../engine/index.js';
import type { AnonymousSettings } from '../../../server/auth/anonymous.js';
import type { Authenticator } from '../../../server/auth/authenticator.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import { type KeyAuthenticators, makeKeyAuthenticators } from '../../../server/auth/key-authenticator.js';
import { formatKey, hashSecret, makeKeyText } from '../../../server/auth/key-text.js';
import { KEY_LIMITS } from '../../../server/limits/credentials.js';
import { judged } from '../../support/refused-credential.js';
import { answerRows } from '../../support/row-answers.js';
import { until } from '../../support/until.js';

type Door = keyof KeyAuthenticators;

const NOW = instantOf(Date.parse('2027-01-01T00:00:00Z'));
const ADA = { provider: 'orcid', subject: 'ada' };
const fingerprint = makeFingerprinter(Buffer.alloc(32, 1));
const later = (time: number): Instant => instantOf(NOW + time);

let lines: unknown[][];
const line = (...said: unknown[]): void => void lines.push(said);
const log = { info: line, warn: line, error: line };
beforeEach(() => {
  lines = [];
});

/** A gateway whose store has one key: its row without what says otherwise. */
function gateway(row: object = {}, anonymous?: AnonymousSettings) {
  const parts = makeKeyText();
  const stored = {
    id: parts.id,
    actor: 'ada',
    secret_hash: hashSecret(parts.secret),
    identities: [],
    scopes: null,
    restrictions: null,
    admin: false,
    decide: false,
    monitor: false,
    created_at: new Date(NOW),
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    ...row,
  };
  const store = { vital: answerRows(stored), rows: answerRows(), asked: 0, noted: [] as unknown[] };
  const made = makeKeyAuthenticators({
    db: {
      vital: () => {
        store.asked += 1;
        return store.vital();
      },
      rows: ({ bindings }) => {
        store.noted.push(bindings[0]);
        return store.rows();
      },
      listen: () => Promise.resolve({ failure: null, close: () => Promise.resolve() }),
    },
    fingerprint,
    log,
    ...(anonymous === undefined ? {} : { anonymous }),
  });
  const credential = (bearer: string | null = formatKey(parts), door: Door = 'actors') => {
    const authenticator: Authenticator<{ readonly id: string }> = made[door];
    return authenticator.credentialOf({ bearer, certificate: null, address: '192.0.2.1' });
  };
  const enter = (at: Instant = NOW, door: Door = 'actors', bearer?: string): Promise<unknown> =>
    credential(bearer, door)?.authenticate(at) ?? Promise.resolve(null);
  const refusal = (...how: Parameters<typeof enter>): ReturnType<typeof judged> => judged(enter(...how));
  const otherSecret = formatKey({ id: parts.id, secret: makeKeyText().secret });
  return { store, parts, otherSecret, made, credential, enter, refusal };
}

const refused = (fault: string, reason: string): readonly string[] => [fault, reason];
const misdirected = (kind: string): readonly string[] =>
  refused('misdirected', `a key for ${kind}, which this listener does not take`);

describe('a key', () => {
  it('is judged by its own kind of credential alone', async () => {
    const { credential, made } = gateway();
    for (const door of ['actors', 'admins', 'watchers'] as const) {
      expect([made[door].name, made[door].issuers]).toEqual(['keys', []]);
      for (const bearer of ['', 'a.b.c', 'BWK_x']) expect(credential(bearer, door)).toBeNull();
    }
    expect(made.actors.credentialOf({ bearer: null, certificate: null, address: '' })).toBeNull();
    expect(credential('bwk_x')?.isUnproven).toBe(false);
    await expect(credential('bwk_x')?.authenticate(NOW)).rejects.toMatchObject({
      code: 'auth.invalid',
      detail: { fault: 'unreadable', reason: 'not a complete API key' },
    });
  });

  it('is who it was made for, with all that it was made with', async () => {
    const row = { identities: [ADA], scopes: ['resource:read'], restrictions: ['/labs'] };
    const { enter, parts } = gateway(row);
    const credentialFingerprint = fingerprint('key', parts.id);
    expect(await enter()).toMatchObject({
      kind: 'key',
      id: 'ada',
      identities: [ADA],
      namespaceRestrictions: ['/labs'],
      credentialFingerprint,
      mayAsk: false,
    });
    expect(await gateway({ decide: true }).enter()).toMatchObject({ kind: 'key', mayAsk: true });
    const [admin, monitor] = [gateway({ admin: true }), gateway({ monitor: true })];
    const admins = fingerprint('key', admin.parts.id);
    for (const door of ['admins', 'watchers'] as const)
      expect(await admin.enter(NOW, door)).toMatchObject({ kind: 'admin', id: 'ada', credentialFingerprint: admins });
    expect(await monitor.enter(NOW, 'watchers')).toMatchObject({
      kind: 'monitor',
      id: 'ada',
      credentialFingerprint: fingerprint('key', monitor.parts.id),
    });
  });

  const doors = ['actors', 'admins', 'watchers'] as const;
  const NO_DOOR = misdirected('no door');
  test.each<[string, object, readonly unknown[]]>([
    ['for data', {}, ['accepted', misdirected('data'), misdirected('data')]],
    ['for admins', { admin: true }, [misdirected('admins'), 'accepted', 'accepted']],
    ['for monitoring', { monitor: true }, [misdirected('monitoring'), misdirected('monitoring'), 'accepted']],
    ['for admins with an identity', { admin: true, identities: [ADA] }, [NO_DOOR, NO_DOOR, NO_DOOR]],
    ['for admins with scopes', { admin: true, scopes: [] }, [NO_DOOR, NO_DOOR, NO_DOOR]],
    ['for admins with restrictions', { admin: true, restrictions: [] }, [NO_DOOR, NO_DOOR, NO_DOOR]],
    ['for monitoring with an identity', { monitor: true, identities: [ADA] }, [NO_DOOR, NO_DOOR, NO_DOOR]],
  ])('%s is taken at its doors alone', async (_, row, expected) => {
    const { refusal } = gateway(row);
    expect(await Promise.all(doors.map((door) => refusal(NOW, door)))).toEqual(expected);
  });

  it('is refused for reasons that only the log tells', async () => {
    const { store, refusal, otherSecret } = gateway();
    expect(await refusal(NOW, 'actors', otherSecret)).toEqual(refused('wrong', 'wrong secret'));
    store.vital = answerRows();
    expect(await refusal()).toEqual(refused('unknown', 'unknown key'));
    const ended = gateway({ expires_at: new Date(NOW) });
    expect(await ended.refusal()).toEqual(refused('expired', 'expired'));
    expect(await ended.refusal(later(-1))).toBe('accepted');
    expect(await gateway({ revoked_at: new Date(later(9)) }).refusal()).toEqual(refused('revoked', 'revoked'));
  });

  it('with the identity of anonymous requests is refused, if there are any', async () => {
    const row = { identities: [{ provider: 'orcid', subject: 'eve' }, ADA] };
    expect(await gateway(row).refusal()).toBe('accepted');
    expect(await gateway(row, { identity: { provider: 'orcid', subject: 'bob' } }).refusal()).toBe('accepted');
    expect(await gateway(row, { identity: ADA }).refusal()).toEqual(
      refused('misdirected', 'a key with the identity of anonymous requests'),
    );
  });
});

describe('a key that was right', () => {
  it('needs no look-up, and counts as proven with its own secret alone', async () => {
    const { store, credential, enter, otherSecret } = gateway();
    expect([credential()?.isUnproven, await enter()]).toMatchObject([true, { id: 'ada' }]);
    await enter();
    expect([credential()?.isUnproven, credential(otherSecret)?.isUnproven]).toEqual([false, true]);
    expect(store.asked).toBe(1);
  });

  it('is not proven by what was refused', async () => {
    const { credential, refusal } = gateway({ expires_at: new Date(NOW) });
    await refusal();
    expect(credential()?.isUnproven).toBe(true);
    const admin = gateway({ admin: true });
    await admin.refusal(NOW, 'actors');
    expect(admin.credential()?.isUnproven).toBe(true);
    await admin.refusal(NOW, 'admins');
    expect(admin.credential()?.isUnproven).toBe(false);
  });

  it('is asked about again before its lease ends, and a store that fails then refuses nobody', async () => {
    const { store, enter } = gateway();
    await enter();
    store.vital = () => Promise.reject(new Error('away'));
    const half = performance.now() + KEY_LIMITS.lease / 2;
    await until(() => performance.now() >= half);
    for (let times = 0; times < 3; times += 1) expect(await enter()).toMatchObject({ id: 'ada' });
    await new Promise(setImmediate);
    expect(store.asked).toBe(2);
  });
});

describe('the use of a key', () => {
  const noted = async ({ made }: ReturnType<typeof gateway>): Promise<void> => {
    await made.actors.close();
  };

  it('is noted once a minute, by what the store said or what was noted since', async () => {
    const used = gateway({ last_used_at: new Date(NOW) });
    await used.enter(later(KEY_LIMITS.lastUsedInterval - 1));
    await noted(used);
    expect(used.store.noted).toEqual([]);
    await used.enter(later(KEY_LIMITS.lastUsedInterval));
    await noted(used);
    for (const time of [1, KEY_LIMITS.lastUsedInterval - 1])
      await used.enter(later(KEY_LIMITS.lastUsedInterval + time));
    await noted(used);
    expect(used.store.noted).toEqual(['2027-01-01T00:01:00.000Z']);
    await used.enter(later(2 * KEY_LIMITS.lastUsedInterval));
    await noted(used);
    expect(used.store.noted).toEqual(['2027-01-01T00:01:00.000Z', '2027-01-01T00:02:00.000Z']);
  });

  it('is noted one at a time, and whoever closes waits for it', async () => {
    const fresh = gateway();
    let write: () => void = () => undefined;
    fresh.store.rows = () =>
      new Promise((resolve) => {
        write = () => {
          resolve([]);
        };
      });
    await fresh.enter();
    await fresh.enter(later(10 * KEY_LIMITS.lastUsedInterval));
    expect(fresh.store.noted).toHaveLength(1);
    let isClosed = false;
    const closing = fresh.made.actors.close().then(() => (isClosed = true));
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    write();
    await closing;
    // It was noted at its first use: a later one is noted again.
    await fresh.enter(later(10 * KEY_LIMITS.lastUsedInterval));
    expect(fresh.store.noted).toHaveLength(2);
  });

  it('that cannot be noted is told to the operator, refuses nobody and is tried again after a minute', async () => {
    const fresh = gateway();
    const error = new Error('away');
    fresh.store.rows = () => Promise.reject(error);
    expect(await fresh.enter()).toMatchObject({ id: 'ada' });
    await noted(fresh);
    expect(lines).toEqual([[{ keyId: fresh.parts.id, error }, 'the last use of a key could not be noted']]);
    await fresh.enter(later(KEY_LIMITS.lastUsedInterval - 1));
    await noted(fresh);
    expect([fresh.store.noted.length, lines.length]).toEqual([1, 1]);
    fresh.store.rows = answerRows();
    await fresh.enter(later(KEY_LIMITS.lastUsedInterval));
    await noted(fresh);
    expect([fresh.store.noted.length, lines.length]).toEqual([2, 1]);
  });

  it.each(['25006', '53100', '42501'])(
    'that the store refuses with SQLSTATE %s is left to the lines about the store',
    async (code) => {
      const fresh = gateway();
      fresh.store.rows = () => Promise.reject(Object.assign(new Error('refused'), { code, severity: 'ERROR' }));
      for (let times = 0; times < 3; times += 1) {
        expect(await fresh.enter()).toMatchObject({ id: 'ada' });
        await noted(fresh);
      }
      expect([fresh.store.noted.length, lines]).toEqual([1, []]);
    },
  );

  it('is not noted of a key that was refused', async () => {
    const refusedKey = gateway({ expires_at: new Date(NOW) });
    await refusedKey.refusal();
    await noted(refusedKey);
    expect(refusedKey.store.noted).toEqual([]);
  });
});
