// Checks the labels of a snapshot, after the gateway has begun to serve it: on a thread, unless that would take longer
// than checking them (open/snapshot-thread.ts). No decision reads labels, but status and log repeat them. Checking takes
// several times as long as loading, so only one snapshot is checked at a time, and of those that wait only the newest is kept.
import type { Logger } from '../../lib/ports.js';
import type { Active, ActivePolicy } from './active-policy.js';
import { verifyInThread } from '../open/snapshot-thread.js';

export interface LabelCheckOptions {
  readonly policies: Pick<ActivePolicy, 'noteLabels'>;
  readonly log: Logger;
  readonly verify?: typeof verifyInThread;
}

export interface LabelCheck {
  readonly active: Active;
  readonly bytes: Uint8Array;
  /**
   * Called with the result, which `policies` then knows as well. Not called if the labels could not be checked. Must
   * not reject.
   */
  readonly onKnown: (labels: 'verified' | 'false') => Promise<void>;
  /** Called when the check is over, whether the labels are known or not. */
  readonly onEnded: () => void;
}

export interface LabelChecks {
  /** Begins the check, or leaves it until the running one has ended, unless a newer one takes its place by then. */
  readonly begin: (check: LabelCheck) => void;
  /** Ends the running check without a result, and begins no more. */
  readonly close: () => void;
}

export function makeLabelChecks(options: LabelCheckOptions): LabelChecks {
  const closed = new AbortController();
  let next: LabelCheck | null = null;
  let isAtWork = false;
  const work = async (): Promise<void> => {
    isAtWork = true;
    while (next !== null && !closed.signal.aborted) {
      const check = next;
      next = null;
      await perform(check, options, closed.signal);
    }
    isAtWork = false;
  };
  return {
    begin: (check) => {
      next = check;
      if (!isAtWork) void work();
    },
    close: () => {
      closed.abort();
    },
  };
}

async function perform(check: LabelCheck, options: LabelCheckOptions, signal: AbortSignal): Promise<void> {
  const { active, bytes, onKnown, onEnded } = check;
  const { policies, log, verify = verifyInThread } = options;
  const { digest: snapshot, decisions } = active.policy;
  try {
    const fault = await verify(bytes, signal);
    const labels = fault === null ? 'verified' : 'false';
    policies.noteLabels(active.generation, labels);
    if (fault !== null)
      log.error({ snapshot, decisions, code: fault.code }, `the snapshot carries a false label: ${fault.message}`);
    await onKnown(labels);
  } catch (error) {
    if (!signal.aborted) log.error({ snapshot, error }, 'the labels of the snapshot could not be checked');
  } finally {
    onEnded();
  }
}
