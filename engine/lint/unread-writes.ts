// Writes that nobody reads: at some place and time, a grant allows writing records that nobody may read there and then. Readers are
// looked for in the classes that the fewest grants reach (`leastClasses`), over all of time.
import { groupDigits } from '../diagnostics/fault-words.js';
import { formatInstant, instantOf } from '../model/instant.js';
import { addTo, remember } from '../model/group.js';
import { isScopeName, scopeOf } from '../model/scope.js';
import {
  commonScopes,
  haveCommon,
  NO_SCOPES,
  scopeBit,
  type ScopeSet,
  scopesWithout,
  unionScopes,
  uniteScopes,
} from '../model/scope-set.js';
import { pathOfRow } from '../model/namespace-tree.js';
import {
  constant,
  during,
  either,
  isNothing,
  mapTimeline,
  NOTHING,
  type Piece,
  piecesOf,
  sameTimeline,
  type Timeline,
  unionOf,
  without,
} from '../model/timeline.js';
import { listOf } from './grant-rules.js';
import { vocabularyOf } from '../model/vocabulary.js';
import { isReachable, leastClasses, type LintWorld, type NamespaceClass } from './lint-world.js';
import { GRANTS_BEFORE, type LintContext, placed } from './rule.js';

/** The scopes of a family that this rule is about. */
interface Readable {
  readonly family: string;
  readonly read: ScopeSet;
  readonly write: ScopeSet;
}

function familiesOf({ set }: LintWorld): readonly Readable[] {
  const setOf = (scope: string): ScopeSet => (isScopeName(scope) ? scopeBit(scope) : NO_SCOPES);
  return vocabularyOf(set).familyNames.map((family) => ({
    family,
    read: setOf(scopeOf(family, 'read')),
    write: setOf(scopeOf(family, 'write')),
  }));
}

export function findUnreadWrites(world: LintWorld, context: LintContext): void {
  const families = familiesOf(world);
  const readers = makeReaders(world, uniteScopes(families.map(({ read }) => read)));
  const readsOf = makeReadsOf(families);
  for (let index = world.set.grants.length - 1; index >= 0; index -= 1) {
    const grant = world.set.grants[index];
    if (grant === undefined || !isReachable(world, world.principals[index] ?? 0)) continue;
    let left = readsOf(grant.scopes);
    if (left === NO_SCOPES) continue;
    const wanted = { from: world.from[index] ?? 0, until: world.until[index] ?? 0, value: left };
    for (const place of leastClasses(world.tree, { node: world.nodes[index] ?? 0, inherit: grant.inherit })) {
      const unread = readers.unreadIn(place, during(wanted));
      if (readers.steps() > context.maxPairs) {
        context.onLimit(placed(grant.place), GRANTS_BEFORE);
        return;
      }
      if (isNothing(unread)) continue;
      const scenes = new Map<string, { readonly ever: string; readonly families: string[] }>();
      for (const part of families) {
        const own = mapTimeline(unread, (scopes) => commonScopes(scopes, commonScopes(left, part.read)));
        if (isNothing(own)) continue;
        left = scopesWithout(left, part.read);
        const [where, when] = [whereText(world, readers, { place, unread: own }), whenText(piecesOf(own), wanted)];
        const scene = `${where}${when}`;
        const alike = scenes.get(scene);
        if (alike === undefined) scenes.set(scene, { ever: when === '' ? 'ever ' : '', families: [part.family] });
        else alike.families.push(part.family);
      }
      for (const [scene, { ever, families: unreadHere }] of scenes) {
        context.report({
          code: 'LINT_WRITE_UNREAD',
          place: placed(grant.place),
          message: `\`${grant.id}\` allows writing ${listOf(unreadHere)} records that nobody may ${ever}read ${scene}`,
          help: `grant ${unreadHere.map((family) => `\`${family}:read\``).join(', ')} to somebody there`,
        });
      }
    }
  }
}

/** The read scopes of the families that these scopes allow writing. */
function makeReadsOf(families: readonly Readable[]): (scopes: ScopeSet) => ScopeSet {
  return remember((scopes: ScopeSet) =>
    uniteScopes(families.filter(({ write }) => haveCommon(scopes, write)).map(({ read }) => read)),
  );
}

interface Readers {
  /** The part of the wanted reads that nobody has in a namespace class. */
  readonly unreadIn: (place: NamespaceClass, wanted: Timeline) => Timeline;
  /** The number of steps through timelines so far. */
  readonly steps: () => number;
}

function makeReaders(world: LintWorld, allReads: ScopeSet): Readers {
  const { tree } = world;
  const inherited = makeReads(tree.parent.length);
  const exact = makeReads(tree.parent.length);
  world.set.grants.forEach((grant, index) => {
    const value = commonScopes(grant.scopes, allReads);
    if (value === NO_SCOPES || !isReachable(world, world.principals[index] ?? 0)) return;
    const piece = { from: world.from[index] ?? 0, until: world.until[index] ?? 0, value };
    (grant.inherit ? inherited : exact).add(world.nodes[index] ?? 0, piece);
  });
  let steps = 0;
  const unreadBy = (wanted: Timeline, reads: Timeline): Timeline => {
    if (reads === NOTHING) return wanted;
    steps += wanted.values.length + reads.values.length;
    return without(wanted, reads);
  };
  return {
    // Starts at the nearest node, which mostly has all that is wanted.
    unreadIn: ({ node: own, extent }, wanted) => {
      let left = extent === 'exact' ? unreadBy(wanted, exact.at(own)) : wanted;
      for (let node = own; node >= 0 && !isNothing(left); node = tree.parent[node] ?? -1)
        left = unreadBy(left, inherited.at(node));
      return left;
    },
    steps: () => steps,
  };
}

/** By row, what its grants let anybody read. Most grants hold forever, and their scopes need no timeline. */
function makeReads(rows: number): {
  readonly add: (row: number, piece: Piece) => void;
  readonly at: (row: number) => Timeline;
} {
  const always = new Array<ScopeSet>(rows).fill(NO_SCOPES);
  const windows = new Map<number, Piece[]>();
  const timelineOf = remember((row: number) =>
    either(constant(always[row] ?? NO_SCOPES), unionOf(windows.get(row) ?? [])),
  );
  return {
    add: (row, piece) => {
      if (piece.from === -Infinity && piece.until === Infinity)
        always[row] = unionScopes(always[row] ?? NO_SCOPES, piece.value);
      else addTo(windows, row, piece);
    },
    at: (row) => (windows.has(row) ? timelineOf(row) : constant(always[row] ?? NO_SCOPES)),
  };
}

/** Describes the class. If the same holds at the node itself, that is added. */
function whereText(
  { tree, tables }: LintWorld,
  readers: Readers,
  { place: { node, extent }, unread }: { readonly place: NamespaceClass; readonly unread: Timeline },
): string {
  const path = `\`${pathOfRow(tables, node)}\``;
  if (extent === 'exact') return `at ${path}`;
  const isAlike = sameTimeline(readers.unreadIn({ node, extent: 'exact' }, unread), unread);
  const others = (tree.end[node] ?? 0) > node + 1 ? ', outside the namespaces that grants name there' : '';
  return `${isAlike ? `at ${path} and below it` : `below ${path}`}${others}`;
}

/** Describes the first interval and the number of further ones. Empty if it is all of the grant's time. */
function whenText(when: readonly Piece[], all: Piece): string {
  const [first, ...more] = when;
  if (first === undefined || (first.from === all.from && first.until === all.until)) return '';
  const from = first.from === -Infinity ? '' : ` from ${formatInstant(instantOf(first.from))}`;
  const until = first.until === Infinity ? '' : ` until ${formatInstant(instantOf(first.until))}`;
  return `,${from}${until}${more.length === 0 ? '' : `, and ${groupDigits(more.length)} more times`}`;
}
