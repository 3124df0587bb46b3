// A folder of our own that follows a history: from one tree to the next, only what differs is read and written.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitObjects } from './git-objects.js';
import { type Checkout, emptyCheckout, type Place, placesIn, TREE_MODE, type TreeEntry, write } from './git-tree.js';

export interface FollowingCheckout extends Checkout {
  /** Makes the folder what the tree is. Rejects with `GitError` for anything that no policy folder contains. */
  readonly goTo: (tree: string) => Promise<void>;
}

export async function followingCheckout(objects: GitObjects): Promise<FollowingCheckout> {
  const checkout = await emptyCheckout();
  let trees: ReadonlyMap<string, readonly TreeEntry[]> = new Map();
  let present: ReadonlyMap<string, Place> = new Map();
  return {
    ...checkout,
    goTo: async (tree) => {
      const known = new Map(trees);
      const places = await placesIn(objects, tree, known);
      // Only the trees of this version are kept.
      trees = new Map(
        [tree, ...places.map(({ entry }) => entry.object)].flatMap((name) => {
          const entries = known.get(name);
          return entries === undefined ? [] : [[name, entries] as const];
        }),
      );
      const wanted = new Map(places.map((place) => [place.path.join('/'), place]));
      const before = present;
      // If anything fails on the way, the next version is written as a whole.
      present = new Map();
      const stays = (path: string, { entry }: Place): boolean => isSame(entry, wanted.get(path)?.entry);
      if (before.size === 0) await emptied(checkout.folder);
      for (const [path, place] of before)
        if (!stays(path, place)) await rm(join(checkout.folder, ...place.path), { recursive: true, force: true });
      for (const [path, place] of wanted) {
        const there = before.get(path);
        if (there === undefined || !isSame(there.entry, place.entry)) await write(objects, checkout.folder, place);
      }
      present = wanted;
    },
  };
}

/** A folder is the same whatever is in it: its files are places of their own. */
function isSame(a: TreeEntry, b: TreeEntry | undefined): boolean {
  if (a.mode === TREE_MODE || b?.mode === TREE_MODE) return a.mode === b?.mode;
  return a.object === b?.object;
}

async function emptied(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
}
