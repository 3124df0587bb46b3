// The decision digest and the namespace digests. They hash a normal form of all decisions: two policies have the same normal
// form if and only if they decide alike. engine/README.md "What the digests cover" says why.
import { pairTexts } from '../model/exclusions.js';
import { addTo } from '../model/group.js';
import type { HolderClasses } from '../model/holders.js';
import { invariant } from '../model/invariant.js';
import { identityText, type PolicyTables } from '../model/tables.js';
import { makeCells } from './cells.js';
import { type Digest, digestOfParts } from './hash.js';
import { makeHeldGroups } from './held-groups.js';
import { makeHolderSets } from './holder-sets.js';
import { type DigestLimits, makeGrouping, makeRightsText } from './rights-text.js';

/** The decision digest, which is the digest of the root; or the name of the limit that the normal form would exceed. */
export function digestCells(
  tables: PolicyTables,
  holders: HolderClasses,
  limits: DigestLimits,
): { readonly decisions: Digest } | keyof DigestLimits {
  const cells = makeCells(tables, holders, limits.intervals);
  const rightsOf = makeRightsText(cells.timelines, {
    sets: makeHolderSets(tables, holders, limits.expandedRows),
    intervals: limits.intervals,
  });
  const group = makeGrouping(holders.count);
  const tree = makeTree(tables);
  const rights: (readonly string[])[] = [];
  let exceeded: keyof DigestLimits = 'intervals';
  const root: { digest: Digest | null } = { digest: null };
  const finished = cells.walk({
    enter: (_, changes) => {
      const texts = rightsOf(group(changes));
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
      if (row === 0) root.digest = withFamilies(tables)(withExclusive(tables)(digest));
      else tree.put(row, digest);
    },
  });
  return finished && root.digest !== null ? { decisions: root.digest } : exceeded;
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
