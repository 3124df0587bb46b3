import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { withInitialPages } from '../../../server/db/embedded/wasm-memory.js';
import { fromRoot } from '../../support/root.js';

const shipped = readFileSync(fromRoot('node_modules/@electric-sql/pglite/dist/pglite.wasm'));
const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

test('only the size of the memory changes, and the module is as long as before', () => {
  const changed = withInitialPages(shipped, 512);
  const differing = [...shipped.keys()].filter((at) => shipped[at] !== changed[at]);
  expect(changed.length).toBe(shipped.length);
  expect(differing.length).toBeGreaterThan(0);
  // A number of two bytes.
  expect(Number(differing.at(-1)) - Number(differing[0])).toBeLessThanOrEqual(1);
  expect(withInitialPages(changed, 2_048).every((byte, at) => byte === shipped[at])).toBe(true);
});

test('a memory after imports of other kinds is found', () => {
  const imports = [
    [1, 0x61, 1, 0x66, 0, 0], // a function
    [1, 0x61, 1, 0x74, 1, 0x70, 1, 1, 9], // a table with a maximum
    [1, 0x61, 1, 0x67, 3, 0x7f, 0], // a global
    [1, 0x61, 1, 0x6d, 2, 1, 0x80, 1, 0x80, 2], // the memory: 128 to 256 pages
  ];
  const section = [imports.length, ...imports.flat()];
  const module = Uint8Array.from([...HEADER, 0, 2, 0, 0, 2, section.length, ...section]);
  expect([...withInitialPages(module, 5)].slice(-4)).toEqual([0x85, 0, 0x80, 2]);
});

test('more pages than fit, and a module without a memory, are refused', () => {
  expect(() => withInitialPages(shipped, 2 ** 14)).toThrow('16384 pages are more than the module has room for');
  expect(() => withInitialPages(Uint8Array.from(HEADER), 1)).toThrow('the module imports no memory');
  expect(() => withInitialPages(Uint8Array.from([...HEADER, 2, 1, 0]), 1)).toThrow('the module imports no memory');
});
