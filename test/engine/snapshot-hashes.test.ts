// SHA-256 in both forms, of one text and of many, and what a visibility is known by.
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { visibilityDigest } from '../../engine/index.js';
import { digestOf, digestOfParts, putDigest } from '../../engine/snapshot/hash.js';
import * as portable from '../../engine/snapshot/sha256-portable.js';
import * as inNode from '../../engine/snapshot/sha256-node.js';
import { pathOf } from './oracle/worlds.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const TEXTS = ['', 'abc', 'é∀𝄞', 'x'.repeat(1000)];

describe.each([
  ['as Node computes it', inNode],
  ['in JavaScript', portable],
])('a hash %s', (_, { hexOf, hexOfAll, putHash }) => {
  it('is SHA-256 of the UTF-8 of a text, of bytes, and of texts one after the other', () => {
    for (const text of TEXTS) {
      expect(hexOf(text)).toBe(sha256(text));
      expect(hexOf(Uint8Array.from(Buffer.from(text)))).toBe(sha256(text));
      expect(hexOfAll([text, 'and', text])).toBe(sha256(`${text}and${text}`));
    }
  });

  it('is put where it belongs, and nowhere else', () => {
    const bytes = new Uint8Array(36).fill(7);
    putHash('abc', bytes, 2);
    expect(Buffer.from(bytes).toString('hex')).toBe(`0707${sha256('abc')}0707`);
  });
});

describe('a digest', () => {
  it('names its algorithm', () => {
    expect(digestOf('abc')).toBe('sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    const bytes = new Uint8Array(32);
    putDigest('abc', bytes, 0);
    expect(`sha256:${Buffer.from(bytes).toString('hex')}`).toBe(digestOf('abc'));
  });

  it('of parts is that of all together, lists joined by commas, though they are too long to be joined', () => {
    const parts = ['[', ['a', 'b', 'é'], ',', [], ']'];
    expect(digestOfParts(parts)).toBe(digestOf('[a,b,é,]'));
    const long = 'x'.repeat(2 ** 23);
    expect(digestOfParts([...parts, [long, 'y', long], 'z'])).toBe(digestOf(`[a,b,é,]${long},y,${long}z`));
  });

  it('of what is visible tells everything from some, and namespaces from subtrees', () => {
    const a = [pathOf('/a')];
    const seen = [
      { kind: 'all' },
      { kind: 'some', exact: a, subtrees: [] },
      { kind: 'some', exact: [], subtrees: a },
    ] as const;
    expect(seen.map(visibilityDigest)).toEqual(
      [
        '["bailiwick.visible",1]',
        '["bailiwick.visible",1,{"exact":["/a"],"subtrees":[]}]',
        '["bailiwick.visible",1,{"exact":[],"subtrees":["/a"]}]',
      ].map((text) => `sha256:${sha256(text)}`),
    );
  });
});
