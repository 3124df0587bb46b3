// What follows from a visible set, for actors who come again: its digest and its row predicate, which take longer than finding
// the set where it has many parts. The set itself is found for each request, and what is remembered is used only where it was
// made from the very same one, so no policy, credential or hour that changes can make it wrong.
import { visibilityDigest, type Visible } from '../../engine/index.js';
import { makeRecent } from '../recent.js';
import { QUERY_LIMITS } from './limits.js';
import { rowPredicate, type RowPredicate } from './row-predicate.js';

export interface VisibleSet {
  readonly digest: string;
  readonly predicate: RowPredicate;
}

/** `name` says whose set it probably is: a wrong or ambiguous one costs time and nothing else. */
export type VisibleMemory = (name: string, visible: Visible) => VisibleSet;

interface Remembered extends VisibleSet {
  readonly visible: Visible;
}

/** Characters that a namespace takes beside its own, in all the lists that it is in. */
const NAMESPACE = 64;

/**
 * Holds `QUERY_LIMITS.rememberedCharacters` of visible sets, and so many sets; the set that was longest unused goes first.
 */
export function makeVisibleMemory(characters: number = QUERY_LIMITS.rememberedCharacters): VisibleMemory {
  const byName = makeRecent<Remembered>(characters, QUERY_LIMITS.rememberedSets);
  return (name, visible) => {
    const known = byName.get(name);
    if (known !== undefined && isSame(known.visible, visible)) return known;
    const made: Remembered = { visible, digest: visibilityDigest(visible), predicate: rowPredicate(visible) };
    byName.put(name, made, name.length + sizeOf(visible));
    return made;
  };
}

function sizeOf(visible: Visible): number {
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
