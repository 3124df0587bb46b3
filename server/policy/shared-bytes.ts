// Bytes that threads share. Copying a large snapshot between threads would block the thread that answers requests.
import { types } from 'node:util';

/**
 * The same bytes in shared memory, copied only if they are not there already. Nobody may write to them from then on.
 */
export function toShared(bytes: Uint8Array): Uint8Array {
  if (types.isSharedArrayBuffer(bytes.buffer)) return bytes;
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}
