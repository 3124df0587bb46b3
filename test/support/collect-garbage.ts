// Garbage collection at will, for what must not depend on when it comes.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

export const collectGarbage = runInNewContext('gc') as () => void;

/** Whatever nobody holds is gone soon while `work` runs. */
export async function whileCollecting<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(collectGarbage, 20);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
