// Gateways of one store follow its newest activation, whoever recorded it: a source, an admin, another gateway. What cannot be served
// stays out and is told, and what was in force before stays.
import { afterEach, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Instant, instantOf, loadSnapshot } from '../../../engine/index.js';
import { keepSnapshots } from '../../../server/audit/keep-snapshots.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { NEWEST_LOCK } from '../../../server/db/migrations/0005-newest.js';
import { STORED_LIMITS } from '../../../server/limits/policy.js';
import { type ActivePolicy, type Labels, makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { type Activator, makeActivator } from '../../../server/policy/active/activator.js';
import { ACTIVATIONS_CHANNEL } from '../../../server/policy/store/activations.js';
import { followActivations } from '../../../server/policy/store/follow-activations.js';
import { isLeaseExpired } from '../../../server/policy/active/staleness.js';
import { startPolicy, type Started } from '../../../server/policy/active/start-policy.js';
import type { Poller } from '../../../server/lib/poller.js';
import { A, B, C, make, type Made, makeLarge } from '../../support/followed-policy.js';
import { mislabelled } from '../../support/mislabelled.js';
import { describeOnStores } from '../../support/stores.js';

const clock = { now: (): Instant => instantOf(Date.now()) };
const FILE = { kind: 'file', path: '/srv/snapshot.json' } as const;

interface TestGateway {
  readonly policies: ActivePolicy;
  readonly activator: Activator;
  readonly follower: Poller;
  readonly lines: readonly string[];
  readonly kept: ReadonlySet<string>;
  readonly offer: (made: Made, labels?: Labels, after?: number) => ReturnType<Activator['offer']>;
  readonly digest: () => string;
  /** How often it has asked which activation is the newest. */
  readonly asked: () => number;
  /** From now on nothing of this kind is answered, until what is returned is called. An error is then the only answer. */
  readonly hold: (what: 'newest' | 'parts' | 'keep' | 'write') => (error?: Error) => void;
}

describeOnStores('gateways', (store) => {
  const opened: { readonly db: Database; readonly gateway: TestGateway }[] = [];
  const releases: (() => void)[] = [];
  let partsRead = 0;
  afterEach(async () => {
    for (const release of releases.splice(0)) release();
    for (const { db, gateway } of opened.splice(0)) {
      await gateway.follower.stop();
      await db.close();
    }
    for (const table of ['activations', 'snapshots', 'snapshot_parts']) await store.db.knex(table).del();
  });

  function start(db: Database, offered: Made | null): Promise<Started | null> {
    const offer = offered && { ...offered, statement: null, labels: 'verified' as const, from: FILE };
    return startPolicy({ db, offered: offer, rule: null, clock });
  }

  /** A process of its own to the store. */
  async function open(offered: Made | null = A, limits = {}): Promise<TestGateway> {
    const own = await openDatabase({ ...store.config, ...limits });
    let asked = 0;
    const free = Promise.resolve();
    const held = { newest: free, parts: free, keep: free, write: free };
    const hold: TestGateway['hold'] = (what) => {
      let release: (error?: Error) => void = () => undefined;
      held[what] = new Promise((resolve, reject) => {
        release = (error) => {
          if (error === undefined) resolve();
          else reject(error);
        };
      });
      releases.push(release);
      return release;
    };
    const db: Database = {
      ...own,
      rows: async (statement) => {
        if (statement.text.includes('FROM snapshot_parts')) {
          partsRead += 1;
          await held.parts;
        }
        return own.rows(statement);
      },
      write: async (work) => {
        await held.write;
        return own.write(work);
      },
      vital: async (statement) => {
        asked += 1;
        await held.newest;
        return own.vital(statement);
      },
    };
    const started = await start(db, offered);
    if (started === null) throw new Error('no policy');
    const lines: string[] = [];
    const line = (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void lines.push(`${typeof fields['code'] === 'string' ? fields['code'] : ''} ${message}`.trim());
    const log = { info: () => undefined, warn: line, error: line };
    const kept = new Set<string>();
    const { keep } = keepSnapshots((digest) => held.keep.then(() => void kept.add(digest)), log);
    const policies = makeActivePolicy(started.candidate, { clock, log, generation: started.generation });
    const activator = makeActivator({ db, policies, rule: null, clock, log, keep });
    const follower = followActivations({ db, activator, policies, log, confirmedBy: 'source' });
    const offer: TestGateway['offer'] = (made, labels = 'verified', after = activator.newest()) =>
      activator.offer({
        verified: { ...made, labels, statement: null },
        ...{ from: FILE, after, onReturned: () => undefined },
      });
    const gateway = {
      policies,
      activator,
      follower,
      lines,
      kept,
      offer,
      digest: () => policies.current().policy.digest,
      asked: () => asked,
      hold,
    };
    opened.push({ db, gateway });
    return gateway;
  }

  async function until(isSo: () => boolean, most = 60_000): Promise<number> {
    const from = performance.now();
    while (!isSo() && performance.now() - from < most) await sleep(5);
    expect(isSo()).toBe(true);
    return performance.now() - from;
  }

  it('serve what one of them was offered within a second, opened from the store, under the same generation', async () => {
    const [one, two, three] = [await open(), await open(), await open()];
    await sleep(300);
    expect(await one.offer(B)).toBe('taken');
    expect(one.digest()).toBe(B.policy.digest);
    expect(await until(() => [two, three].every(({ digest }) => digest() === B.policy.digest))).toBeLessThan(1_000);
    for (const { policies, kept } of [two, three]) {
      expect(policies.current()).toMatchObject({
        generation: 2,
        source: { kind: 'store' },
        reason: 'changed at its source',
        labels: 'verified',
      });
      expect([...kept]).toEqual([B.policy.digest]);
    }
  });

  it('roll back together, and no source undoes it before it has offered another; a restart does neither', async () => {
    const [one, two] = [await open(), await open()];
    await one.offer(B);
    const back = {
      kind: 'rolled_back',
      snapshot: A.policy.digest,
      reason: 'the labs complain',
      askedBy: 'ana',
    } as const;
    expect(await two.activator.choose(back)).toMatchObject({ generation: 3 });
    await until(() => one.digest() === A.policy.digest);
    for (const gateway of [one, two]) expect(await gateway.offer(B)).toBe('taken');
    expect([one, two].map(({ digest }) => digest())).toEqual([A.policy.digest, A.policy.digest]);
    const restarted = await open(B);
    expect([restarted.digest(), restarted.policies.current().generation]).toEqual([A.policy.digest, 3]);
    await two.offer(C);
    await until(() => [one, two, restarted].every(({ digest }) => digest() === C.policy.digest));
    expect(await one.offer(B)).toBe('taken');
    expect(one.policies.current()).toMatchObject({ generation: 5, policy: { digest: B.policy.digest } });
  });

  it('can all open what one of them has chosen, although it made room for others while it was opened', async () => {
    const [one, two] = [await open(), await open()];
    await one.offer(B);
    await until(() => two.digest() === B.policy.digest);
    const keep = one.hold('keep');
    const choice = { kind: 'rolled_back', snapshot: A.policy.digest, reason: 'back', askedBy: 'ana' } as const;
    const chosen = one.activator.choose(choice);
    const { snapshots } = two.activator;
    for (let more = 0; (await snapshots.find(A.policy.digest)) !== null; more += 1)
      await snapshots.put({ ...make(`/m${String(more)}`), labels: 'verified', statement: null, at: clock.now() });
    keep();
    expect(await chosen).toMatchObject({ generation: 3 });
    await until(() => two.digest() === A.policy.digest);
    expect(two.policies.state().lag).toBeNull();
  });

  it('converge where all are offered something else at once', async () => {
    const gateways = [await open(), await open(), await open()];
    const offers = [B, C, A, C, B, C];
    await Promise.all(offers.flatMap((made, index) => gateways[index % 3]?.offer(made) ?? []));
    const newest = await gateways[0]?.activator.activations.newest();
    await until(() => gateways.every(({ digest }) => digest() === newest?.snapshot));
    const generations = gateways.map(({ policies }) => policies.current().generation);
    expect(generations).toEqual(generations.map(() => newest?.generation));
  });

  it('find a new activation without any announcement, too', async () => {
    const [one, two] = [await open(), await open()];
    await sleep(300);
    const { generation } = two.policies.current();
    await one.activator.snapshots.put({ ...B, labels: 'verified', statement: null, at: clock.now() });
    await store.db.knex('activations').insert({
      ...{ generation: generation + 1, kind: 'activated', policy: 'followed', snapshot: B.policy.digest },
      ...{ decisions: B.policy.decisions, reason: 'written by hand', asked_by: 'test', activated_at: new Date() },
    });
    expect(await until(() => two.digest() === B.policy.digest)).toBeLessThan(1_000);
  });

  it('keep what they have where the newest cannot be opened, tell why once, and take the next', async () => {
    const [one, two] = [await open(), await open()];
    await one.offer(B);
    await until(() => two.digest() === B.policy.digest);
    await one.activator.snapshots.put({ ...C, labels: 'verified', statement: null, at: clock.now() });
    await store.db
      .knex('snapshot_parts')
      .where({ snapshot: C.policy.digest })
      .update({ bytes: randomBytes(200) });
    await expect(one.offer(C)).resolves.toBe('taken');
    await until(() => two.policies.state().lag !== null);
    expect(two.policies.state().lag).toMatchObject({ code: 'snapshot.damaged' });
    await two.follower.pollNow();
    expect(two.digest()).toBe(B.policy.digest);
    expect(two.lines).toEqual([expect.stringMatching(/^snapshot\.damaged the newest activation was refused/)]);
    await one.activator.snapshots.put({ ...C, labels: 'verified', statement: null, at: clock.now() });
    await two.follower.pollNow();
    expect([two.digest(), two.policies.state().lag]).toEqual([C.policy.digest, null]);
  });

  it('are not kept busy by announcements, which anybody who reaches the store can send', async () => {
    const [one, two] = [await open(), await open()];
    await one.activator.snapshots.put({ ...C, labels: 'verified', statement: null, at: clock.now() });
    await store.db
      .knex('snapshot_parts')
      .where({ snapshot: C.policy.digest })
      .update({ bytes: randomBytes(200) });
    await one.offer(C);
    await until(() => two.policies.state().lag !== null);
    const before = partsRead;
    const start = performance.now();
    while (performance.now() - start < 1_000)
      await store.db.knex.raw(`SELECT pg_notify('bailiwick_activations', n::text) FROM generate_series(1, 500) AS n`);
    expect(partsRead - before).toBe(0);
    await two.follower.pollNow();
    expect(partsRead - before).toBe(1);
  });

  it('are not taken back by a store that was restored from an older copy', async () => {
    const one = await open();
    await one.offer(B);
    await store.db.knex('activations').where({ generation: 2 }).del();
    await one.follower.pollNow();
    expect([one.digest(), one.policies.state().lag?.code]).toEqual([B.policy.digest, 'activation.lost']);
    await one.activator.snapshots.put({ ...C, labels: 'verified', statement: null, at: clock.now() });
    const choice = { kind: 'activated', snapshot: C.policy.digest, reason: 'again', askedBy: 'ana' } as const;
    expect(await one.activator.choose(choice)).toMatchObject({ policy: { digest: C.policy.digest } });
    expect([one.digest(), one.policies.state().lag]).toEqual([C.policy.digest, null]);
  });

  it('say so where the store was restored from a copy without any activation', async () => {
    const one = await open();
    await one.follower.pollNow();
    await store.db.knex('activations').del();
    await one.follower.pollNow();
    expect([one.digest(), one.policies.state().lag?.code]).toEqual([A.policy.digest, 'activation.lost']);
  });

  it('return to what was in force before a false label, even if the snapshot was activated again while it was checked', async () => {
    const one = await open();
    const bad = mislabel(makeLarge('/b'));
    await one.activator.snapshots.put({ ...bad, labels: 'unverified', statement: null, at: clock.now() });
    const choice = { kind: 'activated', snapshot: bad.policy.digest, reason: 'new', askedBy: 'ana' } as const;
    const [chosen, offered] = await Promise.all([one.activator.choose(choice), one.offer(bad, 'unverified', 2)]);
    expect([chosen.generation, offered]).toEqual([2, 'taken']);
    await until(() => one.policies.current().generation > 3, 10_000);
    expect(one.policies.current()).toMatchObject({ generation: 4, policy: { digest: A.policy.digest } });
    expect((await one.activator.activations.newest())?.snapshot).toBe(A.policy.digest);
  });

  function mislabel(made: Made): Made {
    const bytes = mislabelled(made.bytes);
    const loaded = loadSnapshot(bytes);
    if (!loaded.ok) throw new Error(loaded.fault.message);
    return { ...made, bytes, policy: loaded.policy };
  }

  it('return to no policy that carries a false label itself', async () => {
    const one = await open();
    const [first, second] = [mislabel(makeLarge('/b')), mislabel(makeLarge('/c'))];
    await Promise.all([one.offer(first, 'unverified'), one.offer(second, 'unverified', 2)]);
    await until(() => one.lines.filter((line) => line.includes('carries a false label')).length === 2, 10_000);
    await until(() => one.digest() === A.policy.digest, 10_000);
    expect((await one.activator.activations.newest())?.snapshot).toBe(A.policy.digest);
    await expect(one.offer(first, 'unverified')).rejects.toMatchObject({ fault: { code: 'snapshot.label' } });
  });

  it('return to no policy that another of them knows to be false', async () => {
    const one = await open();
    await one.offer(B);
    await store.db.knex('snapshots').where({ snapshot: B.policy.digest }).update({ labels: 'false' });
    await one.offer(mislabel(C), 'unverified');
    await until(() => one.digest() === A.policy.digest, 10_000);
    await store.db.knex('snapshots').where({ snapshot: A.policy.digest }).update({ labels: 'false' });
    const last = mislabel(make('/d'));
    await one.offer(last, 'unverified');
    await until(() => one.lines.some((line) => line.includes('no earlier policy')), 10_000);
    expect(one.digest()).toBe(last.policy.digest);
  });

  it('return from a false label together, as soon as the store notes it', async () => {
    const [one, two, bad] = [await open(), await open(), mislabel(makeLarge('/b'))];
    const offered = one.offer(bad, 'unverified');
    // From here on it is checked, which takes longer than the next look. The end of the offer may take longer than that.
    await until(() => one.digest() === bad.policy.digest, 10_000);
    one.hold('write')(new Error('the store is gone'));
    await offered;
    await until(() => two.digest() === bad.policy.digest && one.digest() === A.policy.digest, 10_000);
    one.hold('write')();
    await until(() => two.digest() === A.policy.digest, 10_000);
    expect(two.policies.current()).toMatchObject({ generation: 3, askedBy: 'gateway' });
    expect([one.policies.current().generation, one.policies.state().lag]).toEqual([3, null]);
  });

  // The embedded store has one transaction at a time, so an activation never waits there.
  if (store.name === 'postgres') {
    it('check the labels of a policy even if its activation could not be answered, and answer when it is repeated', async () => {
      const [one, inDoubt] = [await open(A, { statementTimeout: 500 }), { code: 'store.timeout', isInDoubt: true }];
      const offer = (made: Made): ReturnType<Activator['offer']> => one.offer(made, 'unverified');
      const choose = async (made: Made): Promise<unknown> => {
        await one.activator.snapshots.put({ ...made, labels: 'unverified', statement: null, at: clock.now() });
        return one.activator.choose({ kind: 'activated', snapshot: made.policy.digest, reason: 'now', askedBy: 'ana' });
      };
      for (const [made, activate] of [
        [B, offer],
        [C, choose],
      ] as const) {
        await store.db.transaction(async (create) => {
          await create.raw('SELECT pg_advisory_xact_lock_shared(?, ?)', [NEWEST_LOCK.group, NEWEST_LOCK.one]);
          for (const _ of [1, 2]) await expect(activate(made)).rejects.toMatchObject(inDoubt);
        });
        await activate(made);
        await until(() => one.policies.current().labels === 'verified');
        expect(one.digest()).toBe(made.policy.digest);
      }
    });
  }

  const isSilent = ({ policies }: TestGateway): boolean => isLeaseExpired(policies.state());

  it('decide nothing once the store is silent, even while they open what is the newest', async () => {
    const [one, two] = [await open(), await open()];
    const [before, read] = [partsRead, two.hold('parts')];
    await one.offer(B);
    await until(() => partsRead > before);
    const answer = two.hold('newest');
    await until(() => isSilent(two), 10_000);
    answer(new Error('the connection is gone'));
    await until(() => two.policies.state().lag?.code === 'activation.unknown', 10_000);
    two.hold('newest')();
    await until(() => !isSilent(two) && two.policies.state().lag === null, 10_000);
    expect(two.digest()).toBe(A.policy.digest);
    read();
    await until(() => two.digest() === B.policy.digest);
  });

  it('learn what others activate while they take an offer, which then comes too late, or decide nothing', async () => {
    const [one, two] = [await open(), await open()];
    const keep = two.hold('keep');
    const offered = two.offer(C);
    await one.offer(B);
    await until(() => two.activator.newest() === 2, 10_000);
    const answer = two.hold('newest');
    await until(() => isSilent(two), 10_000);
    answer();
    await until(() => !isSilent(two), 10_000);
    keep();
    expect(await offered).toBe('again');
    await until(() => two.digest() === B.policy.digest);
    expect([two.policies.current().generation, two.policies.state().lag]).toEqual([2, null]);
  });

  it('put in force what the disk of their audit logs does not take, or refuses, and keep it later', async () => {
    const [one, two] = [await open(), await open()];
    const gateways = [one, two];
    const hung = gateways.map(({ hold }) => hold('keep'));
    expect(await one.offer(B)).toBe('taken');
    await until(() => two.digest() === B.policy.digest);
    for (const { lines, kept } of gateways) {
      expect(lines).toEqual([expect.stringContaining('the disk has not taken a snapshot')]);
      expect([...kept]).toEqual([]);
    }
    for (const free of hung) free();
    await until(() => gateways.every(({ kept }) => kept.has(B.policy.digest)));
    for (const { hold } of gateways) hold('keep')(new Error('the disk is full'));
    expect(await one.offer(C)).toBe('taken');
    await until(() => two.digest() === C.policy.digest);
    for (const { lines } of gateways) expect(lines.at(-1)).toContain('could not be kept beside the audit log');
    for (const { hold } of gateways) hold('keep')();
    await until(() => gateways.every(({ kept }) => kept.has(C.policy.digest)));
  });

  it('keep what they chose themselves where they asked before it was chosen, and ask once a look', async () => {
    const one = await open();
    await one.follower.pollNow();
    const answer = one.hold('newest');
    const [before, looked, heard] = [one.asked(), one.follower.pollNow(), new Set<unknown>()];
    await until(() => one.asked() > before);
    const listening = await store.db.listen(ACTIVATIONS_CHANNEL, (payload) => heard.add(payload));
    await one.offer(B);
    answer();
    await looked;
    expect([one.digest(), one.policies.state().lag]).toEqual([B.policy.digest, null]);
    // Its own choice is announced to it, too, and makes it look.
    await until(() => heard.size > 0, 10_000);
    await Promise.all([listening.close(), one.follower.pollNow()]);
    const [again, from] = [one.asked(), performance.now()];
    await sleep(2_000);
    const most = Math.ceil((performance.now() - from) / STORED_LIMITS.poll) + 1;
    expect(one.asked() - again).toBeLessThanOrEqual(most);
  });

  it('begin with the newest activation where no policy is named, and with nothing where there is none', async () => {
    expect(await start(store.db, null)).toBeNull();
    const one = await open();
    await one.offer(B);
    const two = await open(null);
    expect(two.policies.current()).toMatchObject({
      ...{ generation: 2, source: { kind: 'store' }, policy: { digest: B.policy.digest } },
    });
    await store.db.knex('snapshot_parts').where({ snapshot: B.policy.digest }).del();
    await expect(start(store.db, null)).rejects.toMatchObject({
      name: 'PolicyRefused',
      fault: { code: 'snapshot.damaged', message: expect.stringContaining('activation 2') },
    });
  });
});
