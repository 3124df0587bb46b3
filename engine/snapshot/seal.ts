// Tables to the bytes of a snapshot file: the document sealed and frozen, one canonical text.
import { Immer } from 'immer';
import type { HolderClasses } from '../model/holders.js';
import { countsOf, type SnapshotCounts, type PolicyTables } from '../model/tables.js';
import { canonicalJson } from './canonical.js';
import { deepFreeze } from './deep-freeze.js';
import type { SnapshotDocument } from './document.js';
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
  /** What the bytes were made from and what was worked out of it, for opening them in the same process. */
  readonly worked: CompiledCells;
}

export interface CompiledCells {
  readonly tables: PolicyTables;
  readonly holders: HolderClasses;
  /** See `CellDigests.changes`. */
  readonly changes: readonly (Digest | null)[];
}

// The columns of a draft are frozen by our own freezer before a draft exists; immer shares them and need not look again.
const { produce } = new Immer({ autoFreeze: false });

export function sealSnapshot(worked: CompiledCells, decisions: Digest): CompiledSnapshot {
  const { tables } = worked;
  const unsealed = deepFreeze<SnapshotDocument>({ seal: '', snapshot: toSnapshotBody(tables, decisions) });
  const document = deepFreeze(
    produce(unsealed, (draft) => {
      // Of everything in the file but itself.
      draft.seal = digestOf(canonicalJson(unsealed.snapshot));
    }),
  );
  const bytes = new TextEncoder().encode(canonicalJson(document));
  return { bytes, digest: digestOf(bytes), decisions, counts: countsOf(tables), worked };
}
