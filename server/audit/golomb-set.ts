// A sorted list of numbers, spread evenly below a bound, in about three bytes each (docs/audit.md "The records that an
// answer showed"): the gaps between them as Golomb-Rice codes. Every list has one encoding, and nothing else decodes.

/** Bits of a gap that are written as they are. Above them, a gap is written in unary. */
const PLAIN_BITS = 23;
const PLAIN = 2 ** PLAIN_BITS;
/** The shortest code of one gap. */
const SHORTEST = PLAIN_BITS + 1;

/** The numbers are ascending safe integers; they may repeat. */
export function encodeGaps(numbers: readonly number[]): Buffer {
  const gaps = numbers.map((number, index) => number - (numbers[index - 1] ?? 0));
  const bits = gaps.reduce((sum, gap) => sum + Math.floor(gap / PLAIN) + SHORTEST, 0);
  const bytes = Buffer.alloc(Math.ceil(bits / 8));
  let at = 0;
  const one = (): void => {
    const byte = at >> 3;
    bytes[byte] = (bytes[byte] ?? 0) | (0x80 >> (at & 7));
  };
  for (const gap of gaps) {
    for (let left = Math.floor(gap / PLAIN); left > 0; left -= 1) {
      one();
      at += 1;
    }
    at += 1;
    const plain = gap % PLAIN;
    for (let bit = PLAIN_BITS - 1; bit >= 0; bit -= 1) {
      if ((plain >> bit) & 1) one();
      at += 1;
    }
  }
  return bytes;
}

/** `bit` is where the first thing stands that no encoder writes, counted from 0. */
export type DecodedGaps =
  | { readonly ok: true; readonly numbers: readonly number[] }
  | { readonly ok: false; readonly bit: number; readonly fault: string };

/** `count` numbers, each below `bound`. */
export function decodeGaps(
  bytes: Uint8Array,
  { count, bound }: { readonly count: number; readonly bound: number },
): DecodedGaps {
  const end = bytes.length * 8;
  const numbers: number[] = [];
  let [at, last] = [0, 0];
  const fail = (bit: number, fault: string): DecodedGaps => ({ ok: false, bit, fault });
  const bitAt = (bit: number): number => ((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1;
  // Checked first, so that a count that was made up takes no time.
  if (count * SHORTEST > end) return fail(end, `ends before ${String(count)} numbers`);
  while (numbers.length < count) {
    const begin = at;
    let high = 0;
    // Behind the end there are only zeros.
    while (bitAt(at) === 1) {
      high += 1;
      at += 1;
    }
    if (at + SHORTEST > end) return fail(end, `ends within number ${String(numbers.length + 1)} of ${String(count)}`);
    at += 1;
    let plain = 0;
    for (const stop = at + PLAIN_BITS; at < stop; at += 1) plain = plain * 2 + bitAt(at);
    last += high * PLAIN + plain;
    if (last >= bound) return fail(begin, `number ${String(numbers.length + 1)} is beyond the range`);
    numbers.push(last);
  }
  if (end - at >= 8) return fail(at, 'continues after the last number');
  for (let bit = at; bit < end; bit += 1) if (bitAt(bit) === 1) return fail(bit, 'continues after the last number');
  return { ok: true, numbers };
}
