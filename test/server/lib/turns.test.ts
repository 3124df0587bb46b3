// How much of the store one caller may have at once, by the clock of this process.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { makeBriefTurns, makeEachItsTurn, makeTurns, type Turns } from '../../../server/lib/turns.js';

/** Does work for so long each, all of it asked for at once: how much was in progress together at most. */
async function mostAtOnce(turns: Turns, name: string, times: readonly number[]): Promise<number> {
  let [now, most] = [0, 0];
  await Promise.all(
    times.map(async (time) => {
      const leave = await turns.enter(name);
      now += 1;
      most = Math.max(most, now);
      await sleep(time);
      now -= 1;
      leave();
      leave();
    }),
  );
  return most;
}

it('a name has as many places as there are, and its work waits for its own alone', async () => {
  const turns = makeTurns(2);
  await turns.enter('other');
  await turns.enter('other');
  expect(await mostAtOnce(turns, 'a', [1, 1, 1, 1, 1])).toBe(2);
});

it('brief work has a second place, and long work none', async () => {
  const turns = makeBriefTurns(1_000);
  // Nothing is known of a name at first.
  expect(await mostAtOnce(turns, 'a', [0])).toBe(1);
  expect(await mostAtOnce(turns, 'a', [1, 1, 1, 1, 1])).toBe(2);
  const strict = makeBriefTurns(10);
  expect(await mostAtOnce(strict, 'b', [30, 30, 30])).toBe(1);
  expect(await mostAtOnce(strict, 'b', [30, 30])).toBe(1);
});

it('brief work between long work gives that no second place', async () => {
  const turns = makeBriefTurns(150);
  expect(await mostAtOnce(turns, 'a', [0])).toBe(1);
  // Nothing tells long work from brief work before it is done.
  expect(await mostAtOnce(turns, 'a', [300, 300])).toBe(2);
  for (let time = 0; time < 3; time += 1) {
    expect(await mostAtOnce(turns, 'a', [0])).toBe(1);
    expect(await mostAtOnce(turns, 'a', [300, 300])).toBe(1);
  }
});

it('whoever has left waits no longer, and its place goes to the next', async () => {
  const turns = makeTurns(1);
  const [first, second] = [new AbortController(), new AbortController()];
  const left = new Error('left');
  const leave = await turns.enter('a', first.signal);
  const waits = turns.enter('a', second.signal);
  const next = turns.enter('a');
  second.abort(left);
  await expect(waits).rejects.toBe(left);
  await expect(turns.enter('b', second.signal)).rejects.toBe(left);
  // Whoever has a place keeps it until it gives it back.
  first.abort(left);
  leave();
  (await next)();
  expect(await mostAtOnce(turns, 'a', [1, 1])).toBe(1);
});

it('of several places each name has one, so that nobody waits for all the work of another', async () => {
  const turns = makeEachItsTurn(2);
  const gone = new AbortController();
  const [leaveA, leaveB] = [await turns.enter('a'), await turns.enter('b')];
  const all = [turns.enter('a', gone.signal), turns.enter('a'), turns.enter('c')];
  leaveB();
  // All of `a` came before it.
  const leaveC = await all[2];
  gone.abort(new Error('left'));
  await expect(all[0]).rejects.toThrow('left');
  leaveA();
  (await all[1])?.();
  leaveC?.();
  expect(await mostAtOnce(turns, 'a', [1, 1, 1])).toBe(1);
  // The one that left while it waited for a place among all has given back its own.
  const [d, e] = [await turns.enter('d'), await turns.enter('e')];
  const other = new AbortController();
  const left = turns.enter('f', other.signal);
  await sleep(1);
  other.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  d();
  e();
  (await turns.enter('f'))();
});
