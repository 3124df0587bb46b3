// Turns tables into the bytes of a snapshot file: the document and its seal, as one canonical text.
import type { PolicyChecks } from '../model/checks.js';
import { countsOf, type SnapshotCounts, type PolicyTables } from '../model/tables.js';
import { toSnapshotBody } from './encode.js';
import type { SnapshotBody } from './document.js';
import { type Digest, digestOf } from './hash.js';

export interface CompiledSnapshot {
  /** The file: canonical JSON in UTF-8, without a trailing newline. */
  readonly bytes: Uint8Array;
  /** The snapshot digest: the digest of exactly these bytes. */
  readonly digest: Digest;
  /** The decision digest. */
  readonly decisions: Digest;
  readonly counts: SnapshotCounts;
}

/**
 * The body is written once, by `JSON.stringify`. Its text is canonical because `toSnapshotBody` makes plain lists with keys in
 * canonical order. Loading compares each file with the same text. Null if JavaScript has no text of that length, which is more than
 * the limit of bytes.
 */
export function sealSnapshot(
  tables: PolicyTables,
  stated: { readonly checks: PolicyChecks; readonly decisions: Digest },
): CompiledSnapshot | null {
  const { decisions } = stated;
  const text = sealedText(toSnapshotBody(tables, stated));
  if (text === null) return null;
  const bytes = new TextEncoder().encode(text);
  return { bytes, digest: digestOf(bytes), decisions, counts: countsOf(tables) };
}

function sealedText(snapshot: SnapshotBody): string | null {
  try {
    const body = JSON.stringify(snapshot);
    // The seal covers the whole body.
    return `{"seal":"${digestOf(body)}","snapshot":${body}}`;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
