// Names for what the source calls otherwise. Equal keys get equal names, and different keys never share one.

const NAME_LENGTH = 100;
const TAKEN: readonly string[] = ['constructor', 'prototype'];

export interface NameMaker {
  /** The name of `key`; `wanted` is what it should look like. */
  readonly of: (key: string, wanted?: string) => string;
}

export function makeNames(reserved: readonly string[] = []): NameMaker {
  const byKey = new Map<string, string>();
  const used = new Set([...TAKEN, ...reserved]);
  return {
    of: (key, wanted = key) => {
      const known = byKey.get(key);
      if (known !== undefined) return known;
      const base = asName(wanted);
      let name = base;
      for (let i = 2; used.has(name); i += 1) name = `${base}-${String(i)}`;
      used.add(name);
      byKey.set(key, name);
      return name;
    },
  };
}

function asName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, NAME_LENGTH);
  return name === '' ? 'x' : name;
}

/**
 * A segment of a namespace. Bytes that namespaces do not have are written as `~` and two hexadecimal digits, and so is `~`: two texts never
 * give one segment.
 */
export function asSegment(text: string): string {
  const escape = (part: string): string =>
    [...Buffer.from(part)].map((byte) => `~${byte.toString(16).padStart(2, '0')}`).join('');
  const segment = text.replace(/[^a-z0-9._-]+/gu, escape);
  return segment === '.' || segment === '..' ? escape(segment) : segment;
}
