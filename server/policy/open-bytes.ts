// Opens the bytes of a snapshot to be served: they must be the snapshot that was meant, and intact in every part.
import { createHash } from 'node:crypto';
import { type PackedPolicy, packSnapshot } from '../../engine/index.js';
import { faultOfSnapshot, oneLine, type PolicyFault } from './policy-fault.js';

export interface Meant {
  /** Undefined if any snapshot will do. */
  readonly digest: string | undefined;
  /** The digest of the snapshot that a statement is about; null if no signature is required. */
  readonly signed: string | null;
}

export type OpenedBytes =
  | {
      readonly kind: 'opened';
      readonly packed: PackedPolicy;
      /** The snapshot's exact bytes. */
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'refused'; readonly fault: PolicyFault };

export function openBytes(bytes: Uint8Array, meant: Meant): OpenedBytes {
  const digest = sha256Of(bytes);
  if ((meant.digest ?? digest) !== digest) {
    return { kind: 'refused', fault: oneLine('snapshot.digest', `its bytes are another snapshot (${digest})`) };
  }
  if ((meant.signed ?? digest) !== digest) {
    return { kind: 'refused', fault: oneLine('statement.subject', 'the statement is about another snapshot') };
  }
  const packed = packSnapshot(bytes);
  if (!packed.ok) return { kind: 'refused', fault: faultOfSnapshot(packed.fault, digest) };
  return { kind: 'opened', packed: packed.packed, bytes };
}

export function sha256Of(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
