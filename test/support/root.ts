// The root of the repository, seen from the compiled tests.
import { fileURLToPath } from 'node:url';

/** A path of the repository as an absolute one. */
export function fromRoot(path: string): string {
  return fileURLToPath(new URL(`../../../${path}`, import.meta.url));
}
