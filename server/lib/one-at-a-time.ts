// Work that is done one after the other, in the order in which it comes, with a bounded number in progress or waiting.

/** Throws what `full` returns if `most` are in progress or waiting. A failure ends only the work that failed. */
export function oneAtATime(most: number, full: () => Error): <Done>(work: () => Promise<Done>) => Promise<Done> {
  let last: Promise<unknown> = Promise.resolve();
  let present = 0;
  return async (work) => {
    if (present >= most) throw full();
    present += 1;
    const done = last.then(work);
    last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      present -= 1;
    }
  };
}
