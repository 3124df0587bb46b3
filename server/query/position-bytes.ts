// The bytes of a position, which a cursor seals: for each sort column the length of its text in four bytes and then the
// text in UTF-8, or a mark for NULL. Nothing is escaped, so a position is as large as its texts, and it has only one
// spelling.
import type { SortPosition } from './order.js';

const LENGTH = 4;
/** Stands in place of a length; no text is that long. */
const NULL_MARK = 0xffff_ffff;

export function encodePosition(position: SortPosition): Buffer {
  const lengths = position.map((text) => (text === null ? 0 : Buffer.byteLength(text)));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + LENGTH + length, 0));
  let at = 0;
  position.forEach((text, index) => {
    at = bytes.writeUInt32BE(text === null ? NULL_MARK : (lengths[index] ?? 0), at);
    if (text !== null) at += bytes.write(text, at);
  });
  return bytes;
}

/** Null for bytes that `encodePosition` never makes: truncated, with bytes left over, or not UTF-8. */
export function decodePosition(bytes: Buffer): SortPosition | null {
  const position: (string | null)[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + LENGTH > bytes.length) return null;
    const length = bytes.readUInt32BE(at);
    at += LENGTH;
    if (length === NULL_MARK) {
      position.push(null);
      continue;
    }
    if (at + length > bytes.length) return null;
    const text = textOf(bytes.subarray(at, at + length));
    if (text === null) return null;
    position.push(text);
    at += length;
  }
  return position;
}

/** `ignoreBOM` keeps a byte order mark: it is a character of the text like any other. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer): string | null {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return null;
  }
}
