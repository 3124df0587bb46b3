// Files whose disk hangs, or whose process does. No file of a test's own does that, so it is held where Node is asked.
import fs from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

/** In this thread nobody can open the file from now on, and none who tries is told so before this is undone. */
export function hangOnOpening(path: string): () => void {
  const { open } = files;
  // Streams ask this one.
  const { open: openCalling } = fs;
  let free: () => void = () => undefined;
  const disk = new Promise<void>((resolve) => (free = resolve));
  const set = (to: typeof open, calling: typeof openCalling): void => {
    files.open = to;
    fs.open = calling;
    syncBuiltinESMExports();
  };
  const held: typeof open = async (...asked) => {
    if (asked[0] === path) await disk;
    return open(...asked);
  };
  const heldCalling = new Proxy(openCalling, {
    apply: (_target, _self, asked: Parameters<typeof openCalling>): void => {
      void (asked[0] === path ? disk : Promise.resolve()).then(() => {
        openCalling(...asked);
      });
    },
  });
  set(held, heldCalling);
  return () => {
    set(open, openCalling);
    free();
  };
}

/** In this thread each piece of the file comes so many milliseconds later from now on, before this is undone. */
export function slowDown(path: string, milliseconds: number): () => void {
  const { open } = files;
  const set = (to: typeof open): void => {
    files.open = to;
    syncBuiltinESMExports();
  };
  set(async (...asked) => {
    const handle = await open(...asked);
    if (asked[0] !== path) return handle;
    const read = handle.read.bind(handle) as (...how: readonly unknown[]) => Promise<unknown>;
    const slowly = async (...how: readonly unknown[]): Promise<unknown> => {
      await sleep(milliseconds);
      return read(...how);
    };
    return Object.assign(handle, { read: slowly });
  });
  return () => {
    set(open);
  };
}

/** In this thread the next renaming to this path waits from `reached` on until it may go on. Others are not held. */
export function pauseRenaming(to: string): { readonly reached: Promise<void>; readonly goOn: () => void } {
  const { rename } = files;
  let tell: () => void = () => undefined;
  let goOn: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => (tell = resolve));
  const released = new Promise<void>((resolve) => (goOn = resolve));
  const set = (next: typeof rename): void => {
    files.rename = next;
    syncBuiltinESMExports();
  };
  set(async (...asked) => {
    if (asked[1] === to) {
      set(rename);
      tell();
      await released;
    }
    return rename(...asked);
  });
  return { reached, goOn };
}
