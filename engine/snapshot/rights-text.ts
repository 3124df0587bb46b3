// What those whose rights differ from what they inherit may do at a namespace and below it, as texts of the normal form.
import type { Cells } from './cells.js';
import type { Digest } from './hash.js';
import type { HolderSets } from './holder-sets.js';
import { NEVER, type TimelineNumber, type Timelines } from './numbered-timelines.js';

const RADIX = 2 ** 26;

/** The maxima of a normal form (`EngineLimits`). */
export interface DigestLimits {
  /** Identities that are written out, each counted wherever it is. */
  readonly expandedRows: number;
  /** Intervals that are written out, and those that are kept to work them out. */
  readonly intervals: number;
}

/**
 * Rights of the row just entered as JSON texts `[at, below, identities]`, sorted: classes of equal rights stand together,
 * and those who have nothing are left out. A limit's name past it.
 */
export function makeRightsText(
  cells: Cells,
  { sets, intervals }: { readonly sets: HolderSets; readonly intervals: number },
): (classes: readonly number[]) => readonly string[] | keyof DigestLimits {
  const { timelines } = cells;
  let written = 0;
  return (classes) => {
    const groups = new Map<number, Group>();
    let last: Group | undefined;
    for (const holder of classes) {
      const at = cells.at[holder] ?? NEVER;
      const below = cells.below[holder] ?? NEVER;
      // Members of one role mostly have the same rights, one after the other.
      if (last?.at !== at || last.below !== below) {
        if (at === NEVER && below === NEVER) continue;
        const key = pairKey(at, below);
        last = groups.get(key);
        if (last === undefined) {
          last = { at, below, classes: [] };
          groups.set(key, last);
        }
      }
      last.classes.push(holder);
    }
    const texts: string[] = [];
    for (const group of groups.values()) {
      // Rights that no instant changes are as many as the rows, which have a limit of their own.
      written += timelines.intervals(group.at) + timelines.intervals(group.below) - 2;
      if (written > intervals) return 'intervals';
      const identities = sets.digestOf(group.classes);
      if (identities === null) return 'expandedRows';
      texts.push(rightsText(timelines, group, identities));
    }
    return texts.sort();
  };
}

interface Group extends Rights {
  readonly classes: number[];
}

/** What somebody holds at a row, and below it. */
export interface Rights {
  readonly at: TimelineNumber;
  readonly below: TimelineNumber;
}

/** JSON of the rights and of the digest of those who have them. */
export function rightsText(timelines: Timelines, { at, below }: Rights, identities: Digest): string {
  return `[${timelines.text(at)},${timelines.text(below)},"${identities}"]`;
}

/** One number for the pair: a small one, which is a faster key, where the two are the same. */
export function pairKey(at: TimelineNumber, below: TimelineNumber): number {
  return at === below ? at : -(at * RADIX + below) - 1;
}
