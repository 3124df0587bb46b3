// The decision digest and the namespace digests: hashes of a normal form of what is decided, which is the same
// for two policies exactly if they decide alike. The argument is in engine/README.md "What the digests cover".
import type { HolderClasses } from '../model/holders.js';
import { invariant } from '../model/invariant.js';
import type { PolicyTables } from '../model/tables.js';
import { type Cells, makeCells } from './cells.js';
import { type Digest, digestOf } from './hash.js';
import { type HolderSets, makeHolderSets } from './holder-sets.js';
import { NEVER, type TimelineNumber } from './numbered-timelines.js';

const RADIX = 2 ** 26;

export interface CellDigests {
  /** The decision digest: that of the root. */
  readonly decisions: Digest;
  /**
   * By namespace row, the digest of what the row and those below it change beyond what they inherit; null where nothing.
   * Rows of two policies whose parents give the same are alike, with all below them, exactly if these are equal.
   */
  readonly changes: readonly (Digest | null)[];
}

/** The maxima of a normal form (`EngineLimits`). */
export interface DigestLimits {
  /** Identities that are written out, each counted wherever it is. */
  readonly expandedRows: number;
  /** Intervals that are written out, and those that are kept to work them out. */
  readonly intervals: number;
}

/** The limit's name where the normal form would exceed it. */
export function digestCells(
  tables: PolicyTables,
  holders: HolderClasses,
  limits: DigestLimits,
): CellDigests | keyof DigestLimits {
  const cells = makeCells(tables, holders, limits.intervals);
  const rightsOf = makeRightsText(cells, {
    sets: makeHolderSets(tables, holders, limits.expandedRows),
    intervals: limits.intervals,
  });
  let exceeded: keyof DigestLimits = 'intervals';
  const tree = makeTree(tables);
  const changes = new Array<Digest | null>(tables.namespaces.parent.length).fill(null);
  const rights: (readonly string[])[] = [];
  const finished = cells.walk({
    enter: (_, changed) => {
      const texts = rightsOf(changed);
      if (typeof texts === 'string') {
        exceeded = texts;
        return false;
      }
      rights.push(texts);
      return true;
    },
    leave: (row) => {
      const own = rights.pop() ?? [];
      const below = tree.take(row);
      if (own.length + below.length === 0 && row > 0) return;
      const digest = namespaceDigest(own, below);
      changes[row] = digest;
      tree.put(row, digest);
    },
  });
  const decisions = changes[0];
  return finished && decisions !== undefined && decisions !== null ? { decisions, changes } : exceeded;
}

/**
 * For every namespace row, the digest of every cell at it or below it, inherited rights included, for all time. Takes
 * time in proportion to namespaces times those who hold something there: for listings, not for loading.
 */
export function digestNamespaces(tables: PolicyTables, holders: HolderClasses): readonly Digest[] {
  const worked = digestCells(tables, holders, { expandedRows: Infinity, intervals: Infinity });
  invariant(typeof worked !== 'string', 'nothing is infinitely large');
  const { changes } = worked;
  const cells = makeCells(tables, holders, Infinity);
  const rightsOf = makeRightsText(cells, { sets: makeHolderSets(tables, holders, Infinity), intervals: Infinity });
  const tree = makeTree(tables);
  const digests: Digest[] = [];
  const rights: (readonly string[])[] = [];
  // The classes that hold something below each row that is open: nobody else has rights at its children before they change.
  const holding: (readonly number[])[] = [];
  cells.walk({
    enter: (_, changed) => {
      const here = join(holding.at(-1) ?? [], changed);
      const texts = rightsOf(here);
      invariant(typeof texts !== 'string', 'nothing is infinitely large');
      rights.push(texts);
      holding.push(here.filter((holder) => cells.below[holder] !== NEVER));
      return true;
    },
    leave: (row) => {
      holding.pop();
      digests[row] = namespaceDigest(rights.pop() ?? [], tree.take(row));
      const change = changes[row] ?? null;
      if (change !== null) tree.put(row, change);
    },
  });
  return digests;
}

/** The numbers of two lists in ascending order, none twice; the first list is so already. */
function join(ascending: readonly number[], more: readonly number[]): readonly number[] {
  return more.length === 0 ? ascending : [...new Set([...ascending, ...more])].sort((a, b) => a - b);
}

/** JSON: who differs how from what is inherited, and the digests of the children in path order. */
function namespaceDigest(rights: readonly string[], below: readonly string[]): Digest {
  return digestOf(`["bailiwick.namespace",1,[${rights.join()}],[${below.join()}]]`);
}

/** Children's digests as they come, taken by their parent: `[segment, digest]` in path order. */
function makeTree(tables: PolicyTables): {
  put: (row: number, digest: string) => void;
  take: (row: number) => readonly string[];
} {
  const { parent, segment } = tables.namespaces;
  const waiting = new Map<number, string[]>();
  return {
    put: (row, digest) => {
      const text = `["${tables.segments[segment[row] ?? 0] ?? ''}","${digest}"]`;
      const above = parent[row] ?? 0;
      const list = waiting.get(above);
      if (list === undefined) waiting.set(above, [text]);
      else list.push(text);
    },
    take: (row) => {
      const list = waiting.get(row) ?? [];
      waiting.delete(row);
      return list;
    },
  };
}

/**
 * Rights of the row just entered as JSON texts `[at, below, identities]`, sorted: classes of equal rights stand together,
 * and those who have nothing are left out. A limit's name past it.
 */
function makeRightsText(
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
        const key = keyOf(at, below);
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
      texts.push(`[${timelines.text(group.at)},${timelines.text(group.below)},"${identities}"]`);
    }
    return texts.sort();
  };
}

interface Group {
  readonly at: TimelineNumber;
  readonly below: TimelineNumber;
  readonly classes: number[];
}

/** One number for the pair: a small one, which is a faster key, where the two are the same. */
function keyOf(at: TimelineNumber, below: TimelineNumber): number {
  return at === below ? at : -(at * RADIX + below) - 1;
}
