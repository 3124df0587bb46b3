import { expect, it } from '@jest/globals';
import { makeRateLimiter } from '../../../server/http/rate-limit.js';
import { makeRateLedger } from '../../../server/workers/rate-ledger.js';

it('tells what was let through, by limiter and name, and counts what others let through', () => {
  const [here, there] = [makeRateLedger(), makeRateLedger()];
  const [actor, address] = [here.makeLimiter('actor', 10), here.makeLimiter('address', 10)];
  const same = there.makeLimiter('actor', 10);
  for (let i = 0; i < 12; i += 1) actor.take('ada');
  address.take('::1');
  const spending = here.takeSpent();
  expect(spending).toEqual([
    ['actor', 'ada', 10],
    ['address', '::1', 1],
  ]);
  expect(here.takeSpent()).toEqual([]);
  there.charge(spending);
  expect(same.left('ada')).toBe(0);
  expect(same.take('ada')).toBeGreaterThan(0);
  expect(same.left('bob')).toBe(10);
  // What was charged is not told again.
  expect(there.takeSpent()).toEqual([]);
});

it('tells nothing of what has no limit', () => {
  const ledger = makeRateLedger();
  expect(ledger.makeLimiter('actor', 0).take('ada')).toBe(0);
  expect(ledger.takeSpent()).toEqual([]);
  ledger.charge([['actor', 'ada', 5]]);
});

it('is in debt for a second at most, however much others let through', () => {
  let now = 0;
  const limiter = makeRateLimiter(10, () => now);
  limiter.charge('ada', 1_000_000);
  expect(limiter.take('ada')).toBe(2);
  now += 1_200;
  expect(limiter.take('ada')).toBe(0);
});

it('tells one that comes later what is not made up for yet', () => {
  const [primary, later] = [makeRateLedger(), makeRateLedger()];
  for (const ledger of [primary, later]) for (const name of ['actor', 'address']) ledger.makeLimiter(name, 1);
  const actor = later.makeLimiter('actor', 1);
  primary.makeLimiter('none', 0);
  primary.charge([
    ['actor', 'ada', 2],
    ['actor', 'ben', 1],
    ['address', '::1', 0.5],
  ]);
  const owed = primary.owed();
  expect(owed.map(([limiter, name]) => [limiter, name])).toEqual([
    ['actor', 'ada'],
    ['actor', 'ben'],
    ['address', '::1'],
  ]);
  later.charge(owed, 1_000);
  expect([actor.left('ada'), actor.left('ben'), actor.left('eve')]).toEqual([0, 1, 1]);
});
