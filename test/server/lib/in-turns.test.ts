// Long work for one request, between which those of others have their turn.
import { expect, test } from '@jest/globals';
import { mapInTurns, piecesInTurns } from '../../../server/lib/in-turns.js';

const ITEMS = [1, 2, 3, 4, 5];

function busy(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

test('others have their turn in between, and the results are in the order of the items', async () => {
  const done: string[] = [];
  setImmediate(() => done.push('other'));
  const made = await mapInTurns(
    ITEMS,
    (item) => {
      busy(15);
      done.push(String(item));
      return item * 2;
    },
    new AbortController().signal,
  );
  expect(made).toEqual([2, 4, 6, 8, 10]);
  expect(done).toEqual(['1', 'other', '2', '3', '4', '5']);
});

test('work that takes no time is done at once', async () => {
  let isOthersTurn = false;
  setImmediate(() => (isOthersTurn = true));
  expect(await mapInTurns(ITEMS, (item) => item, new AbortController().signal)).toEqual(ITEMS);
  expect(isOthersTurn).toBe(false);
});

test('bytes are given in pieces of at most a MiB, the very bytes, with turns of others between', async () => {
  const bytes = Buffer.alloc(2.5 * 1024 * 1024, 'ab');
  const [done, lengths]: [string[], number[]] = [[], []];
  setImmediate(() => done.push('other'));
  for await (const piece of piecesInTurns(bytes)) {
    busy(15);
    expect([piece.buffer, piece.byteOffset]).toEqual([bytes.buffer, bytes.byteOffset + lengths.length * 1024 * 1024]);
    lengths.push(piece.length);
    done.push(String(lengths.length));
  }
  expect(lengths).toEqual([1, 1, 0.5].map((size) => size * 1024 * 1024));
  expect(done).toEqual(['1', 'other', '2', '3']);
});

test('the work ends once nobody waits for it', async () => {
  const leaving = new AbortController();
  const done: number[] = [];
  const work = mapInTurns(
    ITEMS,
    (item) => {
      busy(15);
      done.push(item);
      if (item === 2) leaving.abort(new Error('gone'));
    },
    leaving.signal,
  );
  await expect(work).rejects.toThrow('gone');
  expect(done).toEqual([1, 2]);
});
