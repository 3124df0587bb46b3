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

  it('are found by few comparisons where they are named as scopes usually are', () => {
    const nouns =
      'invoice contract payroll booking sample detector beamline shift order ticket device report budget visitor badge storage compute license';
    const actions = ['approve', 'export', 'archive', 'review', 'cancel', 'assign'];
    const names = nouns
      .split(' ')
      .flatMap((noun, i) => ['read', 'write', actions[i % 6] ?? ''].map((action) => `${noun}:${action}`))
      .sort();
    expect(names.length).toBe(MOST);
    const runs = Array.from(indexOwn(names).slots, (slot) => (slot === 0 ? ' ' : 'x'))
      .join('')
      .split(' ');
    expect(Math.max(...runs.map(({ length }) => length))).toBeLessThan(8);
  });

  it('are none in a policy that declares none', () => {
    expect(['invoice:pay', ''].map((text) => placeOfOwn(indexOwn([]), text))).toEqual([-1, -1]);
  });
});
