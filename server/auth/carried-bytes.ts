// How much text a credential carries. Each event of the audit log repeats it, so that a decision can be made again from
// the event alone.
import { formatIdentity, type Identity } from '../../engine/index.js';

/** Bytes of the identities (groups among them) and of the namespaces that it reaches; null: all namespaces. */
export function carriedBytes(identities: readonly Identity[], restrictions: readonly string[] | null): number {
  const texts = [...identities.map(formatIdentity), ...(restrictions ?? [])];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
