// Turns tables into the bytes of a snapshot file: the document and its seal, as one canonical text.
import type { PolicyChecks } from '../model/checks.js';
import { countsOf, type SnapshotCounts, type PolicyTables } from '../model/tables.js';
import { toSnapshotBody } from './encode.js';
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
 * canonical order. Loading compares each file with the same text.
 */
export function sealSnapshot(
  tables: PolicyTables,
  stated: { readonly checks: PolicyChecks; readonly decisions: Digest },
): CompiledSnapshot {
  const { decisions } = stated;
  const body = JSON.stringify(toSnapshotBody(tables, stated));
  // The seal covers the whole body.
  const bytes = new TextEncoder().encode(`{"seal":"${digestOf(body)}","snapshot":${body}}`);
  return { bytes, digest: digestOf(bytes), decisions, counts: countsOf(tables) };
}
