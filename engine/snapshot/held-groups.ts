// Who holds what at each namespace of a walk, inherited rights included, as texts of groups with equal rights. Most groups of a
// namespace are those of the namespace above it, so groups that its own grants do not touch are neither listed nor hashed again.
import { invariant } from '../model/invariant.js';
import type { Cells, RowChanges, RowRights } from './cells.js';
import type { HolderSets } from './holder-sets.js';
import { NEVER, type TimelineNumber } from './numbered-timelines.js';
import { pairKey, type RightsGroup, rightsText } from './rights-text.js';

export interface HeldGroups {
  /** The sorted JSON texts of the groups at the row just entered. `changed` has the same changes as `changes`, grouped by rights. */
  readonly enter: (changes: RowChanges, changed: readonly RightsGroup[]) => readonly string[];
  readonly leave: () => void;
}

/** Classes that hold the same rights everywhere below a row, before any changes there. */
interface Group {
  readonly timeline: TimelineNumber;
  /** In ascending order. */
  readonly classes: Int32Array;
  /** The text of the group at a namespace that does not change it. Null until the first such namespace. */
  text: string | null;
}

export function makeHeldGroups({ timelines, inherited }: Cells, sets: HolderSets): HeldGroups {
  const changedIn = new Int32Array(inherited.length);
  const rest = new Int32Array(inherited.length);
  const stack: (readonly Group[])[] = [];
  let entered = 0;

  const textOf = (rights: RowRights, classes: Int32Array): string => {
    const identities = sets.digestOf(classes);
    invariant(identities !== null, 'sets without a limit are all hashed');
    return rightsText(timelines, rights, identities);
  };
  const unchanged = (classes: Int32Array): Int32Array => {
    let count = 0;
    for (let i = 0; i < classes.length; i += 1) {
      const holder = classes[i] ?? 0;
      if (changedIn[holder] === entered) continue;
      rest[count] = holder;
      count += 1;
    }
    return rest.slice(0, count);
  };
  const groupText = (group: Group): string => {
    const { timeline, classes } = group;
    return (group.text ??= textOf({ at: timeline, below: timeline }, classes));
  };

  return {
    enter: ({ count, classes: all }, changed) => {
      entered += 1;
      const left = new Set<TimelineNumber>();
      for (let i = 0; i < count; i += 1) {
        const holder = all[i] ?? 0;
        changedIn[holder] = entered;
        left.add(inherited[holder] ?? NEVER);
      }
      const here = new Map(changed.map((group) => [pairKey(group), group]));
      const next = joinBelow(changed);
      const texts: string[] = [];
      const groups: Group[] = [];
      for (const group of stack.at(-1) ?? []) {
        const { timeline, classes } = group;
        const rights = { at: timeline, below: timeline };
        const joiningHere = take(here, pairKey(rights))?.classes ?? NOBODY;
        const joiningBelow = take(next, timeline) ?? NOBODY;
        if (!left.has(timeline) && joiningBelow.length === 0) {
          texts.push(groupText(group));
          groups.push(group);
          continue;
        }
        const staying = left.has(timeline) ? unchanged(classes) : classes;
        const after: Group = { timeline, classes: merge(staying, joiningBelow), text: null };
        if (after.classes.length > 0) groups.push(after);
        // Every class that joins here also joins below. So if both have equal length, the same classes hold the rights here and below.
        if (joiningHere.length === joiningBelow.length) {
          if (after.classes.length > 0) texts.push(groupText(after));
        } else if (staying.length + joiningHere.length > 0) {
          texts.push(textOf(rights, merge(staying, joiningHere)));
        }
      }
      for (const group of here.values()) texts.push(textOf(group, group.classes));
      for (const [timeline, classes] of next) groups.push({ timeline, classes, text: null });
      stack.push(groups);
      return texts.sort();
    },
    leave: () => {
      stack.pop();
    },
  };
}

const NOBODY = new Int32Array(0);

/** Classes by what they hold below the row. Classes that hold nothing there are left out. */
function joinBelow(groups: readonly RightsGroup[]): Map<TimelineNumber, Int32Array> {
  const joined = new Map<TimelineNumber, Int32Array>();
  for (const { below, classes } of groups)
    if (below !== NEVER) joined.set(below, merge(joined.get(below) ?? NOBODY, classes));
  return joined;
}

function take<T>(map: Map<number, T>, key: number): T | undefined {
  const value = map.get(key);
  map.delete(key);
  return value;
}

/** Merges two ascending lists that have no class in common. The result is a copy, unless `more` is empty. */
function merge(first: Int32Array, more: Int32Array): Int32Array {
  if (more.length === 0) return first;
  const merged = new Int32Array(first.length + more.length);
  for (let i = 0, a = 0, b = 0; i < merged.length; i += 1) {
    const isFirst = b === more.length || (a < first.length && (first[a] ?? 0) < (more[b] ?? 0));
    merged[i] = (isFirst ? first[a] : more[b]) ?? 0;
    if (isFirst) a += 1;
    else b += 1;
  }
  return merged;
}
