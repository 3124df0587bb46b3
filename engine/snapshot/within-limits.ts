// Whether a policy certainly stays within the limits that only the digest and the file can exceed, found without making either. "No"
// may be wrong, for sizes near the limits, and "yes" never is.
import { identitiesByClass, type HolderClasses } from '../model/holders.js';
import { treeOf } from '../model/namespace-tree.js';
import type { PolicyTables, TextColumn } from '../model/tables.js';
import { makeCells } from './cells.js';
import { digestOf } from './hash.js';
import type { HolderSets } from './holder-sets.js';
import { type DigestLimits, makeGrouping, makeRightsText } from './rights-text.js';
import { hasFullNamespace, sameSubtrees } from './same-subtrees.js';

export interface FileLimits extends DigestLimits {
  readonly snapshotBytes: number;
}

/** What the next version of a policy need not count again. */
export interface KnownSizes {
  readonly tables: PolicyTables;
  /** At least what its normal form takes of each limit. */
  readonly spent: DigestLimits;
}

export interface Within {
  readonly isSure: boolean;
  readonly sizes: KnownSizes | null;
}

/** With the sizes of an earlier version, only what has changed since is counted, on top of those. */
export function isSurelyWithin(
  tables: PolicyTables,
  holders: HolderClasses,
  { limits, before }: { readonly limits: FileLimits; readonly before: KnownSizes | null },
): Within {
  if (mostBytes(tables) > limits.snapshotBytes) return UNSURE;
  if (isTimeless(tables)) return { isSure: mostHashed(tables, holders) <= limits.expandedRows, sizes: null };
  const isFull = hasFullNamespace(tables);
  const from = before === null || isFull ? null : { before, same: sameSubtrees(before.tables, tables) };
  const again = from === null ? UNSURE : countRows(tables, holders, { limits, from });
  const found = again.isSure ? again : countRows(tables, holders, { limits, from: null });
  return isFull ? { ...found, sizes: null } : found;
}

const UNSURE: Within = { isSure: false, sizes: null };

/** Not sure if the digest would be refused although the sets that it remembers keep it within its limits. */
function countRows(
  tables: PolicyTables,
  holders: HolderClasses,
  { limits, from }: { readonly limits: DigestLimits; readonly from: { before: KnownSizes; same: Int32Array } | null },
): Within {
  const { expandedRows, intervals } = from?.before.spent ?? { expandedRows: 0, intervals: 0 };
  const cells = makeCells(tables, holders, limits.intervals - intervals);
  const { timelines } = cells;
  const sets = countingSets(holders, limits.expandedRows - expandedRows);
  const rightsOf = makeRightsText(timelines, { sets, intervals: limits.intervals - intervals });
  const group = makeGrouping(holders.count);
  let written = 0;
  const isSure = cells.walk({
    skip: (row) => (from?.same[row] ?? -1) >= 0,
    enter: (_, changes) => {
      const groups = group(changes);
      for (const { at, below } of groups) written += timelines.intervals(at) + timelines.intervals(below) - 2;
      return typeof rightsOf(groups) !== 'string';
    },
    leave: () => undefined,
  });
  const spent = {
    expandedRows: expandedRows + sets.counted(),
    intervals: intervals + Math.max(written, timelines.kept()),
  };
  return isSure ? { isSure, sizes: { tables, spent } } : UNSURE;
}

/**
 * Whether rights never change with time, are sets of the ten scopes, and differ from what is inherited only where a grant is. Then no
 * timeline has a second interval and none is kept.
 */
function isTimeless(tables: PolicyTables): boolean {
  const { grants, namespaces, vocabulary } = tables;
  if (vocabulary.own.length > 0) return false;
  if (grants.notBefore.some((from) => from !== -Infinity) || grants.expires.some((until) => until !== Infinity))
    return false;
  const tree = treeOf(tables);
  return !namespaces.parent.some((_, row) => tree.belowOf(row) === 'full');
}

/** In each namespace, an identity is in one set at most, and only if a grant there reaches it. */
function mostHashed({ grants, roles, identities }: PolicyTables, holders: HolderClasses): number {
  const members = identitiesByClass(holders);
  const sizes = new Float64Array(roles.name.length + identities.subject.length);
  for (let holder = 0; holder < holders.count; holder += 1) {
    const size = (members.start[holder + 1] ?? 0) - (members.start[holder] ?? 0);
    for (let i = holders.start[holder] ?? 0; i < (holders.start[holder + 1] ?? 0); i += 1) {
      const principal = holders.principals[i] ?? 0;
      sizes[principal] = (sizes[principal] ?? 0) + size;
    }
  }
  let most = 0;
  for (const principal of grants.principal) most += sizes[principal] ?? 0;
  return most;
}

/** Counts what would be hashed, without the sets that a digest would remember. */
function countingSets(holders: HolderClasses, limit: number): HolderSets & { readonly counted: () => number } {
  const { start } = identitiesByClass(holders);
  let counted = 0;
  return {
    counted: () => counted,
    digestOf: (classes) => {
      for (const holder of classes) counted += (start[holder + 1] ?? 0) - (start[holder] ?? 0);
      return counted > limit ? null : NOT_HASHED;
    },
  };
}

/** Stands for the digest of any set: nobody reads it. */
const NOT_HASHED = digestOf('');

/** Bytes of a number of a row with its comma, of an instant with its comma, and of one UTF-16 unit of a text that may need escaping. */
const ROW_BYTES = 12;
const INSTANT_BYTES = 17;
const UNIT_BYTES = 6;
/** Quotes and comma. */
const TEXT_BYTES = 3;
/** A set of scopes that are not among the ten: names of up to two times 63 characters. */
const SET_BYTES = 64 * 140;
/** Keys, checks, and what there is one of. */
const FIXED_BYTES = 1_000_000;

function mostBytes({ narrowed, ...own }: PolicyTables): number {
  const tables = narrowed?.stated ?? own;
  const { grants, identities, members, namespaces, roles } = tables;
  const numbers =
    9 * grants.id.length +
    7 * members.member.length +
    2 * namespaces.parent.length +
    4 * roles.name.length +
    2 * tables.exclusive.first.length +
    grants.reason.row.length;
  const instants = 2 * grants.id.length + 2 * (members.windows?.row.length ?? 0);
  const sets = tables.vocabulary.own.length === 0 ? 0 : new Set(Array.from(grants.scopes)).size;
  const texts = [tables.files, tables.segments, tables.providers, identities.subject, roles.name, grants.id];
  return (
    FIXED_BYTES +
    ROW_BYTES * numbers +
    INSTANT_BYTES * instants +
    SET_BYTES * sets +
    [...texts, textsOf(roles.description), textsOf(grants.reason)].reduce((sum, list) => sum + textBytes(list), 0)
  );
}

function textsOf({ text }: TextColumn): readonly string[] {
  return text;
}

function textBytes(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += UNIT_BYTES * text.length + TEXT_BYTES;
  return bytes;
}
