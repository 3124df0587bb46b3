// What a load remembers of the deleted records of a dataset. It does not grow with the dataset.
import { describe, expect, it } from '@jest/globals';
import { makeBuriedIds } from '../../../server/load/buried-ids.js';
import { LOAD_LIMITS } from '../../../server/limits/records.js';

describe('the ids of deleted records', () => {
  it('are told from others up to the limit, and beyond it the dataset is taken at its word', () => {
    const buried = makeBuriedIds(3);
    for (const id of ['a', 'b', 'c', 'c']) buried.add(id);
    expect(['a', 'c', 'd'].map(buried.has)).toEqual([true, true, false]);
    buried.add('d');
    expect(['a', 'd', 'e'].map(buried.has)).toEqual([true, true, true]);
  });

  it('take no more memory however many there are', () => {
    const id = (n: number): string => `0190c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
    const buried = makeBuriedIds();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 6 * LOAD_LIMITS.buriedIds; n += 1) buried.add(id(n));
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(250 * LOAD_LIMITS.buriedIds);
    expect(buried.has(id(1))).toBe(true);
  });
});
