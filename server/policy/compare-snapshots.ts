// Compares two stored snapshots cell by cell. It loads the compiler and both policies, so it runs on a thread of its
// own.
import { diffPolicies } from '../../engine/compiler.js';
import { loadSnapshot, type Policy, type SnapshotFault, verifyDecisions } from '../../engine/index.js';
import { boundDifference, type Difference } from './policy-difference.js';
import { refusal, snapshotRefused } from './policy-fault.js';
import { sha256Of } from './snapshot-bytes.js';

export interface Sides {
  readonly old: Side;
  readonly changed: Side;
}

export interface Side {
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly digest: string;
  /** Whether the digests that it states about its decisions are known to be true. */
  readonly isVerified: boolean;
}

export type Compared =
  | { readonly kind: 'compared'; readonly difference: Difference }
  /** The digest of the snapshot with a false label, and what is false. */
  | { readonly kind: 'mislabelled'; readonly digest: string; readonly fault: SnapshotFault };

/** Throws `PolicyRefused`. */
export function compareSnapshots({ old, changed }: Sides): Compared {
  const policies = [open(old), open(changed)] as const;
  for (const [index, { digest, isVerified }] of [old, changed].entries()) {
    // Cells are compared by computed digests, never by what a file says about itself.
    const fault = isVerified ? null : verifyDecisions(policies[index] ?? policies[0]);
    if (fault !== null) return { kind: 'mislabelled', digest, fault };
  }
  return { kind: 'compared', difference: boundDifference(diffPolicies(...policies)) };
}

function open({ parts, digest }: Side): Policy {
  const bytes = Buffer.concat(parts);
  if (sha256Of(bytes) !== digest)
    throw refusal('snapshot.damaged', `the bytes of ${digest} in the store are not intact: publish it again`);
  const loaded = loadSnapshot(bytes);
  if (!loaded.ok) throw snapshotRefused(loaded.fault, digest);
  return loaded.policy;
}
