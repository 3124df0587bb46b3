// What of a delegated folder changed between two policies, and whether its owners may decide about more than before.
import { isWithin } from '../model/namespace.js';
import type { PolicySet } from '../model/policy-set.js';
import type { CheckChange } from './guardrail-changes.js';

/** Of the folders of both policies those that changed. To narrow one is not weaker. */
export function folderChanges(old: PolicySet, changed: PolicySet): readonly CheckChange[] {
  const before = new Map(old.folders.map((folder) => [folder.path, folder]));
  return changed.folders.flatMap(({ path, within, exports }) => {
    const was = before.get(path);
    if (was === undefined) return [];
    const gained = exports.filter((role) => !was.exports.includes(role));
    const lost = was.exports.filter((role) => !exports.includes(role));
    const changes = [
      ...(within === was.within ? [] : [`within ${was.within} → ${within}`]),
      ...(gained.length === 0 ? [] : [`exports ${gained.join(', ')}`]),
      ...(lost.length === 0 ? [] : [`no longer exports ${lost.join(', ')}`]),
    ];
    const weaker = gained.length > 0 || !isWithin(within, was.within);
    return changes.length === 0 ? [] : [{ id: path, weaker, changes }];
  });
}
