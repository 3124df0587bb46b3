// Tables to the bytes of a snapshot file: the document and its seal, one canonical text.
import type { PolicyChecks } from '../model/checks.js';
import { countsOf, type SnapshotCounts, type PolicyTables } from '../model/tables.js';
import { toSnapshotBody } from './encode.js';
import { type Digest, digestOf } from './hash.js';

export interface CompiledSnapshot {
  /** The file: canonical JSON in UTF-8, without a trailing newline. */
  readonly bytes: Uint8Array;
  /** The snapshot digest, of exactly these bytes. */
  readonly digest: Digest;
  /** The decision digest. */
  readonly decisions: Digest;
  readonly counts: SnapshotCounts;
}

/**
 * The body is written once. `toSnapshotBody` makes plain lists with keys in canonical order, of which JSON has one text; loading
 * compares every file with just that text.
 */
export function sealSnapshot(
  tables: PolicyTables,
  stated: { readonly checks: PolicyChecks; readonly decisions: Digest },
): CompiledSnapshot {
  const { decisions } = stated;
  const body = JSON.stringify(toSnapshotBody(tables, stated));
  // The seal is of everything in the file but itself.
  const bytes = new TextEncoder().encode(`{"seal":"${digestOf(body)}","snapshot":${body}}`);
  return { bytes, digest: digestOf(bytes), decisions, counts: countsOf(tables) };
}
