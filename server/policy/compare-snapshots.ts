// Compares two stored snapshots cell by cell. It loads the compiler and both policies, so it runs on a thread of its
// own.
import { diffPolicies } from '../../engine/compiler.js';
import { loadSnapshot, type Policy, verifyDecisions } from '../../engine/index.js';
import { sha256Of } from './open-bytes.js';
import { boundDifference, type Difference } from './policy-difference.js';
import { faultOfSnapshot, oneLine, type PolicyFault } from './policy-fault.js';

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

export type Compared = { readonly kind: 'compared'; readonly difference: Difference } | Refused;

interface Refused {
  readonly kind: 'refused';
  readonly fault: PolicyFault;
  /** The digest of the snapshot with a false label; null if the refusal has another reason. */
  readonly mislabelled: string | null;
}

export function compareSnapshots({ old, changed }: Sides): Compared {
  const [before, after] = [read(old), read(changed)];
  if ('fault' in before) return before;
  if ('fault' in after) return after;
  return { kind: 'compared', difference: boundDifference(diffPolicies(before, after)) };
}

function read({ parts, digest, isVerified }: Side): Policy | Refused {
  const bytes = Buffer.concat(parts);
  if (sha256Of(bytes) !== digest) {
    const message = `the bytes of ${digest} in the store are not intact: publish it again`;
    return { kind: 'refused', fault: oneLine('snapshot.damaged', message), mislabelled: null };
  }
  const loaded = loadSnapshot(bytes);
  if (!loaded.ok) return { kind: 'refused', fault: faultOfSnapshot(loaded.fault, digest), mislabelled: null };
  // Cells are compared by computed digests, never by what a file says about itself.
  const fault = isVerified ? null : verifyDecisions(loaded.policy);
  if (fault === null) return loaded.policy;
  return { kind: 'refused', fault: faultOfSnapshot(fault, digest), mislabelled: digest };
}
