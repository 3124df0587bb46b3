// The bytes of a position: everything comes back, they are as large as its texts, and nothing else is accepted.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { decodePosition, encodePosition } from '../../../server/query/position-bytes.js';

const anyPosition = fc.array(fc.option(fc.string({ unit: 'binary', maxLength: 40 })), { maxLength: 12 });

describe('the bytes of a position', () => {
  it('give it back', () => {
    fc.assert(
      fc.property(anyPosition, (position) => {
        expect(decodePosition(encodePosition(position))).toEqual(position);
      }),
    );
  });

  it('are one spelling each', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (noise) => {
        const position = decodePosition(Buffer.from(noise));
        if (position !== null) expect(encodePosition(position)).toEqual(Buffer.from(noise));
      }),
    );
  });

  test.each(['', '\u0001"\\\n\u2028', '\ufeffx', '\u{1f52c}'.repeat(1_000)])('take what %j takes, and four', (text) => {
    expect(encodePosition([text, null])).toHaveLength(4 + Buffer.byteLength(text) + 4);
    expect(decodePosition(encodePosition([text, null]))).toEqual([text, null]);
  });

  it('tell an absent value from an empty text', () => {
    expect(encodePosition([null])).not.toEqual(encodePosition(['']));
  });

  test.each([
    ['part of a length', [0, 0, 0]],
    ['a text that is cut', [0, 0, 0, 2, 0x61]],
    ['a rest', [0, 0, 0, 1, 0x61, 0x62]],
    ['a length beyond all', [0xff, 0xff, 0xff, 0xfe]],
    ['bytes that are not UTF-8', [0, 0, 0, 2, 0xc3, 0x28]],
    ['half of a pair', [0, 0, 0, 3, 0xed, 0xa0, 0x80]],
    ['an overlong character', [0, 0, 0, 2, 0xc1, 0x81]],
  ])('are not %s', (_, bytes) => {
    expect(decodePosition(Buffer.from(bytes))).toBeNull();
  });
});
