// Bytes that threads share: copying a large snapshot from one to the other would stop whoever answers requests.
import { types } from 'node:util';

/** The same bytes, copied unless they are in shared memory already. Nobody writes to them from then on. */
export function toShared(bytes: Uint8Array): Uint8Array {
  if (types.isSharedArrayBuffer(bytes.buffer)) return bytes;
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}
