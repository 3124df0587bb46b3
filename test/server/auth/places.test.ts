// Places for questions to others: bounded in all and for each address, and nobody is kept waiting by the many of another.
import { mock } from 'node:test';
import { expect, it } from '@jest/globals';
import { makePlaces } from '../../../server/auth/places.js';

function setUp(limits: { readonly total: number; readonly perAddress: number; readonly patience?: number }) {
  const { hold } = makePlaces({ patience: 60_000, ...limits });
  const under: { readonly name: string; readonly end: () => void }[] = [];
  const begin = (address: string, name = address): Promise<string> =>
    hold(address, () => new Promise<void>((end) => under.push({ name, end }))).then((held) =>
      held ? name : 'nothing',
    );
  /** Who has a place, in the order of beginning. */
  const names = async (): Promise<string> => {
    await new Promise(setImmediate);
    return under.map(({ name }) => name).join(' ');
  };
  /** Ends the one that began first, and lets who waits begin. */
  const end = async (): Promise<string> => {
    under.shift()?.end();
    return names();
  };
  return { begin, names, end };
}

it('so many are held by one address, and the others are free for others', async () => {
  const { begin, names, end } = setUp({ total: 4, perAddress: 2 });
  const all = ['a1', 'a2', 'a3'].map((name) => begin('a', name));
  all.push(begin('b', 'b1'));
  expect(await names()).toBe('a1 a2 b1');
  expect(await end()).toBe('a2 b1 a3');
  for (let left = 3; left > 0; left -= 1) await end();
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1']);
});

it('an address has no more than its own places, whoever leaves, and however many it had before', async () => {
  const { begin, names, end } = setUp({ total: 4, perAddress: 2 });
  void begin('b');
  for (const name of ['a1', 'a2', 'a3']) void begin('a', name);
  expect(await names()).toBe('b a1 a2');
  expect(await end()).toBe('a1 a2');
  expect(await end()).toBe('a2 a3');
  expect(await end()).toBe('a3');
  for (const name of ['a4', 'a5']) void begin('a', name);
  expect(await names()).toBe('a3 a4');
  expect([await end(), await end(), await end()]).toEqual(['a4 a5', 'a5', '']);
});

it('there are no more places in all, however often one was passed on', async () => {
  const { begin, names, end } = setUp({ total: 2, perAddress: 1 });
  for (const address of ['a', 'b', 'c', 'd', 'e', 'f']) void begin(address);
  expect(await names()).toBe('a b');
  expect([await end(), await end(), await end()]).toEqual(['b c', 'c d', 'd e']);
  for (const address of ['g', 'h']) void begin(address);
  expect(await names()).toBe('d e');
  expect([await end(), await end(), await end(), await end(), await end()]).toEqual(['e f', 'f g', 'g h', 'h', '']);
});

it('a place that becomes free goes to the address with the fewest, in turn among equals', async () => {
  const { begin, names, end } = setUp({ total: 3, perAddress: 3 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void begin('a', name);
  for (const name of ['b1', 'b2']) void begin('b', name);
  void begin('c', 'c1');
  const order = [await names()];
  while (order.at(-1) !== '') order.push(await end());
  expect(order.slice(0, 6)).toEqual(['a1 a2 a3', 'a2 a3 b1', 'a3 b1 c1', 'b1 c1 a4', 'c1 a4 b2', 'a4 b2 a5']);
});

it('who finds no place in time has done nothing, and takes none from those after', async () => {
  const { begin, names, end } = setUp({ total: 1, perAddress: 1, patience: 20 });
  void begin('a');
  expect(await Promise.all([begin('a', 'a2'), begin('b')])).toEqual(['nothing', 'nothing']);
  expect(await names()).toBe('a');
  expect(await end()).toBe('');
  void begin('c');
  expect(await names()).toBe('c');
});

it('who gives up takes nobody of the same address along', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { begin, end } = setUp({ total: 1, perAddress: 1, patience: 20 });
    void begin('b');
    const first = begin('a', 'a1');
    mock.timers.tick(10);
    void begin('a', 'a2');
    mock.timers.tick(10);
    expect(await first).toBe('nothing');
    expect(await end()).toBe('a2');
  } finally {
    mock.timers.reset();
  }
});

it('a place is free again after work that fails', async () => {
  const { hold } = makePlaces({ total: 1, perAddress: 1, patience: 1 });
  await expect(hold('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await hold('a', () => Promise.resolve(7))).toEqual({ done: 7 });
});
