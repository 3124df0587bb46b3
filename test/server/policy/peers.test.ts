// Gateways of one store see one another: what each serves, who came, who left, and who has said nothing for long.
import { afterEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../server/db/database.js';
import { PEER_LIMITS } from '../../../server/limits/policy.js';
import { type ActivePolicy, makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { joinPeers, type Peers } from '../../../server/policy/store/peers.js';
import { makeIdSource, systemClock as clock } from '../../../server/lib/ports.js';
import { A, B } from '../../support/followed-policy.js';
import { SILENT } from '../../support/audit-log.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('gateways that see one another', (store) => {
  const open: Peers[] = [];
  afterEach(async () => {
    for (const { stop } of open.splice(0)) await stop();
  });

  const join = (db: Database = store.db): { readonly peers: Peers; readonly policies: ActivePolicy } => {
    const policies = makeActivePolicy({ policy: A.policy }, { clock, log: SILENT });
    const peers = joinPeers({ db, policies, clock, nextId: makeIdSource(), log: SILENT });
    open.push(peers);
    return { peers, policies };
  };
  const rows = async (): Promise<number> => (await store.db.knex('gateways').select('gateway')).length;
  const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await isSo())) await sleep(10);
  };

  it('are told at once what another serves that has just come, or has just taken another policy', async () => {
    const one = join();
    await until(async () => (await rows()) === 1);
    expect(one.peers.list()).toEqual([]);
    const two = join();
    await until(() => two.peers.list().length === 1);
    expect(two.peers.list()).toMatchObject([{ snapshot: A.policy.digest, generation: 1, version: expect.any(String) }]);
    one.policies.activate(B, 'test', 7);
    await until(() => one.peers.list().length === 1);
    two.policies.activate(A, 'test', 8);
    await until(() => two.peers.list()[0]?.generation === 7);
    expect(two.peers.list()).toMatchObject([{ snapshot: B.policy.digest }]);
  });

  it('see no more who has ended, or was not heard of for long; and somebody removes what that one left', async () => {
    const [one, two, three] = [join(), join(), join()];
    await until(async () => (await rows()) === 3);
    one.policies.activate(B, 'test');
    await until(() => one.peers.list().length === 2);
    await two.peers.stop();
    expect(await rows()).toBe(2);
    const ages = (milliseconds: number): Promise<unknown> =>
      store.db.knex.raw('UPDATE gateways SET seen_at = now() - make_interval(secs => ?) WHERE generation = 1', [
        milliseconds / 1000,
      ]);
    await ages(PEER_LIMITS.unseen + 100);
    one.policies.activate(A, 'test');
    await until(() => one.peers.list().length === 0);
    await ages(PEER_LIMITS.forgotten + 100);
    one.policies.activate(B, 'test');
    await until(async () => (await rows()) === 1);
    // It has only been silent.
    three.policies.activate(B, 'test');
    await until(() => three.peers.list().length === 1);
  });

  it('go on alone while the store is away', async () => {
    const raw = (): Promise<never> => Promise.reject(new Error('Connection terminated unexpectedly'));
    const knex = Object.assign(() => undefined, { raw }) as unknown as Database['knex'];
    const { peers } = join({ ...store.db, knex });
    await sleep(20);
    expect(peers.list()).toEqual([]);
    await peers.stop();
  });
});
