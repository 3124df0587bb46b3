// Sets of scopes, as values: equal sets are equal by `===`, whichever policy they come from. A set of the ten is a number, with a
// bit for each in the order of `SCOPES`. One with scopes of declared families is a text: the number of its part of the ten, then
// the other names, sorted. So a set never needs the policy that it came from, and sets of two policies can be compared.
import { compareTexts } from './order.js';
import { isOwnScope, isRecordScope, type OwnScope, type ScopeName, SCOPES } from './scope.js';

declare const brand: unique symbol;

/** The empty set means none, never all. */
export type ScopeSet = (number | string) & { readonly [brand]: 'ScopeSet' };

export const NO_SCOPES = 0 as ScopeSet & number;
/** All ten. */
export const RECORD_SCOPE_SET = ((1 << SCOPES.length) - 1) as ScopeSet & number;

const BITS: ReadonlyMap<string, ScopeSet & number> = new Map(
  SCOPES.map((name, index) => [name, (1 << index) as ScopeSet & number]),
);
const BY_CODE_POINT: readonly ScopeName[] = [...SCOPES].sort();

/** The set of one scope. */
export function scopeBit(name: ScopeName): ScopeSet {
  return BITS.get(name) ?? (`0 ${name}` as ScopeSet);
}

/** A key made from the length and the first letter. No two of the ten share one. */
function keyOf(text: string): number {
  return (text.length << 2) | ((text.charCodeAt(0) >> 1) & 3);
}

const BY_KEY: (ScopeName | undefined)[] = [];
for (const name of SCOPES) BY_KEY[keyOf(name)] = name;
const BIT_BY_KEY = BY_KEY.map((name) => BITS.get(name ?? '') ?? NO_SCOPES);

/**
 * The bit of a scope of the ten; 0 for any other text. It takes a single comparison, because this runs for every decision.
 * Throws if a caller without types passes something other than a string.
 */
export function recordBitOf(text: string): number {
  if (typeof text !== 'string') throw new TypeError('a scope must be a string');
  const key = keyOf(text);
  return BY_KEY[key] === text ? (BIT_BY_KEY[key] ?? 0) : 0;
}

export function scopeSetOf(names: Iterable<ScopeName>): ScopeSet {
  let record = 0;
  const own: string[] = [];
  for (const name of names) {
    if (isRecordScope(name)) record |= BITS.get(name) ?? 0;
    else own.push(name);
  }
  return setOfOwn(record, own);
}

/** The names in the order of code points, as all lists of this kind are shown. */
export function scopeNames(set: ScopeSet): readonly ScopeName[] {
  const { record, own } = partsOf(set);
  const names = BY_CODE_POINT.filter((name) => (record & (BITS.get(name) ?? 0)) !== 0);
  return own.length === 0 ? names : [...names, ...own].sort(compareTexts);
}

export function countScopes(set: ScopeSet): number {
  const { record, own } = partsOf(set);
  let count = own.length;
  for (let left = record; left !== 0; left &= left - 1) count += 1;
  return count;
}

export function hasScope(set: ScopeSet, name: ScopeName): boolean {
  return haveCommon(set, scopeBit(name));
}

export function unionScopes(a: ScopeSet, b: ScopeSet): ScopeSet {
  if (typeof a === 'number' && typeof b === 'number') return (a | b) as ScopeSet;
  if (a === b || b === NO_SCOPES) return a;
  return a === NO_SCOPES ? b : uniteOwn(a, b);
}

export function commonScopes(a: ScopeSet, b: ScopeSet): ScopeSet {
  if (typeof a === 'number' && typeof b === 'number') return (a & b) as ScopeSet;
  return a === b ? a : intersectOwn(a, b);
}

/** The scopes of the first that the second has not. */
export function scopesWithout(a: ScopeSet, b: ScopeSet): ScopeSet {
  if (typeof a === 'number' && typeof b === 'number') return (a & ~b) as ScopeSet;
  return a === b ? NO_SCOPES : subtractOwn(a, b);
}

export function haveCommon(a: ScopeSet, b: ScopeSet): boolean {
  return commonScopes(a, b) !== NO_SCOPES;
}

export function uniteScopes(sets: Iterable<ScopeSet>): ScopeSet {
  let all: ScopeSet = NO_SCOPES;
  for (const set of sets) all = unionScopes(all, set);
  return all;
}

/** Sets of the ten first. A total order, for lists that must not depend on anything else. */
export function compareScopeSets(a: ScopeSet, b: ScopeSet): number {
  if (typeof a === 'number') return typeof b === 'number' ? a - b : -1;
  return typeof b === 'number' ? 1 : compareTexts(a, b);
}

/** The parts of a set: bits of the ten, and the other names, sorted. */
export interface ScopeParts {
  readonly record: number;
  readonly own: readonly OwnScope[];
}

export function partsOf(set: ScopeSet): ScopeParts {
  return typeof set === 'number' ? { record: set, own: [] } : partsOfText(set);
}

/** `own` must be sorted, without repetitions. */
export function fromParts(record: number, own: readonly string[]): ScopeSet {
  return (own.length === 0 ? record : `${String(record)} ${own.join(' ')}`) as ScopeSet;
}

/** A set for each row. Sets of the ten alone are numbers, and stand in a column of them. */
export type ScopeColumn = ArrayLike<ScopeSet>;

export function makeScopeColumn(sets: ArrayLike<ScopeSet>): ScopeColumn {
  for (let row = 0; row < sets.length; row += 1) if (typeof sets[row] === 'string') return Array.from(sets);
  return Uint16Array.from(sets as ArrayLike<number>) as ArrayLike<number> as ScopeColumn;
}

/** The sets of the ten, each in the row that is its number. */
export const RECORD_SETS: readonly (ScopeSet & number)[] = Array.from(
  { length: RECORD_SCOPE_SET + 1 },
  (_, bits) => bits as ScopeSet & number,
);

/** How many sets are remembered, and for each operation as many second operands of as many first ones. Few sets are met again and again. */
const MOST_REMEMBERED = 128;

const partsOfText = remembered((text: string): ScopeParts => {
  const [record = '', ...own] = text.split(' ');
  // A text of a set is made of scopes alone. Any other is refused before it gets anywhere (`isScopeSet`).
  return { record: Number(record), own: own as readonly string[] as readonly OwnScope[] };
});

/**
 * Whether a value is a set, in the one form that sets have. For values from code without types: a text that looks like a scope is
 * none.
 */
export function isScopeSet(value: unknown): value is ScopeSet {
  return typeof value === 'number' || (typeof value === 'string' && isTextOfSet(value));
}

const isTextOfSet = remembered((text: string): boolean => {
  const { record, own } = partsOfText(text);
  return (
    (record & RECORD_SCOPE_SET) === record && own.length > 0 && own.every(isOwnScope) && text === setOfOwn(record, own)
  );
});

function setOfOwn(record: number, own: readonly string[]): ScopeSet {
  return fromParts(record, [...new Set(own)].sort(compareTexts));
}

const uniteOwn = operation(
  (a, b) => a | b,
  (a, b) => [...new Set([...a, ...b])].sort(compareTexts),
);
const intersectOwn = operation(
  (a, b) => a & b,
  (a, b) => a.filter((name) => b.includes(name)),
);
const subtractOwn = operation(
  (a, b) => a & ~b,
  (a, b) => a.filter((name) => !b.includes(name)),
);

function operation(
  ofRecord: (a: number, b: number) => number,
  ofOwn: (a: readonly string[], b: readonly string[]) => readonly string[],
): (a: ScopeSet, b: ScopeSet) => ScopeSet {
  const byFirst = remembered((a: ScopeSet) =>
    remembered((b: ScopeSet) => {
      const [first, second] = [partsOf(a), partsOf(b)];
      return fromParts(ofRecord(first.record, second.record), ofOwn(first.own, second.own));
    }),
  );
  return (a, b) => byFirst(a)(b);
}

/** A pure function, with its recent results. */
function remembered<Key, Result>(make: (key: Key) => Result): (key: Key) => Result {
  const known = new Map<Key, Result>();
  return (key) => {
    let result = known.get(key);
    if (result === undefined) {
      if (known.size >= MOST_REMEMBERED) known.clear();
      known.set(key, (result = make(key)));
    }
    return result;
  };
}
