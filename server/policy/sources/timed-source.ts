// A source that may wait for a disk, which nobody does for good.
import { NoAnswer, oneQuestion } from '../../lib/stuck-disk.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { refusal } from '../policy-fault.js';
import type { LookResult, Source } from './source.js';

/** The source is asked for one look at a time. A disk may say nothing for so many milliseconds. */
export function timedSource(source: Source, silence: number = SOURCE_LIMITS.silence): Source {
  const question = oneQuestion(silence);
  /** An offer that came too late. The source takes it for offered, so it is kept for whoever looks next. */
  let kept: LookResult | null = null;
  return {
    facts: source.facts,
    look: async (why, signal) => {
      if (kept !== null) {
        const found = kept;
        kept = null;
        return found;
      }
      let isLate = false;
      const look = async (heard: () => void): Promise<LookResult> => {
        const found = await source.look(why, signal, heard);
        if (isLate && found.kind === 'offer') kept = found;
        return found;
      };
      try {
        return await question(look);
      } catch (error) {
        isLate = true;
        throw ofDisk(error);
      }
    },
  };
}

/** What a look is refused with if a disk does not answer; any other error as it is. */
export function ofDisk(error: unknown): unknown {
  return error instanceof NoAnswer
    ? refusal('source.unreadable', `its disk does not answer (${error.message})`)
    : error;
}
