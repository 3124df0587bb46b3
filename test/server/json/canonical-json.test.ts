// Canonical JSON by RFC 8785: one text for a value whatever order and spelling it came in, and nothing for what is not JSON.
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { snapshotJson } from '../../../engine/snapshot/canonical.js';
import { canonicalJson } from '../../../server/json/canonical-json.js';

/** What is written, and how it has to be written. */
const NUMBERS: readonly (readonly [written: string, canonical: string])[] = [
  ['0', '0'],
  ['-0', '0'],
  ['-0.0', '0'],
  ['7.0', '7'],
  ['2.50', '2.5'],
  ['4e-3', '0.004'],
  ['0.000001', '0.000001'],
  ['0.0000001', '1e-7'],
  ['1E20', '100000000000000000000'],
  ['1E21', '1e+21'],
  ['123456789012345680000', '123456789012345680000'],
  ['1234567890123456800000', '1.2345678901234568e+21'],
  ['6.02e23', '6.02e+23'],
  ['9007199254740991', '9007199254740991'],
  ['-9007199254740992', '-9007199254740992'],
  ['0.1000000000000000055511151231257827', '0.1'],
  ['0.30000000000000004', '0.30000000000000004'],
  ['4.9e-324', '5e-324'],
  ['2.2250738585072014e-308', '2.2250738585072014e-308'],
  ['1.7976931348623157e308', '1.7976931348623157e+308'],
];

const STRINGS: readonly (readonly [written: string, canonical: string])[] = [
  ['""', '""'],
  ['"\\u0041\\/\\u002f"', '"A//"'],
  ['"\\u0022\\u005c"', '"\\"\\\\"'],
  ['"\\u0008\\u0009\\u000a\\u000c\\u000d"', '"\\b\\t\\n\\f\\r"'],
  ['"\\u0000\\u0007\\u000B\\u001F"', '"\\u0000\\u0007\\u000b\\u001f"'],
  ['"\\u007f\\u0080\\u2028\\u00e9\\u20AC"', '"\u007f\u0080\u2028\u00e9\u20ac"'],
  ['"\\ud83d\\ude80"', '"\u{1f680}"'],
  // Not normalized: these are two strings.
  ['"e\\u0301"', '"e\u0301"'],
];

const OBJECTS: readonly (readonly [written: string, canonical: string])[] = [
  ['{}', '{}'],
  [' [ ] ', '[]'],
  ['{"b":1,"a":2,"":3,"A":4,"10":5,"9":6}', '{"":3,"10":5,"9":6,"A":4,"a":2,"b":1}'],
  // By code units a character beyond U+FFFF comes before U+E000, by code points after it.
  ['{"\\ue000":1,"\\ud800\\udc00":2,"\\u20ac":3,"\\r":4}', '{"\\r":4,"\u20ac":3,"\u{10000}":2,"\ue000":1}'],
  ['{"ab":1,"a":2,"a\\u0000":3}', '{"a":2,"a\\u0000":3,"ab":1}'],
  ['[{"z":[3,1,2],"y":{"d":null,"c":[true,false]}},[]]', '[{"y":{"c":[true,false],"d":null},"z":[3,1,2]},[]]'],
  ['{"toJSON":1,"__proto__":{"x":2},"constructor":3}', '{"__proto__":{"x":2},"constructor":3,"toJSON":1}'],
];

describe('canonical JSON', () => {
  it.each([...NUMBERS, ...STRINGS, ...OBJECTS])('of %s is %s', (written, canonical) => {
    expect(canonicalJson(JSON.parse(written))).toBe(canonical);
  });

  it('is JSON of the same value, the same whatever the order of keys, and of itself', () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, member]) => [key, reversed(member)]),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = canonicalJson(value);
        const parsed: unknown = JSON.parse(text);
        expect(parsed).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(canonicalJson(parsed)).toBe(text);
      }),
    );
  });

  it('writes what the engine takes as the engine writes it', () => {
    const whole = (value: unknown): unknown => {
      if (typeof value === 'number') return Math.trunc(value % 2 ** 53) || 0;
      if (Array.isArray(value)) return value.map(whole);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, whole(member)]));
    };
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
        const integers = [whole(JSON.parse(JSON.stringify(value)))];
        expect(canonicalJson(integers)).toBe(snapshotJson(integers));
      }),
    );
  });

  it('differs where values differ', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const one: unknown = JSON.parse(JSON.stringify(a));
        const other: unknown = JSON.parse(JSON.stringify(b));
        expect(canonicalJson(one) === canonicalJson(other)).toBe(isDeepStrictEqual(one, other));
      }),
    );
  });

  it.each([
    ['undefined', undefined],
    ['a member that is undefined', { a: undefined }],
    ['a hole', new Array(2)],
    ['NaN', { a: [NaN] }],
    ['an infinity', -Infinity],
    ['a big integer', 1n],
    ['a symbol', Symbol('a')],
    ['a function', [() => 1]],
    ['a lone surrogate', 'a\ud800'],
    ['a lone surrogate in a key', { '\udc00a': 1 }],
    ['a key that is a symbol', { [Symbol('a')]: 1 }],
    ['a date', new Date(0)],
    ['a map', { a: new Map([['a', 1]]) }],
    ['a boxed number', Object(1)],
    ['an object that says how it is serialized', { toJSON: () => 1 }],
  ])('refuses %s', (_, value: unknown) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });
});
