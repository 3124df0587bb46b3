// The values that were used last are kept, and no more than there is room for.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { makeLruCache } from '../../../server/lib/lru-cache.js';

describe('a memory with a bound', () => {
  it('forgets what was longest unused', () => {
    const recent = makeLruCache<number>(10);
    recent.put('a', 1, 4);
    recent.put('b', 2, 4);
    expect(recent.get('a')).toBe(1);
    recent.put('c', 3, 4);
    expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual([1, undefined, 3]);
    recent.put('d', 4, 10);
    expect([recent.get('a'), recent.get('c'), recent.get('d')]).toEqual([undefined, undefined, 4]);
  });

  it('does not keep what is larger than itself, nor what that would have replaced', () => {
    const recent = makeLruCache<number>(10);
    recent.put('a', 1, 3);
    recent.put('a', 2, 11);
    expect(recent.get('a')).toBeUndefined();
    recent.put('b', 3, 10);
    expect(recent.get('b')).toBe(3);
  });

  it('is what a list in the order of use would be', () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      size: fc.option(fc.integer({ min: 0, max: 12 })),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, most) => {
        const recent = makeLruCache<number>(10, most);
        let list: { readonly name: string; readonly value: number; readonly size: number }[] = [];
        steps.forEach(({ name, size }, value) => {
          const found = list.find((one) => one.name === name);
          const others = list.filter((one) => one !== found);
          if (size === null) {
            expect(recent.get(name)).toBe(found?.value);
            list = found === undefined ? others : [...others, found];
            return;
          }
          list = size > 10 ? others : [...others, { name, value, size }];
          while (list.length > most || list.reduce((sum, one) => sum + one.size, 0) > 10) list.shift();
          recent.put(name, value, size);
        });
        for (const name of ['a', 'b', 'c', 'd', 'e'])
          expect(recent.get(name)).toBe(list.find((one) => one.name === name)?.value);
      }),
    );
  });
});
