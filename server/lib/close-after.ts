// Closing what was opened. Whatever fails while it is being closed, the failure before it is the one that is told, and
// that decides how the process ends.

/** Does all steps, one after the other, and throws the error. A warning tells of each step that fails. */
export async function closeAfter(error: unknown, ...steps: readonly (() => unknown)[]): Promise<never> {
  for (const step of steps) {
    try {
      await step();
    } catch (beside) {
      const reason = beside instanceof Error ? beside.message : String(beside);
      process.emitWarning(`something could not be closed after a failure: ${reason}`, { code: 'BAILIWICK_CLOSE' });
    }
  }
  throw error;
}

/** As the work ends; `close` comes after it in any case. Rejects with the first failure. */
export async function andClose<Done>(work: () => Promise<Done>, close: () => Promise<unknown>): Promise<Done> {
  let done: Done;
  try {
    done = await work();
  } catch (error) {
    return closeAfter(error, close);
  }
  await close();
  return done;
}
