// Who holds what at each namespace of a walk, inherited rights included, as texts of groups with equal rights. A namespace mostly
// has the groups of the one above it: what its own grants do not touch is neither listed nor hashed again.
import { invariant } from '../model/invariant.js';
import type { Cells } from './cells.js';
import type { HolderSets } from './holder-sets.js';
import { NEVER, type TimelineNumber } from './numbered-timelines.js';
import { pairKey, type Rights, rightsText } from './rights-text.js';

export interface HeldGroups {
  /** JSON texts of the groups at the row just entered, sorted. `changed` are the classes whose rights differ from what it inherits. */
  readonly enter: (changed: readonly number[]) => readonly string[];
  readonly leave: () => void;
}

/** Those who hold the same at every namespace below a row, before anything changes there. */
interface Group {
  readonly timeline: TimelineNumber;
  /** In ascending order. */
  readonly classes: Int32Array;
  /** As a group of a namespace that changes nothing for it; null until one is met. */
  text: string | null;
}

export function makeHeldGroups(cells: Cells, sets: HolderSets): HeldGroups {
  const { timelines, at, below, inherited } = cells;
  const changedIn = new Int32Array(at.length);
  const stack: (readonly Group[])[] = [];
  let entered = 0;

  const textOf = (rights: Rights, classes: ArrayLike<number>): string => {
    const identities = sets.digestOf(classes);
    invariant(identities !== null, 'sets without a limit are all hashed');
    return rightsText(timelines, rights, identities);
  };
  const groupText = (group: Group): string => {
    const { timeline, classes } = group;
    return (group.text ??= textOf({ at: timeline, below: timeline }, classes));
  };

  return {
    enter: (changed) => {
      entered += 1;
      const above = stack.at(-1) ?? [];
      const left = new Set<TimelineNumber>();
      const here = new Map<number, Joining>();
      const next = new Map<TimelineNumber, Joining>();
      for (const holder of changed) {
        changedIn[holder] = entered;
        left.add(inherited[holder] ?? NEVER);
        const rights = { at: at[holder] ?? NEVER, below: below[holder] ?? NEVER };
        if (rights.at !== NEVER || rights.below !== NEVER) add(here, pairKey(rights.at, rights.below), rights, holder);
        if (rights.below !== NEVER) add(next, rights.below, { at: rights.below, below: rights.below }, holder);
      }
      const texts: string[] = [];
      const groups: Group[] = [];
      for (const group of above) {
        const { timeline, classes } = group;
        const [joiningHere, joiningBelow] = [take(here, pairKey(timeline, timeline)), take(next, timeline)];
        if (!left.has(timeline) && joiningBelow.length === 0) {
          texts.push(groupText(group));
          groups.push(group);
          continue;
        }
        const rest = left.has(timeline) ? classes.filter((holder) => changedIn[holder] !== entered) : classes;
        const after: Group = { timeline, classes: merge(rest, joiningBelow), text: null };
        if (after.classes.length > 0) groups.push(after);
        // A member that joins here joins below as well; the others have more here than below.
        if (joiningHere.length === joiningBelow.length) {
          if (after.classes.length > 0) texts.push(groupText(after));
        } else if (rest.length + joiningHere.length > 0) {
          texts.push(textOf({ at: timeline, below: timeline }, merge(rest, joiningHere)));
        }
      }
      for (const { rights, classes } of here.values()) texts.push(textOf(rights, classes));
      for (const [timeline, { classes }] of next) {
        groups.push({ timeline, classes: new Int32Array(classes).sort(), text: null });
      }
      stack.push(groups);
      return texts.sort();
    },
    leave: () => {
      stack.pop();
    },
  };
}

interface Joining {
  readonly rights: Rights;
  readonly classes: number[];
}

function add(lists: Map<number, Joining>, key: number, rights: Rights, holder: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, { rights, classes: [holder] });
  else list.classes.push(holder);
}

function take(lists: Map<number, Joining>, key: number): readonly number[] {
  const { classes } = lists.get(key) ?? { classes: [] };
  lists.delete(key);
  return classes;
}

/** `more` has none of the first. */
function merge(ascending: Int32Array, more: readonly number[]): Int32Array {
  if (more.length === 0) return ascending;
  const sorted = new Int32Array(more).sort();
  const merged = new Int32Array(ascending.length + sorted.length);
  let taken = 0;
  for (let i = 0, k = 0; i < merged.length; i += 1) {
    const isNext = taken >= ascending.length || (k < sorted.length && (sorted[k] ?? 0) < (ascending[taken] ?? 0));
    if (isNext) {
      merged[i] = sorted[k] ?? 0;
      k += 1;
    } else {
      merged[i] = ascending[taken] ?? 0;
      taken += 1;
    }
  }
  return merged;
}
