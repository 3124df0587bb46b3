// How much room a JSON value takes once it is stored. `jsonb` keeps every digit of a number and writes them all out
// (326 characters for 5e-324), and puts a space after each comma and colon.

import { LOAD_LIMITS } from '../limits/records.js';

/**
 * A stored value is never larger than this many times the bytes of its JSON. The worst case: the 7 of `5e-324,` become
 * 328.
 */
export const MOST_GROWTH = 50;

/**
 * Whether a record with `bytes` of JSON is larger than a record may be once it is shown. Only few need a look at every
 * value.
 */
export function isTooLarge(bytes: number, value: unknown): boolean {
  const { recordBytes } = LOAD_LIMITS;
  return bytes * MOST_GROWTH > recordBytes && storedBytes(value) > recordBytes;
}

/**
 * The size of the text that `jsonb` writes for a JSON value. As in its JSON, members that are undefined do not count. The
 * value must not be nested deeper than the stack allows.
 */
export function storedBytes(value: unknown): number {
  if (typeof value === 'number') return numberLength(value);
  if (typeof value !== 'object' || value === null) return Buffer.byteLength(JSON.stringify(value ?? null));
  let [bytes, members] = [2, 0];
  const add = (more: number): void => {
    bytes += (members > 0 ? 2 : 0) + more;
    members += 1;
  };
  if (Array.isArray(value)) for (const item of value) add(storedBytes(item));
  else {
    for (const key of Object.keys(value)) {
      const member: unknown = Reflect.get(value, key);
      if (member !== undefined) add(storedBytes(key) + 2 + storedBytes(member));
    }
  }
  return bytes;
}

/** The length of the number written out without an exponent. */
function numberLength(value: number): number {
  const text = JSON.stringify(value);
  if (!text.includes('e')) return text.length;
  const [mantissa = '', exponent] = text.split('e');
  const power = Number(exponent);
  const digits = mantissa.replace(/[-.]/g, '').length;
  const sign = value < 0 ? 1 : 0;
  return sign + (power < 0 ? 1 - power + digits : Math.max(power + 1, digits));
}
