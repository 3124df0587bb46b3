// A follower that applies the feed holds exactly what queries show it: over random commands, policies that replace each
// other and gateways that start again. What it is told is only ever about what it may see.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type CommandDoors, openCommandDoors } from '../support/command-doors.js';
import { type Follower, type Item, isWithin, makeFollower } from '../support/feed-follower.js';
import { describeOnStores } from '../support/stores.js';
import { stopwatch, testRuns } from '../support/test-runs.js';

const PLACES = ['/', '/a', '/a/b', '/a/b/c', '/a-b', '/b', '/b/a/b/1/2/3', '/b/a/b/1/2/3/4'];
const FAMILIES = ['namespace', 'resource-template', 'resource', 'process-template', 'process-run'];
const COLLECTIONS = ['resource-templates', 'resources', 'process-templates', 'process-runs'];
const READERS = ['rea', 'ron', 'rut'];

type Grants = Readonly<Record<string, Readonly<Record<string, string>>>>;

type Step =
  | { readonly kind: 'create'; readonly collection: string; readonly place: string }
  | { readonly kind: 'change' | 'archive' | 'restore' | 'copy'; readonly which: number; readonly place: string }
  | { readonly kind: 'batch'; readonly places: readonly string[] }
  | { readonly kind: 'namespace'; readonly place: string }
  | { readonly kind: 'policy'; readonly grants: Grants }
  | { readonly kind: 'follow'; readonly who: string }
  | { readonly kind: 'restart' };

const place = fc.constantFrom(...PLACES);
const reads = fc
  .constantFrom('*:read', 'resource:read', 'process-run:read namespace:read', '*:read', '*-template:read')
  .map((text) => text.replace('*-template:read', 'resource-template:read process-template:read'));
const held = fc.dictionary(place, reads, { maxKeys: 3 });
const grants: fc.Arbitrary<Grants> = fc.record({ rea: held, ron: held, rut: held });
const which = fc.nat(1_000);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('create'), collection: fc.constantFrom(...COLLECTIONS), place }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('change', 'change', 'archive', 'restore', 'copy'), which, place }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('batch'), places: fc.array(place, { minLength: 1, maxLength: 5 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('namespace'), place }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('policy'), grants }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('follow'), who: fc.constantFrom(...READERS) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'restart' }) },
);
const walk = fc.record({
  first: grants,
  limits: fc.tuple(...READERS.map(() => fc.constantFrom(1, 2, 7, 500))),
  steps: fc.array(step, { minLength: 30, maxLength: 50, size: 'max' }),
});

describeOnStores('who follows the feed', (store) => {
  let doors: CommandDoors;
  let policy: Grants = {};
  const made: { path: string; revision: number }[] = [];
  const all = (): Grants => ({ wes: { '/': '*:*' }, ...policy });
  const open = async (): Promise<void> => {
    doors = await openCommandDoors({ db: store.db, actors: all() });
  };

  beforeAll(async () => {
    policy = { rea: {}, ron: {}, rut: {} };
    await open();
    for (const path of PLACES.slice(1)) {
      for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1)) {
        await doors.send('wes', `PUT /api/v1/namespaces${path.slice(0, at)}`, { body: {} });
      }
      await doors.send('wes', `PUT /api/v1/namespaces${path}`, { body: {} });
    }
  });
  afterAll(() => doors.close());

  const create = async (collection: string, namespace: string): Promise<void> => {
    const more = collection.endsWith('templates') ? { version: '1', schema: {} } : {};
    const slots = collection === 'process-templates' ? { slots: [] } : {};
    const body = { namespace, name: 'x', ...more, ...slots };
    const { status, json } = await doors.send('wes', `POST /api/v1/${collection}`, { body });
    expect(status).toBe(201);
    made.push({ path: `/api/v1/${collection}/${String(json['id'])}`, revision: 1 });
  };
  const take = async (one: Step): Promise<void> => {
    switch (one.kind) {
      case 'create':
        return create(one.collection, one.place);
      case 'namespace': {
        const path = `/api/v1/namespaces${one.place}`;
        const { header } = await doors.send('wes', `GET ${path}`);
        const changed = await doors.send('wes', `PATCH ${path}`, {
          body: { description: String(Math.random()) },
          ifMatch: header('etag') ?? '',
        });
        expect(changed.status).toBe(200);
        return;
      }
      case 'batch': {
        const commands = one.places.map((namespace) => ({
          ...{ method: 'POST', path: '/api/v1/resources', body: { namespace, name: 'batched' } },
        }));
        expect(await doors.send('wes', 'POST /api/v1/batch', { body: { commands } })).toMatchObject({ status: 200 });
        return;
      }
      case 'policy':
        policy = one.grants;
        doors.decree(all());
        return;
      case 'restart':
        await doors.close();
        return open();
      case 'follow':
        return;
      default: {
        const target = made[one.which % Math.max(made.length, 1)];
        if (target === undefined) return;
        if (one.kind === 'copy') {
          if (target.path.includes('templates')) return;
          const copied = await doors.send('wes', `POST ${target.path}/copies`, { body: { destination: one.place } });
          const collection = target.path.split('/')[3] ?? '';
          if (copied.status === 201) {
            made.push({ path: `/api/v1/${collection}/${String(copied.json['id'])}`, revision: 1 });
          }
          return;
        }
        const { revision: ifMatch } = target;
        const answered =
          one.kind === 'change'
            ? await doors.send('wes', `PATCH ${target.path}`, { body: { description: String(Math.random()) }, ifMatch })
            : await doors.send('wes', `POST ${target.path}/${one.kind}`, { ifMatch });
        target.revision = Number(/"(\d+)"/.exec(answered.header('etag') ?? '')?.[1] ?? ifMatch);
      }
    }
  };
  const followerOf = (who: string, limit: number): Follower =>
    makeFollower({
      send: (request, body) => doors.send(who, request, body === undefined ? {} : { body }),
      ...{ places: PLACES, families: FAMILIES, limit },
    });
  const isSeen = (who: string, { family, namespace, change }: Item): boolean =>
    change === 'rights' ||
    Object.entries(policy[who] ?? {}).some(
      ([root, scopes]) =>
        isWithin(String(namespace), root) &&
        (scopes === '*:read' || scopes.split(' ').includes(`${String(family)}:read`)),
    );

  it('and applies it holds what queries show', async () => {
    const runs = testRuns({ usual: 3, deep: 60 });
    const report = stopwatch(`following the feed on the ${store.name} store`, runs);
    const figures = { items: 0, rights: 0, again: 0, compared: 0 };
    await fc.assert(
      fc.asyncProperty(walk, async ({ first, limits, steps }) => {
        policy = first;
        doors.decree(all());
        const followers = new Map(READERS.map((who, index) => [who, followerOf(who, limits[index] ?? 1)]));
        for (const follower of followers.values()) await follower.resync();
        const follow = async (who: string): Promise<void> => {
          const follower = followers.get(who);
          const items = await follower?.catchUp();
          figures.again += items === null ? 1 : 0;
          for (const item of items ?? []) {
            figures.items += 1;
            figures.rights += item['change'] === 'rights' ? 1 : 0;
            expect({ who, item, isSeen: isSeen(who, item) }).toMatchObject({ isSeen: true });
          }
          const shown = await follower?.query();
          figures.compared += shown?.size ?? 0;
          expect(new Map([...(follower?.holding() ?? [])].sort())).toEqual(new Map([...(shown ?? [])].sort()));
        };
        for (const one of steps) {
          await take(one);
          if (one.kind === 'follow') await follow(one.who);
        }
        for (const who of READERS) await follow(who);
      }),
      { ...runs, endOnFailure: true },
    );
    report(runs.numRuns, figures.items, figures);
    expect(figures.rights).toBeGreaterThan(5);
    expect(figures.items).toBeGreaterThan(50);
  });
});
