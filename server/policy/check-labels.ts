// After a gateway has begun to serve a snapshot, its labels are worked out in a thread of their own: no decision reads them, but status
// and log repeat them. That takes several times as long as loading, so one thread does it at a time, and of those that wait only the newest.
import type { Logger } from '../ports.js';
import type { Active, ActivePolicy } from './active-policy.js';
import { verifyInThread } from './snapshot-thread.js';

export interface LabelCheckOptions {
  readonly policies: Pick<ActivePolicy, 'noteLabels'>;
  readonly log: Logger;
  readonly verify?: typeof verifyInThread;
}

export interface LabelCheck {
  readonly active: Active;
  readonly bytes: Uint8Array;
  /** Told what came out, which `policies` then knows as well; of what could not be checked it is told nothing. Must not reject. */
  readonly onKnown: (labels: 'verified' | 'false') => Promise<void>;
}

export interface LabelChecks {
  /** Begins it, or leaves it for when the one that goes on has ended: unless a newer one has taken its place by then. */
  readonly begin: (check: LabelCheck) => void;
  /** Ends the one that goes on without a result, and begins no more. */
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
  const { active, bytes, onKnown } = check;
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
  }
}
