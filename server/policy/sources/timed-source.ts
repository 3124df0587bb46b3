// A source that may wait for a disk, which nobody does for good. Only one look is under way at a time: one that hangs holds
// one of few threads.
import { answered, NoAnswer } from '../../lib/stuck-disk.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { type PolicyRefused, refusal } from '../policy-fault.js';
import type { LookResult, Source } from './source.js';

/** The source is asked for one look at a time. `time` is in milliseconds, and longer than the source gives itself. */
export function timedSource(source: Source, time: number = SOURCE_LIMITS.wholeLook): Source {
  let hung: PolicyRefused | null = null;
  /** An offer that came too late. The source takes it for offered, so it is kept for whoever looks next. */
  let kept: LookResult | null = null;
  return {
    facts: source.facts,
    look: async (why, signal) => {
      if (hung !== null) throw hung;
      if (kept !== null) {
        const found = kept;
        kept = null;
        return found;
      }
      const looking = source.look(why, signal);
      try {
        return await answered(() => looking, time);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        hung = refusal('source.unreadable', `its disk does not answer (${error.message})`);
        const end = (found: LookResult | null): void => {
          hung = null;
          kept = found?.kind === 'offer' ? found : null;
        };
        looking.then(end, () => {
          end(null);
        });
        throw hung;
      }
    },
  };
}
