// Canonical JSON (RFC 8785): one text for one JSON value, however it was written. Fingerprints of bodies and queries
// are made from it. The engine's `snapshotJson` writes the same text, but accepts fewer values, so that every language
// reads a snapshot in the same way.

/**
 * Numbers as ECMAScript prints them, keys in the order of their UTF-16 code units, no white space. Throws a `TypeError`
 * for values that JSON does not have: undefined, functions, NaN, infinities, big integers, lone surrogates, holes, and
 * objects that are not plain.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return stringText(value);
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value !== 'object') throw new TypeError(`JSON has no ${typeof value}`);
  return isList(value) ? listText(value) : objectText(value);
}

/** RFC 8785 escapes strings exactly as `JSON.stringify` does. */
function stringText(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('a JSON string has no lone surrogates');
  return JSON.stringify(text);
}

function numberText(number: number): string {
  if (!Number.isFinite(number)) throw new TypeError(`JSON has no ${String(number)}`);
  return String(number);
}

function isList(value: object): value is readonly unknown[] {
  return Array.isArray(value);
}

function listText(list: readonly unknown[]): string {
  let text = '';
  // A hole reads as undefined, which is refused.
  for (const item of list) text += `${text === '' ? '' : ','}${canonicalJson(item)}`;
  return `[${text}]`;
}

function objectText(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError('JSON has plain objects only');
  if (Object.getOwnPropertySymbols(value).length > 0) throw new TypeError('keys of JSON are strings');
  let text = '';
  for (const key of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ','}${stringText(key)}:${canonicalJson(Reflect.get(value, key))}`;
  }
  return `{${text}}`;
}
