// Texts of the normal form: what holders may do at a namespace and below it, for those whose rights differ from what they inherit.
import { RECORD_SCOPE_SET } from '../model/scope-set.js';
import type { RowChanges, RowRights } from './cells.js';
import type { Digest } from './hash.js';
import type { HolderSets } from './holder-sets.js';
import { NEVER, type Timelines } from './numbered-timelines.js';

const RADIX = 2 ** 26;

/** The limits on a normal form (`EngineLimits`). */
export interface DigestLimits {
  /** Identities that are hashed. An identity counts once for each set that contains it. */
  readonly expandedRows: number;
  /** Applied twice: to the intervals that are written, and to those that are kept while computing. */
  readonly intervals: number;
}

/**
 * The changes of a row as sorted JSON texts `[at, below, identities]`, one for each group of equal rights. If a limit is exceeded,
 * the result is its name.
 */
export function makeRightsText(
  timelines: Timelines,
  { sets, intervals }: { readonly sets: HolderSets; readonly intervals: number },
): (groups: readonly RightsGroup[]) => readonly string[] | keyof DigestLimits {
  let written = 0;
  return (groups) => {
    const texts: string[] = [];
    for (const group of groups) {
      // Only intervals beyond the first of each timeline count: rows have a limit of their own.
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
export interface RightsGroup extends RowRights {
  /** Valid until the next row is grouped. */
  readonly classes: Int32Array;
}

/** Makes a function that groups the classes with rights at a row or below it by those rights. All rows share its buffers. */
export function makeGrouping(classCount: number): (changes: RowChanges) => readonly RightsGroup[] {
  const numberOf = new Int32Array(classCount);
  const grouped = new Int32Array(classCount);
  // The group number by rights, for rights that are the same at the row and below it. Other pairs are few and go into a map.
  const simple = new Int32Array(RECORD_SCOPE_SET + 1).fill(-1);
  return ({ count, classes, at, below }) => {
    const groups: SizedGroup[] = [];
    const pairs = new Map<number, number>();
    let number = -1;
    for (let i = 0; i < count; i += 1) {
      // Two variables and no pair: this runs for every class of every row, and each pair would allocate.
      const own = at[i] ?? NEVER;
      const inherits = below[i] ?? NEVER;
      // Neighbouring classes, such as members of one role, mostly have the same rights.
      if (i === 0 || own !== at[i - 1] || inherits !== below[i - 1]) {
        const isSimple = own === inherits && own <= RECORD_SCOPE_SET;
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
    for (const { at: own } of groups) if (own <= RECORD_SCOPE_SET) simple[own] = -1;
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

interface SizedGroup extends RowRights {
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

/** The JSON of the rights, with the digest of the identities that have them. */
export function rightsText(timelines: Timelines, { at, below }: RowRights, identities: Digest): string {
  return `[${timelines.text(at)},${timelines.text(below)},"${identities}"]`;
}

/** One number for the pair. If both are the same it is a small number, which is a faster key. */
export function pairKey({ at, below }: RowRights): number {
  return at === below ? at : -(at * RADIX + below) - 1;
}
