// What a reader of the feed may see of each family, everywhere. A cursor names the view that it was made under, so that
// a reader whose rights have changed learns exactly what it has gained and lost.
import { createHash } from 'node:crypto';
import {
  canonicalize,
  compareTexts,
  FAMILIES,
  type Family,
  type Instant,
  isFamily,
  isWithin,
  type NamespacePath,
  type ResolvedActor,
  ROOT,
  type ScopeName,
  type Visibility,
  visibilityAs,
  visibilityDigest,
  type Visible,
  visibleDifference,
  type VisibleRegion,
} from '../../engine/index.js';

export interface FeedView {
  /** Families of which nothing is visible are absent. */
  readonly sets: ReadonlyMap<Family, Visible>;
  /** The step that failed, for each of those families. */
  readonly refused: ReadonlyMap<Family, Extract<Visibility, { readonly kind: 'none' }>>;
  readonly digest: string;
}

/** The requested part of a view. */
export interface ViewPart {
  readonly families: readonly Family[];
  readonly namespace: NamespacePath;
}

export function viewOf(resolved: ResolvedActor, at: Instant): FeedView {
  const sets = new Map<Family, Visible>();
  const refused = new Map<Family, Extract<Visibility, { readonly kind: 'none' }>>();
  for (const family of FAMILIES) {
    const visible = visibilityAs(resolved, { request: { family, context: ROOT, reach: 'subtree' }, at });
    if (visible.kind === 'none') refused.set(family, visible);
    else sets.set(family, visible);
  }
  return { sets, refused, digest: digestOf(sets) };
}

function digestOf(sets: FeedView['sets']): string {
  const hash = createHash('sha256').update('bailiwick view 1');
  for (const [family, visible] of sets) hash.update(`\n${family} ${visibilityDigest(visible)}`);
  return hash.digest('hex');
}

/** The part of a view, by family. Families of which the part has nothing are absent. */
export function partOf(
  { sets }: Pick<FeedView, 'sets'>,
  { families, namespace }: ViewPart,
): ReadonlyMap<Family, Visible> {
  const found = new Map<Family, Visible>();
  for (const family of families) {
    const within = visibleWithin(sets.get(family), namespace);
    if (within !== null) found.set(family, within);
  }
  return found;
}

function visibleWithin(visible: Visible | undefined, namespace: NamespacePath): Visible | null {
  if (visible === undefined || namespace === ROOT) return visible ?? null;
  if (visible.kind === 'all' || visible.subtrees.some((root) => isWithin(namespace, root))) {
    return { kind: 'some', exact: [], subtrees: [namespace] };
  }
  const exact = visible.exact.filter((path) => isWithin(path, namespace));
  const subtrees = visible.subtrees.filter((path) => isWithin(path, namespace));
  return exact.length + subtrees.length === 0 ? null : { kind: 'some', exact, subtrees };
}

/** A region of the namespaces in which records of some families may be read. */
export interface ReadRegion extends VisibleRegion {
  readonly scopes: readonly ScopeName[];
}

export interface RightsChange {
  readonly gained: readonly ReadRegion[];
  readonly lost: readonly ReadRegion[];
}

/**
 * What is in one part of a view and not in the other, both ways; null if the two parts are equal. `too many` if that has
 * more regions than `most`, which ends the work early.
 */
export function rightsChange(
  before: ReadonlyMap<Family, Visible>,
  after: ReadonlyMap<Family, Visible>,
  most: number,
): RightsChange | 'too many' | null {
  const gained = regionsOf(after, before, most);
  const lost = regionsOf(before, after, most - gained.length);
  const count = gained.length + lost.length;
  return count === 0 ? null : count > most ? 'too many' : { gained, lost };
}

const NOTHING: Visibility = Object.freeze({ kind: 'none', step: 'no_matching_grant' });

/** Equal regions of several families are one region. Once there are more than `most`, the rest is left out. */
function regionsOf(
  a: ReadonlyMap<Family, Visible>,
  b: ReadonlyMap<Family, Visible>,
  most: number,
): readonly ReadRegion[] {
  const merged = new Map<string, { readonly region: VisibleRegion; readonly scopes: ScopeName[] }>();
  for (const family of FAMILIES) {
    if (merged.size > most) break;
    for (const region of visibleDifference(a.get(family) ?? NOTHING, b.get(family) ?? NOTHING)) {
      const name = JSON.stringify([region.namespace, region.extent, region.except]);
      const known = merged.get(name) ?? { region, scopes: [] };
      known.scopes.push(`${family}:read`);
      merged.set(name, known);
    }
  }
  return [...merged.values()].map(({ region, scopes }) => ({ ...region, scopes: scopes.sort(compareTexts) }));
}

/** The form in which a view is kept. */
export function viewText({ sets }: FeedView): string {
  return JSON.stringify([...sets].map(([family, visible]) => [family, visible]));
}

/** Null for a text that is no view. Paths are read again, so that nothing but canonical paths gets in. */
export function readView(text: string): ReadonlyMap<Family, Visible> | null {
  const parsed: unknown = JSON.parse(text);
  if (!Array.isArray(parsed)) return null;
  const sets = new Map<Family, Visible>();
  const entries: readonly unknown[] = parsed;
  for (const entry of entries) {
    const pair: readonly unknown[] = Array.isArray(entry) ? entry : [];
    const [family, visible] = pair;
    const read = readVisible(visible);
    if (!isFamily(family) || read === null) return null;
    sets.set(family, read);
  }
  return sets;
}

function readVisible(value: unknown): Visible | null {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return null;
  if (value.kind === 'all') return { kind: 'all' };
  const exact = readPaths('exact' in value ? value.exact : null);
  const subtrees = readPaths('subtrees' in value ? value.subtrees : null);
  return value.kind !== 'some' || exact === null || subtrees === null ? null : { kind: 'some', exact, subtrees };
}

function readPaths(value: unknown): readonly NamespacePath[] | null {
  if (!Array.isArray(value)) return null;
  const paths = value.flatMap((one: unknown) => {
    const read = canonicalize(one);
    return read.ok ? [read.path] : [];
  });
  return paths.length === value.length ? paths : null;
}
