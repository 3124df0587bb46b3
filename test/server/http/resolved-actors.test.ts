// An actor is resolved once for each credential and policy. This is counted over whole requests, with a swap in between
// and with two keys of one actor, which must never get each other's result.
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { instantOf, type NamespacePath, type Policy, resolveActor } from '../../../engine/index.js';
import { createKey } from '../../../server/auth/api-keys.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { makeActorResolver } from '../../../server/auth/resolved-actors.js';
import { type GatewayServices, makeServices } from '../../../server/compose.js';
import { pathOf, policyOf } from '../../support/gateway.js';
import { type Ask, openInProcess } from '../../support/in-process.js';
import { describeOnStores } from '../../support/stores.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const grantAt = (namespace: string): Policy => policyOf([[ADA, namespace, ['resource:read', 'namespace:read']]]);
const [LABS, ARCHIVE] = [grantAt('/labs'), grantAt('/archive')];

/** Each `[policy, actor]` that was really resolved. */
let resolved: [Policy, string][];
const counting: typeof resolveActor = (policy, actor) => {
  resolved.push([policy, (actor as RequestActor).id]);
  return resolveActor(policy, actor);
};
beforeEach(() => {
  resolved = [];
});

describeOnStores('an actor that queries', (store) => {
  let services: GatewayServices;
  let ask: Ask;

  const keyOf = async (restrictions: readonly NamespacePath[] | null): Promise<string> => {
    const fields = { actor: 'ada', identities: [ADA], scopes: null, expires: null, admin: false };
    return (await createKey(store.db, { ...fields, restrictions }, instantOf(Date.now()))).text;
  };
  const query = async (key: string, namespace: string): Promise<number> => {
    const body = JSON.stringify({ family: 'resource', namespace, reach: 'exact' });
    const headers = { authorization: `Bearer ${key}` };
    return (await ask({ method: 'POST', url: '/api/v1/query', headers, body })).status;
  };

  beforeAll(async () => {
    const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
    services = await makeServices({
      mode: { kind: 'serve', policy: LABS },
      db: store.db,
      rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
      concurrency: { perActor: 4 },
      log: silent,
    });
  });
  beforeEach(() => {
    ask = openInProcess({ ...services, resolveActor: makeActorResolver(counting) }, services.routes);
  });

  it('is resolved for its first query and for none after it', async () => {
    const key = await keyOf(null);
    // The namespace does not exist: what is visible and who is told that are two decisions.
    for (let round = 0; round < 3; round += 1) expect(await query(key, '/labs')).toBe(404);
    expect(resolved).toEqual([[LABS, 'ada']]);
  });

  it('is resolved again under each policy, and decided by that one alone', async () => {
    const key = await keyOf(null);
    expect(await query(key, '/labs')).toBe(404);
    services.policies.activate({ policy: ARCHIVE }, 'test');
    expect([await query(key, '/labs'), await query(key, '/archive')]).toEqual([403, 404]);
    services.policies.activate({ policy: LABS }, 'test');
    expect([await query(key, '/labs'), await query(key, '/archive')]).toEqual([404, 403]);
    expect(resolved.map(([policy]) => policy.digest)).toEqual([LABS.digest, ARCHIVE.digest]);
  });

  it('is another one with each of its keys', async () => {
    const [whole, narrow] = [await keyOf(null), await keyOf([pathOf('/labs/optics')])];
    for (let round = 0; round < 2; round += 1) {
      expect([await query(whole, '/labs'), await query(narrow, '/labs')]).toEqual([404, 403]);
    }
    expect(resolved.length).toBe(2);
  });
});
