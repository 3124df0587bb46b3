import { describe, expect, it, test } from '@jest/globals';
import { addressName, makeRateLimiter } from '../../../server/http/rate-limit.js';
import { RATE_LIMITS } from '../../../server/limits/http.js';

describe('makeRateLimiter', () => {
  it('gives a second’s worth at once, then as many a second as the quota', () => {
    let now = 0;
    const limiter = makeRateLimiter(2, () => now);
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([0, 0, 1]);
    now = 499;
    expect(limiter.take('a')).toBe(1);
    now = 1_000;
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([0, 0, 1]);
  });

  it('keeps names apart', () => {
    const limiter = makeRateLimiter(1, () => 0);
    expect([limiter.take('a'), limiter.take('a'), limiter.take('b')]).toEqual([0, 1, 0]);
  });

  it('says how long to wait where the quota is less than one a second', () => {
    const limiter = makeRateLimiter(0.1, () => 0);
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 10]);
  });

  it('never limits with quota 0', () => {
    const limiter = makeRateLimiter(0, () => 0);
    expect(Array.from({ length: 1_000 }, () => limiter.take('a')).every((wait) => wait === 0)).toBe(true);
  });

  it('forgets the name that was quiet longest, and no other, when there are too many', () => {
    const limiter = makeRateLimiter(1, () => 0);
    limiter.take('first');
    limiter.take('second');
    limiter.take('first');
    for (let i = 0; i < RATE_LIMITS.buckets - 1; i += 1) limiter.take(`other ${String(i)}`);
    expect([limiter.take('first'), limiter.take('second')]).toEqual([1, 0]);
  });
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  [null, 'none'],
])('%s is counted as %s', (address, name) => {
  expect(addressName(address)).toBe(name);
});
