// Lines come out whole however the bytes arrive, and a line without end costs no memory.
import { describe, expect, test } from '@jest/globals';
import { type Line, readLines } from '../../server/cli/files.js';

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function linesOf(
  text: string,
  size: number,
  maxBytes = 100,
): Promise<readonly (readonly [number, string | null])[]> {
  const lines: Line[] = [];
  for await (const batch of readLines(inPieces(Buffer.from(text), size), maxBytes)) lines.push(...batch);
  return lines.map((line) => [line.number, line.bytes === null ? null : Buffer.from(line.bytes).toString()]);
}

describe.each([1, 2, 3, 7, 1000])('in pieces of %d bytes', (size) => {
  test.each<[string, string, (readonly [number, string | null])[]]>([
    ['nothing', '', []],
    ['a line without end', 'a', [[1, 'a']]],
    [
      'line ends of both kinds',
      'a\nb\r\nc\n',
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ],
    ],
    [
      'empty lines keep their numbers',
      '\n\na',
      [
        [1, ''],
        [2, ''],
        [3, 'a'],
      ],
    ],
    [
      'characters of several bytes',
      'é光\n🙂',
      [
        [1, 'é光'],
        [2, '🙂'],
      ],
    ],
  ])('%s', async (_name, text, expected) => {
    expect(await linesOf(text, size)).toEqual(expected);
  });

  test('a line over the limit is null and the next is read', async () => {
    expect(await linesOf(`${'x'.repeat(10)}\n${'y'.repeat(11)}\nz\n${'w'.repeat(11)}`, size, 10)).toEqual([
      [1, 'x'.repeat(10)],
      [2, null],
      [3, 'z'],
      [4, null],
    ]);
  });
});
