// A key in use takes no trip to the store, and no request that begins after a revocation was answered is served: not by a
// gateway that heard of it, not by one that hears nothing, and not while a look-up was under way.
import { afterEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { instantOf } from '../../../engine/index.js';
import { createKey, revokeKey } from '../../../server/auth/api-keys.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import { makeKeyAuthenticators } from '../../../server/auth/key-authenticator.js';
import type { Database } from '../../../server/db/database.js';
import { StoreError } from '../../../server/db/failures.js';
import { KEY_LIMITS } from '../../../server/limits/credentials.js';
import { ApiProblem } from '../../../server/problem.js';
import { describeOnStores } from '../../support/stores.js';

const NOW = instantOf(Date.parse('2027-01-01T00:00:00Z'));
const FIELDS = { actor: 'ada', identities: [], scopes: null, restrictions: null, expires: null, admin: false };
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const deaf: Database['listen'] = () => new Promise(() => undefined);

describeOnStores('a key that is remembered', (store) => {
  const opened: { readonly close: () => Promise<void> }[] = [];
  afterEach(async () => {
    for (const { close } of opened.splice(0)) await close();
  });

  /** What a gateway does with a key, and how often it asked the store. */
  function gateway(changed: Partial<Database> = {}) {
    const asked = { times: 0 };
    const vital: Database['vital'] = (statement, ...rest) => {
      if (statement.text.includes('api_keys')) asked.times += 1;
      return store.db.vital(statement, ...rest);
    };
    const db = { ...store.db, vital, ...changed };
    const doors = makeKeyAuthenticators({ db, fingerprint: makeFingerprinter(Buffer.alloc(32, 1)), log: silent });
    const { actors } = doors;
    // One that listens for ever has nothing to close.
    if (changed.listen === undefined) opened.push(actors);
    const enter = async (text: string, door: keyof typeof doors = 'actors'): Promise<string> => {
      const credential = doors[door].credentialOf({ bearer: text, certificate: null, address: '192.0.2.1' });
      try {
        return (await credential?.authenticate(NOW))?.id ?? 'nobody';
      } catch (error) {
        return error instanceof ApiProblem ? String(error.detail.fault) : String(error);
      }
    };
    return { asked, enter };
  }

  const made = async (more: object = {}) => {
    const { text, key } = await createKey(store.db, { ...FIELDS, ...more }, NOW);
    return { text, id: key.id };
  };

  it('takes few trips, however many requests bring it', async () => {
    const { text } = await made();
    const { asked, enter } = gateway();
    const until = performance.now() + 2 * KEY_LIMITS.lease;
    let served = 0;
    while (performance.now() < until) {
      expect(await enter(text)).toBe('ada');
      served += 1;
      await sleep(1);
    }
    expect(served).toBeGreaterThan(50);
    // One at the beginning, one where the news of listening came, and one for each half of a lease.
    expect(asked.times).toBeLessThanOrEqual(2 + 5);
  });

  it('is refused by every gateway from the moment that its revocation is answered', async () => {
    const { text, id } = await made();
    // A store that answers this gateway's look-ups late: with what it read before the revocation.
    const late: Database['vital'] = async <Row>(...parameters: Parameters<Database['vital']>) => {
      const rows = await store.db.vital<Row>(...parameters);
      await sleep(KEY_LIMITS.lease / 2);
      return rows;
    };
    const gateways = [gateway(), gateway({ listen: deaf }), gateway({ listen: deaf, vital: late })];
    let answered = Infinity;
    let over = false;
    const served: { readonly begun: number; readonly answer: string }[] = [];
    const clients = gateways.flatMap(({ enter }) =>
      Array.from({ length: 3 }, async () => {
        while (!over) {
          const begun = performance.now();
          served.push({ begun, answer: await enter(text) });
          await sleep(2);
        }
      }),
    );
    await sleep(KEY_LIMITS.lease);
    expect(await revokeKey(store.db, { id, now: NOW })).toMatchObject({ at: NOW });
    answered = performance.now();
    await sleep(KEY_LIMITS.lease);
    over = true;
    await Promise.all(clients);
    expect(served.filter(({ answer }) => answer === 'ada').length).toBeGreaterThan(50);
    const after = served.filter(({ begun }) => begun > answered);
    expect(after.length).toBeGreaterThan(20);
    expect(new Set(after.map(({ answer }) => answer))).toEqual(new Set(['revoked']));
  });

  it('is refused at once by a gateway that hears of it, before the revocation is answered', async () => {
    const { text, id } = await made();
    const { enter } = gateway();
    // Until it listens.
    const begun = performance.now();
    while (performance.now() - begun < 300) {
      expect(await enter(text)).toBe('ada');
      await sleep(5);
    }
    let isAnswered = false;
    const revoking = revokeKey(store.db, { id, now: NOW }).then(() => (isAnswered = true));
    while ((await enter(text)) === 'ada') await sleep(5);
    expect(isAnswered).toBe(false);
    await revoking;
  });

  it('is believed with its own secret alone: all else takes the trip to the store', async () => {
    const [known, other] = [await made(), await made()];
    const { asked, enter } = gateway({ listen: deaf });
    await enter(known.text);
    await enter(known.text);
    expect(asked.times).toBe(1);
    const wrong = `bwk_${known.id}_${other.text.slice(-43)}`;
    expect([await enter(wrong), await enter(wrong)]).toEqual(['wrong', 'wrong']);
    expect(asked.times).toBe(3);
    const unknown = `bwk_${'0'.repeat(16)}_${other.text.slice(-43)}`;
    expect([await enter(unknown), await enter(unknown)]).toEqual(['unknown', 'unknown']);
    expect(asked.times).toBe(5);
    expect(await enter(known.text)).toBe('ada');
    expect(asked.times).toBe(5);
  });

  it('is served no longer than its lease while the store is away', async () => {
    const { text } = await made();
    let isAway = false;
    const vital: Database['vital'] = (...parameters) =>
      isAway ? Promise.reject(new Error('away')) : store.db.vital(...parameters);
    const { enter } = gateway({ listen: deaf, vital });
    expect(await enter(text)).toBe('ada');
    isAway = true;
    expect(await enter(text)).toBe('ada');
    // As a revocation waits: a timer may fire a millisecond early.
    await sleep(KEY_LIMITS.lease + KEY_LIMITS.leaseMargin);
    expect(await enter(text)).not.toBe('ada');
  });

  it('is recalled after its lease for monitoring alone, with its own secret and for as long as it is valid', async () => {
    const [monitor, admin] = [await made({ monitor: true }), await made({ admin: true })];
    const brief = await made({ monitor: true, expires: instantOf(NOW + 1) });
    let failure: Error | null = null;
    const vital: Database['vital'] = (...parameters) =>
      failure === null ? store.db.vital(...parameters) : Promise.reject(failure);
    const { enter } = gateway({ listen: deaf, vital });
    const all = (): Promise<readonly string[]> =>
      Promise.all([monitor, admin, brief].map(({ text }) => enter(text, 'watchers')));
    expect(await all()).toEqual(['ada', 'ada', 'ada']);
    failure = new StoreError('store.unreachable', 'away');
    await sleep(KEY_LIMITS.lease + KEY_LIMITS.leaseMargin);
    expect(await all()).toEqual(['ada', expect.stringContaining('away'), 'ada']);
    expect(await enter(`bwk_${monitor.id}_${admin.text.slice(-43)}`, 'watchers')).toMatch(/away/);
    expect(await enter(monitor.text)).toMatch(/away/);
    // What is no failure of the store is none here.
    failure = new TypeError('broken');
    expect(await enter(monitor.text, 'watchers')).toMatch(/broken/);
    failure = null;
    await revokeKey(store.db, { id: monitor.id, now: NOW });
    expect(await enter(monitor.text, 'watchers')).toBe('revoked');
    failure = new StoreError('store.unreachable', 'away');
    expect(await enter(monitor.text, 'watchers')).toMatch(/away/);
  });
});
