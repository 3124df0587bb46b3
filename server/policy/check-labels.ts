// After a gateway has begun to serve a snapshot, its labels are worked out in a thread of their own: no decision reads them, but status
// and log repeat them. A false one is an alarm; the policy goes on serving, as it decides by its content.
import type { Logger } from '../ports.js';
import type { Active, ActivePolicy } from './active-policy.js';
import { verifyInThread } from './snapshot-thread.js';

export interface LabelCheck {
  readonly policies: ActivePolicy;
  readonly log: Logger;
  readonly verify?: typeof verifyInThread;
}

/** Resolves when it is known, and `policies` then knows it as well. Never rejects. */
export async function checkLabels(active: Active, bytes: Uint8Array, check: LabelCheck): Promise<void> {
  const { policies, log, verify = verifyInThread } = check;
  const { digest: snapshot, decisions } = active.policy;
  try {
    const fault = await verify(bytes);
    policies.noteLabels(active.generation, fault === null ? 'verified' : 'false');
    if (fault !== null)
      log.error({ snapshot, decisions, code: fault.code }, `the snapshot carries a false label: ${fault.message}`);
  } catch (error) {
    log.error({ snapshot, error }, 'the labels of the snapshot could not be checked');
  }
}
