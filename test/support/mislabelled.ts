// A snapshot that states something false about its decisions, and is intact otherwise.
import { createHash } from 'node:crypto';

export function mislabelled(bytes: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(bytes);
  const body = text.slice(text.indexOf('"snapshot":') + '"snapshot":'.length, -1);
  const changed = body.replace(/"decisions":"sha256:[0-9a-f]{64}"/, `"decisions":"sha256:${'0'.repeat(64)}"`);
  const digest = createHash('sha256').update(changed).digest('hex');
  return new TextEncoder().encode(`{"seal":"sha256:${digest}","snapshot":${changed}}`);
}
