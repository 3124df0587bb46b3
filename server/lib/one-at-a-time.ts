// Work that is done one after the other, in the order in which it comes, with a bounded number in progress or waiting.
import { untilAborted } from './until-aborted.js';

type InTurn = <Done>(work: () => Promise<Done>, signal?: AbortSignal) => Promise<Done>;

/**
 * Throws what `full` returns if `most` are in progress or waiting. A failure ends only the work that failed. What is
 * aborted before its turn gives up its place at once and is never begun; work in progress has to end by itself.
 */
export function oneAtATime(most: number, full: () => Error): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  let present = 0;
  return async (work, signal) => {
    if (present >= most) throw full();
    present += 1;
    const before = last;
    let leave: () => void = () => undefined;
    const own = new Promise<void>((resolve) => {
      leave = resolve;
    });
    last = before.then(() => own);
    try {
      await (signal === undefined ? before : untilAborted(before, signal));
      return await work();
    } finally {
      present -= 1;
      leave();
    }
  };
}
