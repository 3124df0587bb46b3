// Writes that nobody reads: at some place and time, a grant allows writing records that nobody may read there and then. Readers are
// looked for in the classes that the fewest grants reach (`leastClasses`), over all of time.
import { groupDigits } from '../diagnostics/fault-words.js';
import { formatInstant, instantOf, windowOf } from '../model/instant.js';
import { addTo, remember } from '../model/group.js';
import { FAMILIES, type Family, scopeBit, type ScopeSet } from '../model/scope.js';
import { pathOfRow } from '../model/namespace-tree.js';
import {
  combine,
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
} from '../model/timeline.js';
import { listOf } from './grant-rules.js';
import { leastClasses, type NamespaceClass } from './least-classes.js';
import { isReachable, type LintWorld } from './lint-world.js';
import { type LintContext, placed } from './rule.js';

const BITS = FAMILIES.map((family) => ({
  family,
  read: scopeBit(`${family}:read`),
  write: scopeBit(`${family}:write`),
}));
const READS = BITS.reduce((bits, { read }) => bits | read, 0);

export function findUnreadWrites(world: LintWorld, context: LintContext): void {
  const readers = makeReaders(world);
  for (let index = world.set.grants.length - 1; index >= 0; index -= 1) {
    const grant = world.set.grants[index];
    if (grant === undefined || !isReachable(world, world.principals[index] ?? 0)) continue;
    let left = readsOf(grant.scopes);
    if (left === 0) continue;
    const whole = { ...windowOf(grant), value: left };
    for (const place of leastClasses(world.tree, { node: world.nodes[index] ?? 0, inherit: grant.inherit })) {
      const unread = readers.unreadIn(place, during(whole));
      if (readers.steps() > context.maxPairs) {
        context.onLimit(placed(grant.place));
        return;
      }
      if (isNothing(unread)) continue;
      const told = new Map<string, { readonly ever: string; readonly families: Family[] }>();
      for (const part of BITS) {
        const own = mapTimeline(unread, (bits) => bits & left & part.read);
        if (isNothing(own)) continue;
        left &= ~part.read;
        const [where, when] = [whereText(world, readers, { place, unread: own }), whenText(piecesOf(own), whole)];
        const scene = `${where}${when}`;
        const alike = told.get(scene);
        if (alike === undefined) told.set(scene, { ever: when === '' ? 'ever ' : '', families: [part.family] });
        else alike.families.push(part.family);
      }
      for (const [scene, { ever, families }] of told) {
        context.report({
          code: 'LINT_WRITE_UNREAD',
          place: placed(grant.place),
          message: `\`${grant.id}\` allows writing ${listOf(families)} records that nobody may ${ever}read ${scene}`,
          help: `grant ${families.map((family) => `\`${family}:read\``).join(', ')} to somebody there`,
        });
      }
    }
  }
}

/** The read scopes of the families that these scopes allow writing. */
function readsOf(scopes: ScopeSet): number {
  let reads = 0;
  for (const { read, write } of BITS) if ((scopes & write) !== 0) reads |= read;
  return reads;
}

interface Readers {
  /** The part of the wanted reads, as bits of scopes, that nobody has in a namespace class. */
  readonly unreadIn: (place: NamespaceClass, wanted: Timeline) => Timeline;
  /** The number of steps through timelines so far. */
  readonly steps: () => number;
}

function makeReaders(world: LintWorld): Readers {
  const { tree } = world;
  const inherited = makeReads(tree.parent.length);
  const exact = makeReads(tree.parent.length);
  world.set.grants.forEach((grant, index) => {
    const value = grant.scopes & READS;
    if (value === 0 || !isReachable(world, world.principals[index] ?? 0)) return;
    (grant.inherit ? inherited : exact).add(world.nodes[index] ?? 0, { ...windowOf(grant), value });
  });
  let steps = 0;
  const without = (wanted: Timeline, reads: Timeline): Timeline => {
    if (reads === NOTHING) return wanted;
    steps += wanted.values.length + reads.values.length;
    return combine(wanted, reads, (want, read) => want & ~read);
  };
  return {
    // Starts at the nearest node, which mostly has all that is wanted.
    unreadIn: ({ node: own, extent }, wanted) => {
      let left = extent === 'exact' ? without(wanted, exact.at(own)) : wanted;
      for (let node = own; node >= 0 && !isNothing(left); node = tree.parent[node] ?? -1)
        left = without(left, inherited.at(node));
      return left;
    },
    steps: () => steps,
  };
}

/** By row, what its grants let anybody read. Most grants hold forever, and their bits need no timeline. */
function makeReads(count: number): {
  readonly add: (row: number, piece: Piece) => void;
  readonly at: (row: number) => Timeline;
} {
  const always = new Int32Array(count);
  const windows = new Map<number, Piece[]>();
  const timelineOf = remember((row: number) => either(constant(always[row] ?? 0), unionOf(windows.get(row) ?? [])));
  return {
    add: (row, piece) => {
      if (piece.from === -Infinity && piece.until === Infinity) always[row] = (always[row] ?? 0) | piece.value;
      else addTo(windows, row, piece);
    },
    at: (row) => (windows.has(row) ? timelineOf(row) : constant(always[row] ?? 0)),
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

/** Describes the first interval and the number of further ones. Empty if it is the whole time of the grant. */
function whenText(when: readonly Piece[], whole: Piece): string {
  const [first, ...more] = when;
  if (first === undefined || (first.from === whole.from && first.until === whole.until)) return '';
  const from = first.from === -Infinity ? '' : ` from ${formatInstant(instantOf(first.from))}`;
  const until = first.until === Infinity ? '' : ` until ${formatInstant(instantOf(first.until))}`;
  return `,${from}${until}${more.length === 0 ? '' : `, and ${groupDigits(more.length)} more times`}`;
}
