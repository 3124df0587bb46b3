// Waiting for what is to come about. However busy the machine is, it comes in the end: only what hangs is given up.
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds, below the timeout of a test, so that the failure says what did not come. */
const PATIENCE = 300_000;

/** `what` is what the failure says did not come. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  what: string | (() => string) = isSo.toString(),
): Promise<void> {
  const end = performance.now() + PATIENCE;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`waited too long for ${typeof what === 'string' ? what : what()}`);
    await sleep(10);
  }
}
