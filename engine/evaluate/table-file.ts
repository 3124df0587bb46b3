// A packed policy as bytes, so that the program that made them can open it again without its snapshot: the columns of
// the table, then facts and texts as JSON, then the length of that. Nothing here says whether bytes are genuine.
// Whoever opens them must know their hash from the time when they were made (engine/README.md "The table as a file").
import { layOut } from '../table/columns.js';
import type { PackedPolicy } from './open-snapshot.js';

/**
 * Raise it with any change to what the table holds or to what its numbers mean. A test fails if a table changes and
 * this does not.
 */
const TABLE_FORMAT = 1;

/** Names a form of the table. Columns are in the byte order of the machine. */
export const TABLE_LAYOUT = `${String(TABLE_FORMAT)}-${isLittleEndian() ? 'le' : 'be'}`;

function isLittleEndian(): boolean {
  return new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
}

/** What follows the columns. `snapshot` is not stated twice: it is a fact. */
interface Tail extends Pick<PackedPolicy, 'facts'> {
  readonly table: Omit<PackedPolicy['table'], 'buffer'>;
}

/** The bytes of the length of the tail, at the very end. */
const LENGTH_BYTES = 4;

/** The parts of the file, in order. The first is the policy's own memory: nobody may write to it. */
export function tableParts({ facts, table: { buffer, ...table } }: PackedPolicy): readonly Uint8Array[] {
  const tail: Tail = { facts, table };
  const text = new TextEncoder().encode(JSON.stringify(tail));
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, text.length, true);
  return [new Uint8Array(buffer, 0, layOut(table.sizes, null).bytes), text, length];
}

/**
 * Opens bytes that `tableParts` made in this layout. They become the memory of the policy, so nobody may write to them
 * any more. Null for other bytes, as far as their lengths tell.
 */
export function openTableFile(bytes: Uint8Array): PackedPolicy | null {
  const { buffer, byteOffset, length } = bytes;
  if (byteOffset !== 0) return null;
  const end = length - LENGTH_BYTES;
  try {
    const columns = end - new DataView(buffer, end, LENGTH_BYTES).getUint32(0, true);
    // Bytes that threads share have no text: hence a copy.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.slice(columns, end));
    const tail: unknown = JSON.parse(text);
    if (!isTail(tail) || layOut(tail.table.sizes, null).bytes !== columns) return null;
    return { facts: tail.facts, table: { ...tail.table, buffer } };
  } catch {
    return null;
  }
}

/** Only the sizes are examined: whoever opens a file knows that it is what `tableParts` wrote. */
function isTail(tail: unknown): tail is Tail {
  const sizes = memberOf(memberOf(tail, 'table'), 'sizes') ?? {};
  return (
    memberOf(tail, 'facts') !== undefined &&
    Object.values(sizes).every((size) => Number.isSafeInteger(size) && size >= 0)
  );
}

function memberOf(value: unknown, key: string): unknown {
  return value instanceof Object ? Reflect.get(value, key) : undefined;
}
