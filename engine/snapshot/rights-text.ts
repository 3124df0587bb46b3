// What those whose rights differ from what they inherit may do at a namespace and below it, as texts of the normal form.
import { ALL_SCOPES } from '../model/scope.js';
import type { Rights, RowChanges } from './cells.js';
import type { Digest } from './hash.js';
import type { HolderSets } from './holder-sets.js';
import { NEVER, type Timelines } from './numbered-timelines.js';

const RADIX = 2 ** 26;

/** The maxima of a normal form (`EngineLimits`). */
export interface DigestLimits {
  /** Identities that are written out, each counted wherever it is. */
  readonly expandedRows: number;
  /** Intervals that are written out, and those that are kept to work them out. */
  readonly intervals: number;
}

/**
 * Changes of a row as JSON texts `[at, below, identities]`, sorted: classes of equal rights stand together, and those who have
 * nothing are left out. A limit's name past it.
 */
export function makeRightsText(
  timelines: Timelines,
  { sets, intervals }: { readonly sets: HolderSets; readonly intervals: number },
): (groups: readonly RightsGroup[]) => readonly string[] | keyof DigestLimits {
  let written = 0;
  return (groups) => {
    const texts: string[] = [];
    for (const group of groups) {
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

/** Classes of equal rights. */
export interface RightsGroup extends Rights {
  /** Good until the next row is grouped. */
  readonly classes: Int32Array;
}

/** Groups those who hold something at a row or below it by what they hold. Its buffers, for so many classes, serve for every row. */
export function makeGrouping(classCount: number): (changes: RowChanges) => readonly RightsGroup[] {
  const numberOf = new Int32Array(classCount);
  const grouped = new Int32Array(classCount);
  // By what is held at the row, where that is held below it as well; other pairs are few.
  const simple = new Int32Array(ALL_SCOPES + 1).fill(-1);
  return ({ count, classes, at, below }) => {
    const groups: SizedGroup[] = [];
    const pairs = new Map<number, number>();
    let number = -1;
    for (let i = 0; i < count; i += 1) {
      // Not as a pair: this runs for every class of every row, and each pair would be an array.
      const own = at[i] ?? NEVER;
      const inherits = below[i] ?? NEVER;
      // Members of one role mostly have the same rights, one after the other.
      if (i === 0 || own !== at[i - 1] || inherits !== below[i - 1]) {
        const isSimple = own === inherits && own <= ALL_SCOPES;
        const key = isSimple ? own : pairKey({ at: own, below: inherits });
        number = (isSimple ? simple[own] : pairs.get(key)) ?? -1;
        if (number < 0) {
          number = groups.length;
          if (isSimple) simple[own] = number;
          else pairs.set(key, number);
          groups.push({ at: own, below: inherits, size: 0 });
        }
      }
      numberOf[i] = number;
      const group = groups[number];
      if (group !== undefined) group.size += 1;
    }
    for (const { at: own } of groups) if (own <= ALL_SCOPES) simple[own] = -1;
    if (groups.length > 1) sortByNumber(classes, { count, numberOf, groups, to: grouped });
    const all = groups.length > 1 ? grouped : classes;
    const held: RightsGroup[] = [];
    let end = 0;
    for (const { at: own, below: inherits, size } of groups) {
      const start = end;
      end += size;
      if (own !== NEVER || inherits !== NEVER)
        held.push({ at: own, below: inherits, classes: all.subarray(start, end) });
    }
    return held;
  };
}

interface SizedGroup extends Rights {
  size: number;
}

/** A counting sort that keeps the order of equals. */
function sortByNumber(
  classes: Int32Array,
  by: {
    readonly count: number;
    readonly numberOf: Int32Array;
    readonly groups: readonly SizedGroup[];
    readonly to: Int32Array;
  },
): void {
  const next: number[] = [];
  let end = 0;
  for (const { size } of by.groups) {
    next.push(end);
    end += size;
  }
  for (let i = 0; i < by.count; i += 1) {
    const number = by.numberOf[i] ?? 0;
    const place = next[number] ?? 0;
    by.to[place] = classes[i] ?? 0;
    next[number] = place + 1;
  }
}

/** JSON of the rights and of the digest of those who have them. */
export function rightsText(timelines: Timelines, { at, below }: Rights, identities: Digest): string {
  return `[${timelines.text(at)},${timelines.text(below)},"${identities}"]`;
}

/** One number for the pair: a small one, which is a faster key, where the two are the same. */
export function pairKey({ at, below }: Rights): number {
  return at === below ? at : -(at * RADIX + below) - 1;
}
