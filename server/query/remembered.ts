// What queries remember for actors who come back: the digest and the row predicate of a visible set, and the statement
// of a page or count without a filter. Both memories are bounded in characters (`MEMORY_LIMITS`) and forget what has
// been unused longest. The names of statements that connections have prepared count against the same budget
// (server/db/prepared.ts).
import { visibilityDigest, type Visible } from '../../engine/index.js';
import { type Binding, type Fragment, listText, rebound } from '../db/sql.js';
import { MEMORY_LIMITS } from '../limits/queries.js';
import { makeLruCache } from '../lib/lru-cache.js';
import type { SortPosition } from './order.js';
import type { QueryPlan } from './plan.js';
import { rowPredicate, type RowPredicate } from './row-predicate.js';

export interface VisibleSet {
  readonly digest: string;
  readonly predicate: RowPredicate;
}

/** `name` says whose set it probably is. A wrong or ambiguous name costs time and nothing else. */
export type VisibleMemory = (name: string, visible: Visible) => VisibleSet;

interface Remembered extends VisibleSet {
  readonly visible: Visible;
}

/** Characters that a namespace takes in addition to its path, in all the lists that hold it. */
const NAMESPACE = 64;

/**
 * Remembers what is derived from a visible set, because deriving it from many parts takes longer than finding the set.
 * The set itself is found anew for each request. What is remembered is used only for an equal set, so a change of
 * policy, credential or hour cannot make it wrong.
 */
export function makeVisibleMemory(characters: number = MEMORY_LIMITS.visibleSets): VisibleMemory {
  const byName = makeLruCache<Remembered>(characters, MEMORY_LIMITS.visibleSetCount);
  return (name, visible) => {
    const known = byName.get(name);
    if (known !== undefined && isSame(known.visible, visible)) return known;
    const made: Remembered = { visible, digest: visibilityDigest(visible), predicate: rowPredicate(visible) };
    byName.put(name, made, name.length + visibleCharacters(visible));
    return made;
  };
}

/** What a visible set takes, in characters. */
export function visibleCharacters(visible: Visible): number {
  if (visible.kind === 'all') return NAMESPACE;
  return [...visible.exact, ...visible.subtrees].reduce((sum, path) => sum + path.length + NAMESPACE, 0);
}

function isSame(a: Visible, b: Visible): boolean {
  if (a.kind === 'all' || b.kind === 'all') return a.kind === b.kind;
  return areSame(a.exact, b.exact) && areSame(a.subtrees, b.subtrees);
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

export interface PageRequestKey {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: SortPosition | null;
  readonly isPartitioned?: boolean;
}

interface Known {
  readonly statement: Fragment;
  /** Which bindings are parts of the position: index of the binding, index of the part. */
  readonly slots: readonly (readonly [binding: number, part: number])[];
}

type Write = (wanted: PageRequestKey) => Fragment;

/**
 * `write` with a memory. Writing a statement takes as long as everything else that a request does before it asks the
 * store. Its text depends on the visible set and the query alone. Only the place in a cursor differs each time, and
 * that is bound. A statement is found by the same predicate object that it was made from. `write` must bind the parts
 * of the position unchanged.
 */
export function remembering(write: Write): Write {
  const known = makeLruCache<Known>(MEMORY_LIMITS.pageStatements);
  return (wanted) => {
    const name = nameOf(wanted);
    const found = known.get(name);
    if (found !== undefined) return filledIn(found, wanted.after);
    const made = writeOnce(wanted, write);
    const size = sizeOfStatement(name, made);
    if (size <= MEMORY_LIMITS.pageStatement) known.put(name, made, size);
    return filledIn(made, wanted.after);
  };
}

/** Includes everything that the request contributed: names of properties are bound, and may be as long as a body. */
function sizeOfStatement(name: string, { statement: { text, bindings } }: Known): number {
  const bound = bindings.flat().reduce<number>((sum, value) => sum + String(value).length, 0);
  return name.length + text.length + bound;
}

function writeOnce(wanted: PageRequestKey, write: Write): Known {
  const after = wanted.after?.map((part, index) => (part === null ? null : slot(index))) ?? null;
  const statement = write({ ...wanted, after });
  const slots = statement.bindings.flatMap((binding, index) => {
    const part = after?.indexOf(typeof binding === 'string' ? binding : null) ?? -1;
    return typeof binding === 'string' && part >= 0 ? [[index, part] as const] : [];
  });
  return { statement: rebound(statement, statement.bindings.map(asSent)), slots };
}

/** A list may be long and is the same each time, so its text is made only once. */
function asSent(binding: Binding): Binding {
  return typeof binding === 'object' && binding !== null ? listText(binding) : binding;
}

/** A unique placeholder: no text of a request or of the store has this character. */
function slot(index: number): string {
  return `\u0000${String(index)}`;
}

function filledIn({ statement, slots }: Known, after: SortPosition | null): Fragment {
  if (after === null || slots.length === 0) return statement;
  const bindings: Binding[] = [...statement.bindings];
  for (const [index, part] of slots) bindings[index] = after[part] ?? null;
  return rebound(statement, bindings);
}

/**
 * Two names are equal exactly if predicate, query, page size, selection, the absent parts of the position and the kind of
 * table are equal.
 */
function nameOf({ predicate, plan, after, isPartitioned = false }: PageRequestKey): string {
  const { digest, page, select } = plan;
  const absent = after?.map((part) => (part === null ? '-' : '+')).join('') ?? '';
  // Maps are written as lists of their entries.
  const selected = select === null ? '' : JSON.stringify([...select.fields], (_, part: unknown) => listed(part));
  return `${numberOf(predicate)} ${digest} ${String(page.size)} ${absent}${isPartitioned ? ' p' : ''} ${selected}`;
}

function listed(part: unknown): unknown {
  return part instanceof Map ? [...part.entries()] : part;
}

const numbers = new WeakMap<RowPredicate, string>();
let last = 0;

function numberOf(predicate: RowPredicate): string {
  const there = numbers.get(predicate);
  if (there !== undefined) return there;
  const given = String((last += 1));
  numbers.set(predicate, given);
  return given;
}
