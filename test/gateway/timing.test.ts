// A record that may not be seen takes as long as one that does not exist. Requests come in pairs, one of each kind in
// random order. A difference is only reported if it is both certain (a sign test over the pairs) and large enough to be
// useful to somebody.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type CommandDoors, openCommandDoors, type Sending } from '../support/command-doors.js';
import { describeOnStores } from '../support/stores.js';
import { times } from '../support/test-runs.js';

const PAIRS = times({ usual: 60, deep: 1_000 });
/** Standard deviations by which one kind has to be the slower one in more pairs than the other: by chance once in two million. */
const SURE = 5;
/** Of the time that a request takes. */
const LARGE = times({ usual: 25, deep: 5 }) / 100;

const ABSENT = '0190c0de-0000-7000-8000-000000000003';

describeOnStores('what may not be seen', (store) => {
  let doors: CommandDoors;
  let hidden = '';

  beforeAll(async () => {
    const actors = { ada: { '/': '*:*' }, eve: { '/labs/x': '*:*' } };
    doors = await openCommandDoors({ db: store.db, actors });
    for (const path of ['/labs', '/labs/x', '/labs/y']) {
      await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
    }
    for (let n = 0; n < 20; n += 1) {
      const body = { namespace: '/labs/y', name: `hidden-${String(n)}`, properties: { text: 'x'.repeat(2_000) } };
      hidden = String((await doors.send('ada', 'POST /api/v1/resources', { body })).json['id']);
    }
  });

  afterAll(async () => {
    await doors.close();
  });

  /** Of an id that is hidden or absent, and of a namespace that is. */
  type Case = (id: string, place: string) => readonly [request: string, sending?: Sending];
  const CASES: readonly (readonly [what: string, status: number, asked: Case])[] = [
    ['a record that is read by its id', 404, (id) => [`GET /api/v1/resources/${id}`]],
    ['a record that is changed', 404, (id) => [`PATCH /api/v1/resources/${id}`, { body: {}, ifMatch: 1 }]],
    ['a record that is archived', 404, (id) => [`POST /api/v1/resources/${id}/archive`, { ifMatch: 1 }]],
    [
      'a source that is copied',
      404,
      (id) => [`POST /api/v1/resources/${id}/copies`, { body: { destination: '/labs/x' } }],
    ],
    [
      'a template that is referred to',
      422,
      (template) => ['POST /api/v1/resources', { body: { namespace: '/labs/x', name: 'n', template } }],
    ],
    ['a namespace that is read', 403, (_, place) => [`GET /api/v1/namespaces${place}`]],
    [
      'a namespace that is queried',
      403,
      (_, namespace) => ['POST /api/v1/query', { body: { family: 'resource', namespace } }],
    ],
    [
      'a namespace that is written to',
      403,
      (_, namespace) => ['POST /api/v1/resources', { body: { namespace, name: 'n' } }],
    ],
  ];

  it.each(CASES)('takes as long as for a missing record: %s', async (_, status, asked) => {
    const timed = async (kind: 'hidden' | 'absent'): Promise<number> => {
      const [id, place] = kind === 'hidden' ? [hidden, '/labs/y'] : [ABSENT, '/labs/z'];
      const [request, sending] = asked(id, place);
      const begun = performance.now();
      const answer = await doors.send('eve', request, sending);
      const took = performance.now() - begun;
      expect(answer.status).toBe(status);
      return took;
    };
    // What runs for the first time is slower, whichever it is.
    for (let n = 0; n < 10; n += 1) await timed(n % 2 === 0 ? 'hidden' : 'absent');
    const differences: number[] = [];
    const all: number[] = [];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const isHiddenFirst = Math.random() < 0.5;
      const [first, second] = [
        await timed(isHiddenFirst ? 'hidden' : 'absent'),
        await timed(isHiddenFirst ? 'absent' : 'hidden'),
      ];
      differences.push(isHiddenFirst ? first - second : second - first);
      all.push(first, second);
    }
    const slower = differences.filter((difference) => difference > 0).length;
    const deviations = Math.abs(slower - PAIRS / 2) / Math.sqrt(PAIRS / 4);
    const share = Math.abs(median(differences)) / median(all);
    expect([deviations > SURE && share > LARGE, deviations, share]).toEqual([false, deviations, share]);
  });
});

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
