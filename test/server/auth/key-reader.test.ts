// When keys are looked up: together, one look-up after another, and beside one that does not end.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mock } from 'node:test';
import { makeKeyReader } from '../../../server/auth/key-reader.js';
import { KEY_LIMITS } from '../../../server/limits/credentials.js';
import { answerRows } from '../../support/row-answers.js';

interface LookUp {
  readonly ids: readonly unknown[];
  /** With the keys of these ids. */
  readonly answer: (...ids: readonly string[]) => void;
  readonly fail: (error: Error) => void;
}

const rowOf = (id: string): object => ({
  id,
  actor: id,
  secret_hash: Buffer.alloc(32),
  identities: [],
  scopes: null,
  restrictions: null,
  admin: false,
  decide: false,
  monitor: false,
  created_at: new Date(0),
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
});

function setUp() {
  const sent: LookUp[] = [];
  const read = makeKeyReader({
    vital: ({ bindings }) =>
      new Promise((resolve, reject) => {
        const answer: LookUp['answer'] = (...ids) => {
          void answerRows(...ids.map(rowOf))().then(resolve);
        };
        sent.push({ ids: bindings.flat(), answer, fail: reject });
      }),
  });
  const actorOf = async (id: string): Promise<string | null> => (await read(id))?.actor ?? null;
  const ids = (): readonly (readonly unknown[])[] => sent.map((one) => one.ids);
  return { sent, ids, actorOf };
}

const turn = (): Promise<void> => new Promise(setImmediate);

async function pass(time: number): Promise<void> {
  mock.timers.tick(time);
  await turn();
}

beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout'] });
});
afterEach(() => {
  mock.timers.reset();
});

it('reads what is asked for in one turn together, each key once', async () => {
  const { sent, ids, actorOf } = setUp();
  const asked = Promise.all(['a', 'b', 'nobody', 'a'].map(actorOf));
  await turn();
  expect(ids()).toEqual([['a', 'b', 'nobody']]);
  sent[0]?.answer('b', 'a');
  expect(await asked).toEqual(['a', 'b', null, 'a']);
});

it('reads what is asked for later after that, and never answers from what it read before', async () => {
  const { sent, ids, actorOf } = setUp();
  const first = actorOf('a');
  await turn();
  const later = [actorOf('a'), actorOf('b')];
  await turn();
  expect(ids()).toEqual([['a']]);
  sent[0]?.answer('a');
  expect(await first).toBe('a');
  await turn();
  expect(ids()).toEqual([['a'], ['a', 'b']]);
  sent[1]?.answer('b');
  expect(await Promise.all(later)).toEqual([null, 'b']);
});

it('waits for a look-up that does not end, each time twice as long, up to a limit', async () => {
  const { sent, ids, actorOf } = setUp();
  const asked = [actorOf('k')];
  await turn();
  for (const [index, patience] of [10, 20, 40, 80, 160, 160, 160].entries()) {
    asked.push(actorOf('k'));
    await pass(patience - 1);
    expect([index, sent.length]).toEqual([index, index + 1]);
    await pass(1);
    expect([index, sent.length]).toEqual([index, index + 2]);
  }
  expect(new Set(ids().flat())).toEqual(new Set(['k']));
  for (const one of sent) one.answer('k');
  expect(await Promise.all(asked)).toEqual(asked.map(() => 'k'));
  // What ends makes it as quick again as it was.
  void actorOf('k');
  await turn();
  const before = sent.length;
  void actorOf('k');
  await pass(KEY_LIMITS.lookUpPatience - 1);
  expect(sent.length).toBe(before);
  await pass(1);
  expect(sent.length).toBe(before + 1);
});

it('does not lose patience with look-ups that end, however late their time runs out', async () => {
  const { sent, actorOf } = setUp();
  for (let times = 0; times < 3; times += 1) {
    const asked = actorOf('k');
    await turn();
    sent.at(-1)?.answer('k');
    expect(await asked).toBe('k');
    await pass(KEY_LIMITS.lookUpPatience);
  }
  void actorOf('k');
  await turn();
  const before = sent.length;
  void actorOf('k');
  await pass(KEY_LIMITS.lookUpPatience);
  expect(sent.length).toBe(before + 1);
});

it('tells all who shared a look-up that the store failed, and goes on with the next', async () => {
  const { sent, actorOf } = setUp();
  const error = new Error('away');
  const both = [actorOf('a'), actorOf('b')].map((one) => one.catch((reason: unknown) => reason));
  await turn();
  const later = actorOf('a');
  sent[0]?.fail(error);
  expect(await Promise.all(both)).toEqual([error, error]);
  await turn();
  sent[1]?.answer('a');
  expect(await later).toBe('a');
});
