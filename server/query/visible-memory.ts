// What follows from a visible set, for actors who come again: its digest and its row predicate, which take longer than finding
// the set where it has many parts. The set itself is found for each request, and what is remembered is used only where it was
// made from the very same one, so no policy, credential or hour that changes can make it wrong.
import { visibilityDigest, type Visible } from '../../engine/index.js';
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
  readonly size: number;
}

/** Characters that a namespace takes beside its own, in all the lists that it is in. */
const NAMESPACE = 64;

/**
 * Holds `QUERY_LIMITS.rememberedCharacters` of visible sets, and so many sets; the set that was longest unused goes first.
 */
export function makeVisibleMemory(characters: number = QUERY_LIMITS.rememberedCharacters): VisibleMemory {
  const byName = new Map<string, Remembered>();
  let held = 0;
  const forget = (name: string, { size }: Remembered): void => {
    byName.delete(name);
    held -= size;
  };

  return (name, visible) => {
    const known = byName.get(name);
    if (known !== undefined && isSame(known.visible, visible)) {
      // Put last, so that the map's order is that of the last use.
      byName.delete(name);
      byName.set(name, known);
      return known;
    }
    if (known !== undefined) forget(name, known);
    const size = name.length + sizeOf(visible);
    const made: Remembered = { visible, size, digest: visibilityDigest(visible), predicate: rowPredicate(visible) };
    // One that fills the memory would leave room for nothing else.
    if (size > characters) return made;
    byName.set(name, made);
    held += size;
    for (const [oldest, set] of byName) {
      if (held <= characters && byName.size <= QUERY_LIMITS.rememberedSets) break;
      forget(oldest, set);
    }
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
