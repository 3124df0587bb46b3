// The decision digest and the namespace digests. They hash a normal form of all decisions: two policies have the same normal
// form if and only if they decide alike. engine/README.md "What the digests cover" says why.
import { pairTexts } from '../model/exclusions.js';
import { addTo } from '../model/group.js';
import { type HolderClasses, identitiesByClass } from '../model/holders.js';
import { invariant } from '../model/invariant.js';
import { subtreeEnds } from '../model/namespace-tree.js';
import { identityText, type PolicyTables } from '../model/tables.js';
import { makeCells } from './cells.js';
import { type Digest, digestOfParts } from './hash.js';
import { makeHeldGroups } from './held-groups.js';
import { makeHolderSets } from './holder-sets.js';
import { type DigestLimits, makeGrouping, makeRightsText } from './rights-text.js';
import { hasFullNamespace, sameSubtrees } from './same-subtrees.js';

/** What the next version of a policy need not compute again. */
export interface KnownDigests {
  readonly tables: PolicyTables;
  /** By namespace row: the change digest, or null for rows that do not occur in the normal form. */
  readonly digests: readonly (Digest | null)[];
  /** At least what the whole normal form takes of each limit. */
  readonly spent: DigestLimits;
}

export interface DigestedCells {
  readonly decisions: Digest;
  /** Null if nothing of it would be of use. */
  readonly known: KnownDigests | null;
}

/**
 * The decision digest, which is the digest of the root; or the name of the limit that the normal form would exceed. With what is known of
 * an earlier version, subtrees that have not changed are not walked again.
 */
export function digestCells(
  tables: PolicyTables,
  holders: HolderClasses,
  { limits, before = null }: { readonly limits: DigestLimits; readonly before?: KnownDigests | null },
): DigestedCells | keyof DigestLimits {
  const isFull = hasFullNamespace(tables);
  const from = before === null || isFull ? null : { before, same: sameSubtrees(before.tables, tables) };
  // What is walked now is added to what the earlier version took, although it takes the place of a part of it. Where that is too much,
  // everything is computed again, and only then is a limit exceeded.
  const again = from === null ? 'intervals' : digestRows(tables, holders, { limits, from });
  const found = typeof again === 'string' ? digestRows(tables, holders, { limits, from: null }) : again;
  return typeof found === 'string' || !isFull ? found : { ...found, known: null };
}

interface Earlier {
  readonly before: KnownDigests;
  readonly same: Int32Array;
}

function digestRows(
  tables: PolicyTables,
  holders: HolderClasses,
  { limits, from }: { readonly limits: DigestLimits; readonly from: Earlier | null },
): DigestedCells | keyof DigestLimits {
  const spent = { expandedRows: 0, intervals: 0, ...from?.before.spent };
  const intervalsLeft = limits.intervals - spent.intervals;
  const cells = makeCells(tables, holders, intervalsLeft);
  const { timelines } = cells;
  const sets = makeHolderSets(tables, holders, limits.expandedRows);
  const rightsOf = makeRightsText(timelines, { sets, intervals: intervalsLeft });
  const group = makeGrouping(holders.count);
  const sizes = identitiesByClass(holders).start;
  const tree = makeTree(tables);
  const ends = subtreeEnds(tables.namespaces.parent);
  const digests = new Array<Digest | null>(ends.length).fill(null);
  const rights: (readonly string[])[] = [];
  let exceeded: keyof DigestLimits = 'intervals';
  let written = 0;
  const put = (row: number, digest: Digest): void => {
    digests[row] = digest;
    if (row > 0) tree.put(row, digest);
  };
  const finished = cells.walk({
    skip: (row) => {
      const known = from?.same[row] ?? -1;
      if (from === null || known < 0) return false;
      // Its subtree is the same run of rows as before.
      for (let i = row; i < (ends[row] ?? 0); i += 1) digests[i] = from.before.digests[known + i - row] ?? null;
      const digest = digests[row] ?? null;
      if (digest !== null) put(row, digest);
      return true;
    },
    enter: (_, changes) => {
      const groups = group(changes);
      for (const { at, below, classes } of groups) {
        written += timelines.intervals(at) + timelines.intervals(below) - 2;
        // Counted as if no set were remembered, since what is remembered depends on where a walk begins. A walk from nothing counts less.
        for (let i = 0; i < classes.length; i += 1) {
          const holder = classes[i] ?? 0;
          spent.expandedRows += (sizes[holder + 1] ?? 0) - (sizes[holder] ?? 0);
        }
      }
      if (from !== null && spent.expandedRows > limits.expandedRows) return false;
      const texts = rightsOf(groups);
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
      if (own.length + below.length > 0 || row === 0) put(row, namespaceDigest(own, below));
    },
  });
  const root = digests[0] ?? null;
  if (!finished || root === null) return exceeded;
  const intervals = spent.intervals + Math.max(written, timelines.kept());
  const known = { tables, digests, spent: { ...spent, intervals } };
  return { decisions: withFamilies(tables)(withExclusive(tables)(root)), known };
}

/**
 * For each namespace row, the digest of every cell at or below it, inherited rights included, for all time. The root's digest is the
 * decision digest. The time is proportional to the namespaces times the holders whose rights change there, so this is for
 * listings and not for loading.
 */
export function digestNamespaces(tables: PolicyTables, holders: HolderClasses): readonly Digest[] {
  const cells = makeCells(tables, holders, Infinity);
  const sets = makeHolderSets(tables, holders, Infinity);
  const changesOf = makeRightsText(cells.timelines, { sets, intervals: Infinity });
  const held = makeHeldGroups(cells, sets);
  const group = makeGrouping(holders.count);
  const tree = makeTree(tables);
  const [withPairs, withWords] = [withExclusive(tables), withFamilies(tables)];
  const digests: Digest[] = [];
  const open: { readonly changes: readonly string[]; readonly rights: readonly string[] }[] = [];
  cells.walk({
    enter: (_, changed) => {
      const groups = group(changed);
      const changes = changesOf(groups);
      invariant(typeof changes !== 'string', 'nothing is infinitely large');
      open.push({ changes, rights: held.enter(changed, groups) });
      return true;
    },
    leave: (row) => {
      held.leave();
      const { changes, rights } = open.pop() ?? { changes: [], rights: [] };
      const below = tree.take(row);
      digests[row] = withWords(withPairs(namespaceDigest(rights, below)));
      if (changes.length + below.length > 0) tree.put(row, namespaceDigest(changes, below));
    },
  });
  return digests;
}

/** The digest of a JSON text: who has which rights here, and the digests of the children in path order. */
function namespaceDigest(rights: readonly string[], below: readonly string[]): Digest {
  return digestOfParts(['["bailiwick.namespace",1,[', rights, '],[', below, ']]']);
}

/** Identities that exclude each other decide everywhere. A policy without any has the digest of its cells alone. */
function withExclusive(tables: PolicyTables): (cells: Digest) => Digest {
  if (tables.exclusive.first.length === 0) return (cells) => cells;
  const pairs = pairTexts(tables.exclusive, (row) => identityText(tables, row)).map((pair) => JSON.stringify(pair));
  return (cells) => digestOfParts([`["bailiwick.exclusive",1,"${cells}",[`, pairs, ']]']);
}

/**
 * A scope that a policy knows is refused for another reason than one that it does not know, even where nobody holds it. A policy
 * without families of its own has the digest of its cells and pairs alone.
 */
function withFamilies({ vocabulary: { own } }: PolicyTables): (decided: Digest) => Digest {
  if (own.length === 0) return (decided) => decided;
  return (decided) => digestOfParts([`["bailiwick.scopes",1,"${decided}",`, [JSON.stringify(own)], ']']);
}

/** Keeps the digests of children until their parent takes them, as `[segment, digest]` in path order. */
function makeTree(tables: PolicyTables): {
  put: (row: number, digest: string) => void;
  take: (row: number) => readonly string[];
} {
  const { parent, segment } = tables.namespaces;
  const waiting = new Map<number, string[]>();
  return {
    put: (row, digest) => {
      const text = `["${tables.segments[segment[row] ?? 0] ?? ''}","${digest}"]`;
      addTo(waiting, parent[row] ?? 0, text);
    },
    take: (row) => {
      const list = waiting.get(row) ?? [];
      waiting.delete(row);
      return list;
    },
  };
}
