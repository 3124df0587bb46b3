// Sets of numbers as events hold them, bit by bit.
import { expect, it } from '@jest/globals';
import { decodeGaps, encodeGaps } from '../../../server/audit/golomb-set.js';

const UNIT = 2 ** 23;
/** Bits as text, spaces left out, filled up with zeros. */
function bytesOf(bits: string): Buffer {
  const bytes = bits.replaceAll(' ', '').match(/.{1,8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2)));
}
const plain = (n: number): string => n.toString(2).padStart(23, '0');

/** Numbers, and the bits of their gaps. */
const SETS: readonly (readonly [readonly number[], string])[] = [
  [[], ''],
  [[0], `0 ${plain(0)}`],
  [[1], `0 ${plain(1)}`],
  [[UNIT - 1], `0 ${'1'.repeat(23)}`],
  [[UNIT], `10 ${plain(0)}`],
  [[3 * UNIT + 5], `1110 ${plain(5)}`],
  [[7, 7, 9], `0 ${plain(7)} 0 ${plain(0)} 0 ${plain(2)}`],
  [[0x2a_5555, 0x2a_5555 + UNIT + 0x55_aaaa], `0 ${plain(0x2a_5555)} 10 ${plain(0x55_aaaa)}`],
];

it.each(SETS)('%p', (numbers, bits) => {
  const bytes = bytesOf(bits);
  expect(Buffer.compare(encodeGaps(numbers), bytes)).toBe(0);
  const [count, bound] = [numbers.length, (numbers.at(-1) ?? 0) + 1];
  expect(decodeGaps(bytes, { count, bound })).toEqual({ ok: true, numbers });
  if (count > 0) {
    const last = numbers
      .slice(0, -1)
      .reduce((sum, n, i) => sum + Math.floor((n - (numbers[i - 1] ?? 0)) / UNIT) + 24, 0);
    const fault = `number ${String(count)} is beyond the range`;
    expect(decodeGaps(bytes, { count, bound: bound - 1 })).toEqual({ ok: false, bit: last, fault });
  }
});

it.each<readonly [string, string, number, { readonly bit: number; readonly fault: string }]>([
  ['too few bytes for its count', plain(0), 2, { bit: 24, fault: 'ends before 2 numbers' }],
  ['one number too few', `0 ${plain(0)} 0 ${plain(0)}`, 3, { bit: 48, fault: 'ends before 3 numbers' }],
  // As many bytes as two short numbers have, of which the first is long.
  ['an end within a number', `10 ${plain(0)} 0 ${'0'.repeat(22)}`, 2, { bit: 48, fault: 'ends within number 2 of 2' }],
  ['ones to the end', '1'.repeat(48), 2, { bit: 48, fault: 'ends within number 1 of 2' }],
  ['a byte behind the last', `0 ${plain(0)} 00000000`, 1, { bit: 24, fault: 'continues after the last number' }],
  [
    'a byte and a half behind',
    `10 ${plain(0)} 0000000 00000001`,
    1,
    { bit: 25, fault: 'continues after the last number' },
  ],
  ['a bit behind the last', `10 ${plain(0)} 0010000`, 1, { bit: 27, fault: 'continues after the last number' }],
  ['a bit right behind the last', `10 ${plain(0)} 1000000`, 1, { bit: 25, fault: 'continues after the last number' }],
  ['a bit at the very end', `10 ${plain(0)} 0000001`, 1, { bit: 31, fault: 'continues after the last number' }],
  ['anything where nothing is', '00000000', 0, { bit: 0, fault: 'continues after the last number' }],
])('reads no %s, and says where', (_, bits, count, expected) => {
  expect(decodeGaps(bytesOf(bits), { count, bound: 100 * UNIT })).toEqual({ ok: false, ...expected });
});

it('ends with any bits below a byte that are zero', () => {
  for (let high = 0; high < 8; high += 1) {
    const bytes = bytesOf(`${'1'.repeat(high)}0 ${plain(3)}`);
    expect(decodeGaps(bytes, { count: 1, bound: 100 * UNIT })).toEqual({ ok: true, numbers: [high * UNIT + 3] });
  }
});
