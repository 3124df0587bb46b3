// Views of the feed: one is made once while nothing changes it, and never used longer; what is remembered is bounded.
import { describe, expect, it } from '@jest/globals';
import {
  ALL_SCOPES,
  FAMILIES,
  type Identity,
  instantOf,
  type Policy,
  resolveActor,
  type ResolvedActor,
  ROOT,
  type Visible,
} from '../../../engine/index.js';
import { makeFeed } from '../../../server/changes/feed.js';
import { makeKeptViews } from '../../../server/changes/kept-views.js';
import { rememberViews } from '../../../server/changes/remembered-views.js';
import { type FeedView, rightsChange, viewOf } from '../../../server/changes/view.js';
import type { Database } from '../../../server/db/database.js';
import { CHANGES_LIMITS } from '../../../server/limits/changes.js';
import { pathOf, policyOf } from '../../support/gateway.js';
import { describeOnStores } from '../../support/stores.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const READ = ['resource:read', 'namespace:read'];
const WINDOW = { notBefore: instantOf(10), expires: instantOf(20) };
const TIMED = policyOf([
  [ADA, '/a', READ],
  [ADA, '/b', READ, null, WINDOW],
]);

function resolved(policy: Policy, identity: Identity = ADA): ResolvedActor {
  const asked = { credentialScopes: ALL_SCOPES, namespaceRestrictions: null };
  return resolveActor(policy, { kind: 'key', identities: [identity], ...asked });
}

const wide = (count: number, name: string): Visible => ({
  kind: 'some',
  exact: [],
  subtrees: Array.from({ length: count }, (_, index) => pathOf(`/${name}/n${String(index).padStart(6, '0')}`)),
});
const viewIn = (digest: string, visible: Visible): FeedView => ({
  sets: new Map([['resource', visible]]),
  refused: new Map(),
  digest,
});

describe('remembered views', () => {
  it('are made once for an actor until a grant of its own begins or ends, also where a clock goes back', () => {
    const view = rememberViews();
    const [ada, bo] = [resolved(TIMED), resolved(TIMED, { provider: 'orcid', subject: 'bo' })];
    const seen = [0, 9, 10, 19, 20, 5].map((at) => {
      const now = view(ada, instantOf(at));
      expect(now).toEqual(viewOf(ada, instantOf(at)));
      expect(view(ada, instantOf(at))).toBe(now);
      expect(view(bo, instantOf(at)).sets.size).toBe(0);
      return now;
    });
    const firsts = seen.map((one) => seen.indexOf(one));
    expect(firsts).toEqual([0, 0, 2, 2, 4, 5]);
    // Another policy, or another credential, is another actor.
    expect(view(resolved(TIMED), instantOf(5))).not.toBe(seen[5]);
    const without = resolved(policyOf([[ADA, '/a', READ]]));
    expect(view(without, instantOf(15))).toEqual(viewOf(without, instantOf(15)));
  });

  it('are bounded in characters: the one that was longest unused is forgotten, and a larger one is not kept', () => {
    const policy = policyOf(
      Array.from({ length: 100 }, (_, index) => [ADA, `/n${String(index + 100)}`, READ] as const),
    );
    // Two families of a hundred namespaces of five characters, each with 64 for what holds it.
    const size = 2 * 100 * 69 + 1_000;
    const at = instantOf(0);
    const [one, two, three] = [resolved(policy), resolved(policy), resolved(policy)];
    const both = rememberViews(2 * size);
    const first = both(one, at);
    const second = both(two, at);
    expect(both(one, at)).toBe(first);
    both(three, at);
    expect([both(one, at) === first, both(two, at) === second]).toEqual([true, false]);
    const none = rememberViews(size - 1);
    expect(none(one, at)).not.toBe(none(one, at));
  });
});

it('a change of rights in too many regions is told early, and one at the limit is whole', () => {
  const [few, many] = [viewIn('few', wide(10, 'a')), viewIn('many', wide(40, 'b'))];
  for (const [before, after] of [
    [few, many],
    [many, few],
  ] as const) {
    expect(rightsChange(before.sets, after.sets, 49)).toBe('too many');
    expect(rightsChange(before.sets, after.sets, 9)).toBe('too many');
    const change = rightsChange(before.sets, after.sets, 50);
    if (change === null || change === 'too many') throw new Error('it has 50 regions');
    expect([change.gained.length, change.lost.length].sort()).toEqual([10, 40]);
  }
  expect(rightsChange(few.sets, few.sets, 0)).toBe(null);
});

describeOnStores('views in the store', (store) => {
  it('do not include one that is too large, which is found out once', async () => {
    const views = makeKeptViews(store.db);
    const sets = new Map(FAMILIES.map((family) => [family, wide(50_000, 'large')]));
    let looks = 0;
    const large: FeedView = {
      get sets() {
        looks += 1;
        return sets;
      },
      refused: new Map(),
      digest: 'd'.repeat(64),
    };
    expect(JSON.stringify([...sets]).length).toBeGreaterThan(CHANGES_LIMITS.viewCharacters);
    for (let time = 0; time < 3; time += 1) await views.keep(large);
    expect([looks, await views.find(large.digest)]).toEqual([1, null]);
  });

  it('are compared once for a cursor of another view, however often it comes', async () => {
    let found = 0;
    const read: Database['read'] = (statement, options) => {
      if (statement.text.includes('change_views')) found += 1;
      return store.db.read(statement, options);
    };
    const feed = makeFeed({ db: { ...store.db, read }, cursorKey: new Uint8Array(32) });
    const owner = { actorId: 'ada', families: FAMILIES, namespace: ROOT };
    const [before, after, beyond] = [
      viewIn('a'.repeat(64), wide(10, 'a')),
      viewIn('b'.repeat(64), wide(20, 'b')),
      viewIn('c'.repeat(64), wide(CHANGES_LIMITS.regions, 'c')),
    ];
    const asked = { owner, at: instantOf(0), limit: 10 };
    const { next } = await feed.read({ ...asked, view: before, after: null });
    const items = [];
    for (let time = 0; time < 3; time += 1) {
      items.push((await feed.read({ ...asked, view: after, after: next })).items.map(({ cursor: _, ...item }) => item));
    }
    expect(found).toBe(1);
    expect(items[0]).toMatchObject([{ change: 'rights', gained: { length: 20 }, lost: { length: 10 } }]);
    expect(items[1]).toEqual(items[0]);
    for (let time = 0; time < 3; time += 1) {
      const tooMuch = feed.read({ ...asked, view: beyond, after: next });
      await expect(tooMuch).rejects.toMatchObject({ code: 'changes.expired' });
    }
    expect(found).toBe(2);
  });
});
