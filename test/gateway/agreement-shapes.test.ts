// Every shape that the statement of a page can have gives the same records on generated worlds, in the order of the slow evaluator.
import { RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Actor, ALL_SCOPES, LOCAL_ACTOR, ROOT, unrestrictedPolicy } from '../../engine/index.js';
import { IDENTITIES, pathOf, policyOf, STRANGER } from '../engine/oracle/worlds.js';
import type { Envelope } from '../support/query-envelopes.js';
import { expectedOf } from '../support/query-oracle.js';
import { readInShapes, type Shape } from '../support/query-shapes.js';
import { compiled } from '../support/query-worlds.js';
import { describeOnStores } from '../support/stores.js';
import { shrinkingFor, stopwatch, testRuns, times } from '../support/test-runs.js';
import { type Case, onScenes, SHRINKING } from './agreement-scenes.js';

/** One who sees much in many pieces: some namespaces, and what is below others. */
const PIECEMEAL = compiled(
  policyOf(
    [],
    [...['/', '/a', '/a/b'], ...['/a/a', '/a/bb', '/a/b/a', '/b/a', '/b/z', '/a-b', '/a0']].map((place, index) => ({
      principal: { kind: 'identity', identity: IDENTITIES[0] ?? STRANGER },
      namespace: pathOf(place),
      scopes: RECORD_SCOPE_SET,
      inherit: index >= 3,
      notBefore: null,
      expires: null,
      reason: null,
      place: null,
    })),
  ),
);

/** The same question; one to which nothing is invisible, which is one range from the root; and one of many ranges. */
function alsoAsOthers(one: Case, crowd: readonly string[]): readonly Case[] {
  const { asker, envelope } = one;
  if (envelope.family === 'process-run') return [one];
  const everywhere: Envelope = { ...envelope, namespace: ROOT, reach: 'subtree' };
  const everybody = { ...asker, actor: LOCAL_ACTOR, policy: unrestrictedPolicy() };
  const somebody: Actor = {
    kind: 'request',
    identities: IDENTITIES,
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  };
  return [
    one,
    { asker: everybody, envelope: everywhere },
    { asker: { ...asker, actor: somebody, policy: PIECEMEAL }, envelope: everywhere },
    // Where there is a crowd, all of it.
    ...(crowd.length > 0 && asker.actor.kind !== 'local'
      ? [{ asker: { ...asker, actor: somebody }, envelope: everywhere }]
      : []),
  ];
}

describeOnStores('the shapes of a statement', (store) => {
  it('every shape of a statement gives the same records', async () => {
    const read = new Map<Shape, number>([
      ['gather', 0],
      ['merge at once', 0],
      ['merge in two phases', 0],
      ['merge with a window', 0],
    ]);
    const runs = testRuns({ usual: 6, deep: 30 });
    // Pages of several hundred roots take long, on the embedded engine most.
    const every = times({ usual: store.name === 'postgres' ? 2 : 4, deep: 1 });
    const told = stopwatch(`agreement of shapes on ${store.name}`, runs);
    await fc.assert(
      onScenes(store.db, async ({ records, cases, crowd }) => {
        const asked = cases.filter((_, index) => index % every === 0);
        for (const { asker, envelope } of asked.flatMap((one) => alsoAsOthers(one, crowd))) {
          const ids = expectedOf(records, asker, envelope).map(({ id }) => id);
          for (const size of [2, 53]) {
            for (const { shape, ids: found } of await readInShapes(store.db, asker, {
              body: envelope,
              size,
            })) {
              expect({ shape, size, ids: found }).toEqual({ shape, size, ids });
              if (ids.length > 0) read.set(shape, (read.get(shape) ?? 0) + 1);
            }
          }
        }
      }),
      shrinkingFor(SHRINKING, runs),
    );
    const counts = [...read.values()];
    const all = counts.reduce((sum, one) => sum + one, 0);
    told(all, all, [...read]);
    expect(Math.min(...counts)).toBeGreaterThan(runs.numRuns / 10);
  });
});
