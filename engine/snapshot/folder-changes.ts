// What changed between two policies of where their folders and files may decide, and whether somebody may decide about more than before.
import { without } from '../model/group.js';
import { isWithin } from '../model/namespace.js';
import type { PolicyFolder, PolicySet } from '../model/policy-set.js';
import type { CheckChange, Weakness } from './guardrail-changes.js';

/** Of the folders and files with a `within` in the old policy those that changed. To narrow one is not weaker. */
export function folderChanges(old: PolicySet, changed: PolicySet): readonly CheckChange[] {
  const after = new Map(changed.folders.map((folder) => [folder.path, folder]));
  const dropped = old.folders.filter(({ path, exports }) => exports === null && !after.has(path));
  const files = filesAfter(new Set(dropped.map(({ path }) => path)), old, changed);
  return old.folders.flatMap((was): readonly CheckChange[] => {
    const { path, within } = was;
    const is = after.get(path);
    if (is !== undefined) return changeOf(was, is);
    if (was.exports !== null) return [gone(path, 'no longer delegated')];
    // Grants that went away with their file, or to where they are bounded as before, leave nothing open.
    const weaker = [...(files.get(path) ?? [])].some((file) => {
      const limit = limitOf(after, file);
      return limit === null || !isWithin(limit, within);
    });
    return weaker ? [gone(path, `no longer within ${within}`)] : [];
  });
}

/** Nothing is weaker, so another change takes this away as well if it says the same. */
function gone(id: string, text: string): CheckChange {
  return { id, weaker: true, changes: [text], weakenings: [{ field: 'within', text, isOneOfSeveral: true }] };
}

function changeOf(was: PolicyFolder, { path, within, exports }: PolicyFolder): readonly CheckChange[] {
  const [before, now] = [was.exports ?? [], exports ?? []];
  const [gained, lost] = [without(now, before), without(before, now)];
  const changes = [
    ...(within === was.within ? [] : [`within ${was.within} → ${within}`]),
    ...(gained.length === 0 ? [] : [`exports ${gained.join(', ')}`]),
    ...(lost.length === 0 ? [] : [`no longer exports ${lost.join(', ')}`]),
  ];
  const weakenings: readonly Weakness[] = [
    ...(isWithin(within, was.within) ? [] : [{ field: 'within', text: `within ${within}`, isOneOfSeveral: false }]),
    ...gained.map((role) => ({ field: 'exports', text: `exports ${role}`, isOneOfSeveral: true })),
  ];
  return changes.length === 0 ? [] : [{ id: path, weaker: weakenings.length > 0, changes, weakenings }];
}

/**
 * By each of these files of the old policy: the files of the new one that have its grants, and the file itself if it still has any.
 */
function filesAfter(gone: ReadonlySet<string>, old: PolicySet, changed: PolicySet): ReadonlyMap<string, Set<string>> {
  const files = new Map(Array.from(gone, (file) => [file, new Set<string>()]));
  if (gone.size === 0) return files;
  const before = new Map(
    old.grants.flatMap(({ id, place }) => (place !== null && gone.has(place.file) ? [[id, place.file]] : [])),
  );
  for (const { id, place } of changed.grants) {
    if (place === null) continue;
    files.get(place.file)?.add(place.file);
    files.get(before.get(id) ?? '')?.add(place.file);
  }
  return files;
}

/** The `within` of a file or, without one, of the innermost delegated folder around it. Null if it may grant anywhere. */
function limitOf(folders: ReadonlyMap<string, PolicyFolder>, file: string): PolicyFolder['within'] | null {
  for (let path = file; path !== ''; path = path.slice(0, Math.max(0, path.lastIndexOf('/')))) {
    const folder = folders.get(path);
    if (folder !== undefined) return folder.within;
  }
  return null;
}
