// A file whose disk hangs on reading. No file of a test's own does that, so opening it is held where Node is asked for it.
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/** In this thread nobody can open the file from now on, and none who tries is told so before this is undone. */
export function hangOnOpening(path: string): () => void {
  const { open } = files;
  let free: () => void = () => undefined;
  const disk = new Promise<void>((resolve) => (free = resolve));
  const set = (to: typeof open): void => {
    files.open = to;
    syncBuiltinESMExports();
  };
  set(async (...asked) => {
    if (asked[0] === path) await disk;
    return open(...asked);
  });
  return () => {
    set(open);
    free();
  };
}
