// Whether a policy certainly stays within the limits that only the digest and the file can exceed, found without making either. "No"
// may be wrong, for sizes near the limits, and "yes" never is.
import { identitiesByClass, type HolderClasses } from '../model/holders.js';
import { treeOf } from '../model/namespace-tree.js';
import type { PolicyTables, TextColumn } from '../model/tables.js';
import { makeCells } from './cells.js';
import { digestOf } from './hash.js';
import type { HolderSets } from './holder-sets.js';
import { type DigestLimits, makeGrouping, makeRightsText } from './rights-text.js';

export interface FileLimits extends DigestLimits {
  readonly snapshotBytes: number;
}

export function isSurelyWithin(tables: PolicyTables, holders: HolderClasses, limits: FileLimits): boolean {
  return mostBytes(tables) <= limits.snapshotBytes && isNormalFormWithin(tables, holders, limits);
}

/** Also false if the digest would be refused although the sets that it remembers keep it within its limits. */
function isNormalFormWithin(tables: PolicyTables, holders: HolderClasses, limits: DigestLimits): boolean {
  if (isTimeless(tables)) return mostHashed(tables, holders) <= limits.expandedRows;
  const cells = makeCells(tables, holders, limits.intervals);
  const rightsOf = makeRightsText(cells.timelines, {
    sets: countingSets(holders, limits.expandedRows),
    intervals: limits.intervals,
  });
  const group = makeGrouping(holders.count);
  return cells.walk({
    enter: (_, changes) => typeof rightsOf(group(changes)) !== 'string',
    leave: () => undefined,
  });
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
function countingSets(holders: HolderClasses, limit: number): HolderSets {
  const { start } = identitiesByClass(holders);
  let counted = 0;
  return {
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
