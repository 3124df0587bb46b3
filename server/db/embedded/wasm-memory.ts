// How much memory a WebAssembly module asks for at its start. It is the minimum of the memory that the module imports,
// so nobody can give it less without changing the module.

const HEADER = 8;
const IMPORTS = 2;
/** Kinds of imports. */
const KIND = { function: 0, table: 1, memory: 2 } as const;
const HAS_MAXIMUM = 1;

/** A copy of the module whose memory has so many pages at its start. Throws if the module imports no memory. */
export function withInitialPages(module: Uint8Array, pages: number): Uint8Array<ArrayBuffer> {
  const changed = new Uint8Array(module);
  const at = minimumAt(changed);
  // The length of the number must stay the same: it is filled up with zeros.
  const length = lengthOfNumber(changed, at);
  if (pages >= 2 ** (7 * length)) throw new RangeError(`${String(pages)} pages are more than the module has room for`);
  for (let index = 0; index < length; index += 1) {
    const isLast = index === length - 1;
    changed[at + index] = (Math.floor(pages / 2 ** (7 * index)) & 127) | (isLast ? 0 : 128);
  }
  return changed;
}

function lengthOfNumber(bytes: Uint8Array, at: number): number {
  let length = 1;
  while (((bytes[at + length - 1] ?? 0) & 128) !== 0) length += 1;
  return length;
}

/** Where the minimum of the imported memory stands. */
function minimumAt(bytes: Uint8Array): number {
  let at = HEADER;
  const byte = (): number => {
    const value = bytes[at];
    if (value === undefined) throw new RangeError('the module imports no memory');
    at += 1;
    return value;
  };
  const number = (): number => {
    const length = lengthOfNumber(bytes, at);
    let value = 0;
    for (let index = 0; index < length; index += 1) value += (byte() & 127) * 2 ** (7 * index);
    return value;
  };
  const skip = (length: number): void => {
    at += length;
  };
  for (;;) {
    const section = byte();
    const length = number();
    if (section !== IMPORTS) {
      skip(length);
      continue;
    }
    for (let left = number(); left > 0; left -= 1) {
      skip(number());
      skip(number());
      const kind = byte();
      if (kind === KIND.function) number();
      else if (kind === KIND.table) {
        byte();
        if ((byte() & HAS_MAXIMUM) !== 0) number();
        number();
      } else if (kind === KIND.memory) {
        byte();
        return at;
      } else skip(2); // a global: its type and whether it changes
    }
    throw new RangeError('the module imports no memory');
  }
}
