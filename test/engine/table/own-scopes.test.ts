// Scopes of declared families by their text: each is found at its place, and no other text is, whatever letters they share.
import { describe, expect, it } from '@jest/globals';
import { indexOwn, placeOfOwn } from '../../../engine/table/own-scopes.js';

const MOST = 54;

describe('scopes of declared families', () => {
  it('are found at their places, however many letters they share, and no other text is', () => {
    // Of the same length and letters, except in two that say nothing about where a search begins.
    for (let length = 0; length < 30; length += 1) {
      const family = `f${'x'.repeat(length)}`;
      const names = Array.from({ length: MOST + 1 }, (_, i) => `${family}:a${String(i).padStart(2, '0')}bcdefghijk`);
      const missing = names.splice(length, 1);
      const index = indexOwn(names);
      expect(names.map((name) => placeOfOwn(index, name))).toEqual([...names.keys()]);
      for (const other of [...missing, `${family}:a00bcdefghijl`, family, `${family}:`, ':', 'x', ''])
        expect([other, placeOfOwn(index, other)]).toEqual([other, -1]);
    }
  });

  it('are none in a policy that declares none', () => {
    expect(['invoice:pay', ''].map((text) => placeOfOwn(indexOwn([]), text))).toEqual([-1, -1]);
  });
});
