// Canonical JSON admits plain JSON and nothing else, and freezing reaches everything.
import { describe, expect, it } from '@jest/globals';
import { snapshotJson } from '../../engine/snapshot/canonical.js';
import { deepFreeze } from '../../engine/snapshot/decode.js';

/** A number within so many of what `wrap` makes. */
function nested(wrap: (inner: unknown) => unknown, depth: number): unknown {
  return depth === 0 ? 0 : wrap(nested(wrap, depth - 1));
}

describe('canonical JSON', () => {
  class Odd {
    readonly value = 1;
  }
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  it.each<[string, unknown]>([
    ['a map', new Map([['a', 1]])],
    ['a set', new Set([1])],
    ['a date', new Date(0)],
    ['an instance of a class', new Odd()],
    ['a typed array', new Uint8Array(2)],
    ['undefined', undefined],
    ['a function', (): number => 1],
    ['a symbol', Symbol('a')],
    ['a big integer', 1n],
    ['NaN', Number.NaN],
    ['minus zero', -0],
    ['a fraction', 1.5],
    ['a number that is not safe', 2 ** 53],
    ['a lone surrogate', '\ud800'],
    ['a sparse array', Object.assign(new Array<number>(2), { 1: 1 })],
    ['an array with other keys', Object.assign([1], { a: 1 })],
    ['an accessor', Object.defineProperty({}, 'a', { get: () => 1, enumerable: true })],
    ['a hidden property', Object.defineProperty({}, 'a', { value: 1, enumerable: false })],
    ['a symbol for a key', { [Symbol('a')]: 1 }],
    ['a toJSON', { toJSON: 1 }],
    ['a cycle', cyclic],
    ['a list of a class of its own', new (class extends Array<number> {})(0)],
    ['lists that are nested too deeply', nested((inner) => [inner], 32)],
    ['objects that are nested too deeply', nested((inner) => ({ a: inner }), 32)],
  ])('refuses %s', (_, value) => {
    expect(() => snapshotJson({ value })).toThrow('canonical JSON');
  });

  it('takes what is nested as deeply as it may be', () => {
    expect(snapshotJson({ value: nested((inner) => [inner], 31) })).toBe(
      `{"value":${'['.repeat(31)}0${']'.repeat(31)}}`,
    );
    expect(snapshotJson({ a: nested((inner) => ({ a: inner }), 31) })).toBe(`${'{"a":'.repeat(32)}0${'}'.repeat(32)}`);
  });

  it('takes objects without a prototype', () => {
    expect(snapshotJson({ value: Object.assign(Object.create(null) as object, { a: 1 }) })).toBe('{"value":{"a":1}}');
  });

  it('orders keys by code unit and writes the rest as it is', () => {
    expect(snapshotJson({ b: [true, null, 'é"'], a: { z: -1, A: 0 }, '\ue000': 1, '\u{10000}': 2 })).toBe(
      '{"a":{"A":0,"z":-1},"b":[true,null,"é\\""],"\u{10000}":2,"\ue000":1}',
    );
  });
});

describe('deepFreeze', () => {
  it('does not stop at what is frozen already', () => {
    const inner = { list: [[1]] };
    const outer = deepFreeze({ held: Object.freeze({ inner }) });
    expect([outer, outer.held, inner, inner.list, inner.list[0]].map((value) => Object.isFrozen(value))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
  });
});
