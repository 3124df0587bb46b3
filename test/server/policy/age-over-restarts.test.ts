// A policy is no younger after a restart: the store knows when a source last confirmed what is in force.
import { afterEach, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Instant, instantOf } from '../../../engine/index.js';
import { makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { makeActivator } from '../../../server/policy/active/activator.js';
import { followSource } from '../../../server/policy/active/follow-source.js';
import { ageOf } from '../../../server/policy/active/staleness.js';
import { startPolicy, type Started } from '../../../server/policy/active/start-policy.js';
import { makePathSource } from '../../../server/policy/sources/path-source.js';
import { storedActivations } from '../../../server/policy/store/activations.js';
import { A, B, type Made } from '../../support/followed-policy.js';
import { describeOnStores } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

const clock = { now: (): Instant => instantOf(Date.now()) };
const FILE = { kind: 'file', path: '/srv/snapshot.json' } as const;
const HOUR = 3_600_000;
/** Longer than a busy machine takes. */
const SOON = 60_000;
const NEVER = 24 * HOUR;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

describeOnStores('the age of a policy', (store) => {
  afterEach(async () => {
    for (const table of ['activations', 'confirmations', 'snapshots', 'snapshot_parts'])
      await store.db.knex(table).del();
  });

  async function start(offered: Made | null): Promise<Started> {
    const offer = offered && { ...offered, statement: null, labels: 'verified' as const, from: FILE };
    const started = await startPolicy({ db: store.db, offered: offer, rule: null, clock });
    if (started === null) throw new Error('no policy');
    return started;
  }
  /** As if the source had last confirmed it so many milliseconds ago. */
  const confirmed = async (ago: number): Promise<void> => {
    await store.db.knex.raw('UPDATE confirmations SET confirmed_at = now() - make_interval(secs => ?)', [ago / 1000]);
  };
  const ageAtStart = async (): Promise<number> => (await start(null)).age;

  it('begins with an offer, and goes on where the next start finds no source', async () => {
    expect((await start(A)).age).toBe(0);
    expect(await ageAtStart()).toBeLessThan(SOON);
    await confirmed(3 * HOUR);
    expect(Math.abs((await ageAtStart()) - 3 * HOUR)).toBeLessThan(SOON);
    expect((await start(A)).age).toBe(0);
    expect(await ageAtStart()).toBeLessThan(SOON);
  });

  it('begins with an offer of what is in force also where the store takes no writes, and is not noted then', async () => {
    await start(A);
    await confirmed(3 * HOUR);
    await store.db.knex.raw(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'read-only' USING ERRCODE = '25006'; END $$`);
    try {
      for (const table of ['snapshots', 'confirmations'])
        await store.db.knex.raw(
          `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION refuse()`,
        );
      expect((await start(A)).age).toBe(0);
      expect(Math.abs((await ageAtStart()) - 3 * HOUR)).toBeLessThan(SOON);
      await expect(start(B)).rejects.toMatchObject({ code: '25006' });
    } finally {
      await store.db.knex.raw('DROP FUNCTION refuse CASCADE');
    }
  });

  it('counts from the activation in a store that does not know when it was confirmed', async () => {
    await start(A);
    await store.db.knex('confirmations').del();
    await store.db.knex('activations').update({ activated_at: new Date(Date.now() - 5 * HOUR) });
    expect(Math.abs((await ageAtStart()) - 5 * HOUR)).toBeLessThan(SOON);
  });

  it('is more than any limit where the clock was set back since', async () => {
    await start(A);
    await confirmed(-HOUR);
    expect(await ageAtStart()).toBeGreaterThan(20 * 365 * 24 * HOUR);
    await confirmed(-1_000);
    expect(await ageAtStart()).toBe(0);
    await confirmed(-HOUR);
    await start(A);
    expect(await ageAtStart()).toBeLessThan(SOON);
  });

  it('is that of what another gateway was told by its source, also where it is taken over while this one runs', async () => {
    const { candidate, generation } = await start(A);
    const policies = makeActivePolicy(candidate, { clock, log, generation });
    const here = makeActivator({ db: store.db, policies, rule: null, clock, log });
    await start(B);
    await confirmed(2 * HOUR);
    expect(await here.catchUp('now', new AbortController().signal)).toBeNull();
    expect(policies.current().policy.digest).toBe(B.policy.digest);
    expect(Math.abs(ageOf(policies.state(), clock.now()) - 2 * HOUR)).toBeLessThan(SOON);
    await storedActivations(store.db).confirm(policies.current().generation);
    expect(await ageAtStart()).toBeLessThan(SOON);
    here.close();
  });

  it('begins anew each time that the source has it, also if somebody chose another since, and not while it is away', async () => {
    const path = join(await makeFolder(), 'snapshot.json');
    writeFileSync(path, A.bytes);
    const { candidate, generation } = await start(A);
    const policies = makeActivePolicy(candidate, { clock, log, generation });
    const activator = makeActivator({ db: store.db, policies, rule: null, clock, log });
    const source = await makePathSource(path);
    const follow = { rule: null, policies, activator, clock, log, interval: NEVER };
    const look = async (): Promise<void> => {
      const watch = followSource({ ...follow, source });
      await watch.pollNow();
      await watch.stop();
    };
    await confirmed(3 * HOUR);
    await look();
    expect(await ageAtStart()).toBeLessThan(SOON);
    await activator.snapshots.put({ ...B, labels: 'verified', statement: null, at: clock.now() });
    await activator.choose({ kind: 'activated', snapshot: B.policy.digest, reason: 'test', askedBy: 'ana' });
    await confirmed(3 * HOUR);
    await look();
    expect(await ageAtStart()).toBeLessThan(SOON);
    await confirmed(3 * HOUR);
    writeFileSync(path, '{}');
    await look();
    expect(Math.abs((await ageAtStart()) - 3 * HOUR)).toBeLessThan(SOON);
    activator.close();
  });
});
