// The one way from the bytes of a snapshot to a policy that may decide.
import { loadSnapshot, type Policy, type SnapshotFault } from '../../engine/index.js';

export type Verified =
  { readonly ok: true; readonly policy: Policy } | { readonly ok: false; readonly fault: SnapshotFault };

/** Verifies everything before any of it is used. Never rejects. Asynchronous, so that it may be done off the event loop. */
export function verifyPolicy(bytes: Uint8Array): Promise<Verified> {
  return Promise.resolve(loadSnapshot(bytes));
}
