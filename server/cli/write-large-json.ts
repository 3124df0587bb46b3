// One JSON object that may be larger than the largest text that JavaScript can hold, as a list in it may be, or one element
// of a list with lists of its own: it is written in parts.
import { type CliIo, isClosed, write } from './io.js';
import { escapeJson } from './render/escape.js';

/** Characters that are gathered before they are written. */
const CHUNK = 64 * 1024;

/** What has no more lists and objects in it than these is written whole, which is quicker by far. */
const SMALL = 256;

/** As `writeJson` of plain data, with the fields in this order; undefined ones are left out. */
export async function writeLargeJson(
  io: CliIo,
  fields: readonly (readonly [name: string, value: unknown])[],
): Promise<void> {
  let pending = '';
  for (const part of partsOfObject(fields)) {
    pending += part;
    if (pending.length < CHUNK) continue;
    if (isClosed(io.stdout)) return;
    await write(io.stdout, escapeJson(pending));
    pending = '';
  }
  await write(io.stdout, `${escapeJson(pending)}\n`);
}

function* partsOf(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null || sizeOf(value, SMALL) <= SMALL) yield JSON.stringify(value);
  else if (Array.isArray(value)) yield* partsOfList(value);
  else yield* partsOfObject(Object.entries(value));
}

/** How many lists and objects a value is made of; stops counting above `most`. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  let size = 1;
  const inside: readonly unknown[] = Object.values(value);
  for (const inner of inside) {
    if (size > most) break;
    size += sizeOf(inner, most - size);
  }
  return size;
}

function* partsOfList(list: readonly unknown[]): Generator<string> {
  yield '[';
  for (const [i, element] of list.entries()) {
    if (i > 0) yield ',';
    yield* partsOf(element ?? null);
  }
  yield ']';
}

function* partsOfObject(fields: Iterable<readonly [string, unknown]>): Generator<string> {
  let separator = '{';
  for (const [name, value] of fields) {
    if (value === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    yield* partsOf(value);
  }
  yield separator === '{' ? '{}' : '}';
}
