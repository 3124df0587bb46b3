// Families of a policy's own as columns of the file, and sets of scopes with some of theirs. A set of the ten alone stands in `grants.scopes`
// itself. A policy without families has no such columns, and the bytes that it always had.
import { invariant } from '../model/invariant.js';
import { isName } from '../model/identity.js';
import { compareTexts } from '../model/order.js';
import { isFamily, SCOPES } from '../model/scope.js';
import { fromParts, partsOf, RECORD_SCOPE_SET, type ScopeSet } from '../model/scope-set.js';
import type { PolicyTables } from '../model/tables.js';
import {
  COMMON_ACTIONS,
  makeVocabulary,
  type OwnFamily,
  RECORD_VOCABULARY,
  type Vocabulary,
} from '../model/vocabulary.js';
import type { FamilyColumns, SparseTexts } from './document.js';

/** The first number of `grants.scopes` that is not the bits of a set. */
export const FIRST_SET = RECORD_SCOPE_SET + 1;

/** `toTexts` makes the column of descriptions of its rows. */
export function familyColumns(
  { grants, vocabulary }: PolicyTables,
  toTexts: (texts: readonly (string | null)[]) => SparseTexts,
): { readonly families: FamilyColumns | null; readonly numberOf: (set: ScopeSet) => number } {
  const { families, own } = vocabulary;
  if (families.length === 0) {
    return {
      families: null,
      numberOf: (set) => {
        invariant(typeof set === 'number', DECLARED);
        return set;
      },
    };
  }
  const named = new Set<ScopeSet>();
  for (let row = 0; row < grants.scopes.length; row += 1) {
    const set = grants.scopes[row];
    if (typeof set === 'string') named.add(set);
  }
  const placeOf = new Map<string, number>(own.map((name, place) => [name, place]));
  const placeOfScope = (name: string): number => {
    const place = placeOf.get(name);
    invariant(place !== undefined, DECLARED);
    return place;
  };
  const sets = [...named]
    .map((set) => {
      const parts = partsOf(set);
      return { set, record: parts.record, own: parts.own.map(placeOfScope) };
    })
    .sort((a, b) => compareRows(a, b));
  const numbers = new Map(sets.map(({ set }, row) => [set, FIRST_SET + row]));
  return {
    families: {
      action: families.flatMap(({ actions }) => actions),
      description: toTexts(families.map(({ description }) => description)),
      name: families.map(({ name }) => name),
      perFamily: families.map(({ actions }) => actions.length),
      sets: {
        own: sets.flatMap((set) => set.own),
        perSet: sets.map((set) => set.own.length),
        record: sets.map(({ record }) => record),
      },
    },
    numberOf: (set) => (typeof set === 'number' ? set : (numbers.get(set) ?? 0)),
  };
}

const DECLARED = 'grants name scopes that the policy declares';

interface SetRow {
  readonly record: number;
  readonly own: readonly number[];
}

function compareRows(a: SetRow, b: SetRow): number {
  if (a.record !== b.record) return a.record - b.record;
  const at = a.own.findIndex((place, i) => place !== b.own[i]);
  if (at < 0) return a.own.length - b.own.length;
  return (a.own[at] ?? 0) - (b.own[at] ?? -1);
}

/** The vocabulary, and the sets that grants may name; or what is wrong with the columns. Each set is named by a grant. */
export function readFamilies(
  columns: FamilyColumns | undefined,
  texts: (column: SparseTexts) => ReadonlyMap<number, string>,
  { scopes: limit, grants }: { readonly scopes: number; readonly grants: number },
): { readonly vocabulary: Vocabulary; readonly sets: readonly ScopeSet[] } | string {
  if (columns === undefined) return { vocabulary: RECORD_VOCABULARY, sets: [] };
  const { action, description, name, perFamily, sets } = columns;
  if (name.length === 0 || !isAscending(name) || !name.every((one) => isName(one) && !isFamily(one)))
    return 'families.name: not sorted names';
  if (perFamily.length !== name.length || total(perFamily) !== action.length)
    return 'families.perFamily: does not count the actions of each family';
  if (SCOPES.length + 2 * name.length + action.length > limit) return 'families: more scopes than the limit';
  const families: OwnFamily[] = [];
  const described = texts(description);
  let at = 0;
  for (const [row, one] of name.entries()) {
    const end = at + (perFamily[row] ?? 0);
    const actions = action.slice(at, end);
    if (!isAscending(actions) || !actions.every((word) => isName(word) && !COMMON_ACTIONS.includes(word)))
      return 'families.action: not sorted names within their family';
    families.push({ name: one, actions, description: described.get(row) ?? null });
    at = end;
  }
  const vocabulary = makeVocabulary(families);
  if (sets.perSet.length > grants) return 'families.sets: one that nothing names';
  const rows = setRows(sets, vocabulary);
  if (rows === null || !rows.every(({ record, own }) => record <= RECORD_SCOPE_SET && areScopes(own, vocabulary)))
    return 'families.sets: not sets of scopes';
  if (!rows.every((row, i) => i === 0 || compareRows(rows[i - 1] ?? row, row) < 0)) return 'families.sets: not sorted';
  return {
    vocabulary,
    sets: rows.map(({ record, own }) =>
      fromParts(
        record,
        own.map((place) => vocabulary.own[place] ?? ''),
      ),
    ),
  };
}

/** Null before a row is made that cannot be one. */
function setRows({ own, perSet, record }: FamilyColumns['sets'], vocabulary: Vocabulary): readonly SetRow[] | null {
  if (perSet.length !== record.length || total(perSet) !== own.length) return null;
  if (perSet.some((count) => count > vocabulary.own.length)) return null;
  let at = 0;
  return record.map((bits, row) => {
    const start = at;
    at += perSet[row] ?? 0;
    return { record: bits, own: own.slice(start, at) };
  });
}

function areScopes(places: readonly number[], { own }: Vocabulary): boolean {
  return (
    places.length > 0 && places.every((place, i) => place < own.length && (i === 0 || (places[i - 1] ?? 0) < place))
  );
}

/** Whether texts are sorted, without repetitions. */
export function isAscending(texts: readonly string[]): boolean {
  return texts.every((text, row) => row === 0 || compareTexts(texts[row - 1] ?? '', text) < 0);
}

export function total(counts: readonly number[]): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}
