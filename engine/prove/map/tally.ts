// How many of some identities hold each scope, as a function over namespace classes that counts any range of them in one search. A map of
// rights is made of these: a collapsed row is a range of classes, a collapsed column a tally of several identities.
import { remember } from '../../model/group.js';
import { firstFrom, grown } from '../../model/row-lists.js';
import type { ScopeName } from '../../model/scope.js';
import { hasScope, NO_SCOPES, type ScopeSet } from '../../model/scope-set.js';

/** What is held from a class on, up to the next step's class. Classes rise; before the first one nothing is held. */
export interface ClassSteps {
  readonly classes: readonly number[];
  readonly scopes: readonly ScopeSet[];
}

/** Steps that several identities have alike. */
export interface CountedSteps {
  readonly steps: ClassSteps;
  readonly count: number;
}

/** Opaque: `countIn` reads it. */
export interface Tally {
  /** How many scopes are counted. */
  readonly width: number;
  readonly starts: Float64Array;
  /** By start, then scope: how many hold it from there on. */
  readonly held: Float64Array;
  /** By start, then scope: how many cells are held before it. */
  readonly before: Float64Array;
}

/** Counts of members that are added one by one, so that whoever counts many can do other things between. */
export interface Tallier {
  readonly add: (member: CountedSteps) => void;
  readonly finish: () => Tally;
}

/** Counts for these scopes, in this order. */
export function makeTallier(scopes: readonly ScopeName[]): Tallier {
  const width = scopes.length;
  const rowOf = new Map<number, number>();
  // By row, then scope: how many more hold it from a class on.
  let changes = new Int32Array(16 * width);
  const turnOf = makeTurns(scopes);
  return {
    add: ({ steps, count }) => {
      let then: ScopeSet = NO_SCOPES;
      steps.classes.forEach((at, i) => {
        let row = rowOf.get(at);
        if (row === undefined) {
          row = rowOf.size;
          rowOf.set(at, row);
          changes = grown(changes, rowOf.size * width);
        }
        const now = steps.scopes[i] ?? NO_SCOPES;
        for (const { scope, by } of turnOf(then)(now)) {
          const place = row * width + scope;
          changes[place] = (changes[place] ?? 0) + by * count;
        }
        then = now;
      });
    },
    finish: () => {
      const starts = Float64Array.from(rowOf.keys()).sort();
      const held = new Float64Array(starts.length * width);
      const before = new Float64Array(starts.length * width);
      starts.forEach((start, i) => {
        const [to, from, change] = [i * width, (i - 1) * width, (rowOf.get(start) ?? 0) * width];
        const length = i === 0 ? 0 : start - (starts[i - 1] ?? 0);
        for (let scope = 0; scope < width; scope += 1) {
          const count = i === 0 ? 0 : (held[from + scope] ?? 0);
          held[to + scope] = count + (changes[change + scope] ?? 0);
          before[to + scope] = i === 0 ? 0 : (before[from + scope] ?? 0) + count * length;
        }
      });
      return { width, starts, held, before };
    },
  };
}

export function makeTally(members: Iterable<CountedSteps>, scopes: readonly ScopeName[]): Tally {
  const tallier = makeTallier(scopes);
  for (const member of members) tallier.add(member);
  return tallier.finish();
}

/** One scope more or one less. */
interface Turn {
  readonly scope: number;
  readonly by: 1 | -1;
}

/** What turns one set of scopes into another. There are few sets. */
function makeTurns(scopes: readonly ScopeName[]): (then: ScopeSet) => (now: ScopeSet) => readonly Turn[] {
  return remember((then: ScopeSet) =>
    remember((now: ScopeSet) =>
      scopes.flatMap((name, scope): readonly Turn[] => {
        const by = Number(hasScope(now, name)) - Number(hasScope(then, name));
        return by === 0 ? [] : [{ scope, by: by > 0 ? 1 : -1 }];
      }),
    ),
  );
}

/** By scope: how many pairs of an identity and a class of the range hold it. */
export function countIn(tally: Tally, from: number, until: number): readonly number[] {
  const [low, high] = [placeIn(tally, from), placeIn(tally, until)];
  return Array.from(
    { length: tally.width },
    (_, scope) => cellsBefore(tally, high, scope) - cellsBefore(tally, low, scope),
  );
}

interface PlaceIn {
  /** Where the step that counts there begins in the columns; negative before the first. */
  readonly at: number;
  readonly past: number;
}

function placeIn({ width, starts }: Tally, place: number): PlaceIn {
  const i = firstFrom(starts.length, (step) => (starts[step] ?? Infinity) > place) - 1;
  return { at: i * width, past: place - (starts[i] ?? 0) };
}

function cellsBefore({ held, before }: Tally, { at, past }: PlaceIn, scope: number): number {
  return at < 0 ? 0 : (before[at + scope] ?? 0) + (held[at + scope] ?? 0) * past;
}
