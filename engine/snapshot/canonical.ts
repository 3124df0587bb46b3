// The JSON of snapshots and statements (engine/README.md "The snapshot file"): canonical JSON (RFC 8785) that every JSON reader turns into
// the same value. It takes plain objects, arrays, strings, booleans, null and safe integers, nested up to 32 deep. It takes no fractions,
// because languages print them differently. The serializer would write a Map as `{}` and NaN as null, so a guard refuses everything else
// first. What clients send may have fractions: the server's `canonicalJson` takes everything that JSON can express.
import stringify from 'fast-json-stable-stringify';
import { invariant } from '../model/invariant.js';

const DEPTH = 32;

/** One text for one value, on every machine. Throws `InvariantError` for a value that is not plain JSON. */
export function snapshotJson(value: object): string {
  assertPlain(value, 0);
  return stringify(value);
}

function assertPlain(value: unknown, depth: number): void {
  invariant(depth <= DEPTH, 'canonical JSON is not nested this deeply');
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) assertPlainArray(value, depth);
    else assertPlainObject(value, depth);
  } else {
    assertPlainScalar(value);
  }
}

function assertPlainScalar(value: unknown): void {
  if (typeof value === 'number') {
    invariant(Number.isSafeInteger(value) && !Object.is(value, -0), 'numbers of canonical JSON are safe integers');
  } else if (typeof value === 'string') {
    invariant(value.isWellFormed(), 'texts of canonical JSON have no lone surrogates');
  } else {
    invariant(value === null || typeof value === 'boolean', `canonical JSON has no ${typeof value}`);
  }
}

function assertPlainArray(value: readonly unknown[], depth: number): void {
  invariant(Object.getPrototypeOf(value) === Array.prototype, 'arrays of canonical JSON are plain');
  invariant(Object.keys(value).length === value.length, 'arrays of canonical JSON have no holes and no other keys');
  for (const item of value) assertPlain(item, depth + 1);
}

function assertPlainObject(value: object, depth: number): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  invariant(prototype === Object.prototype || prototype === null, 'objects of canonical JSON are plain');
  for (const key of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    invariant(
      typeof key === 'string' && key !== 'toJSON',
      'keys of canonical JSON are texts that mean nothing to a serializer',
    );
    invariant(
      property !== undefined && property.enumerable === true && 'value' in property,
      'canonical JSON has no accessors',
    );
    assertPlainScalar(key);
    assertPlain(property.value, depth + 1);
  }
}
