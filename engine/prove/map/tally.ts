// How many of some identities hold each scope, as a function over namespace classes that counts any range of them in one search. A map of
// rights is made of these: a collapsed row is a range of classes, a collapsed column a tally of several identities.
import { remember } from '../../model/group.js';
import { firstFrom } from '../../model/row-lists.js';
import type { ScopeName } from '../../model/scope.js';
import { hasScope, NO_SCOPES, type ScopeSet } from '../../model/scope-set.js';

/** What is held from a class on, up to the next step's class. Classes rise; before the first one nothing is held. */
export interface Steps {
  readonly classes: readonly number[];
  readonly scopes: readonly ScopeSet[];
}

/** Steps that several identities have alike. */
export interface CountedSteps {
  readonly steps: Steps;
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

/** Counts for these scopes, in this order. */
export function makeTally(members: readonly CountedSteps[], scopes: readonly ScopeName[]): Tally {
  const width = scopes.length;
  const bitsOf = remember((set: ScopeSet) => scopes.map((scope) => Number(hasScope(set, scope))));
  const turns = members.flatMap(({ steps, count }) =>
    steps.classes.map((at, i) => ({ at, count, now: steps.scopes[i] ?? NO_SCOPES, then: steps.scopes[i - 1] ?? NO_SCOPES })),
  );
  // The turns of one member are in order.
  if (members.length > 1) turns.sort((a, b) => a.at - b.at);
  const starts = Float64Array.from(new Set(turns.map(({ at }) => at)));
  const held = new Float64Array(starts.length * width);
  const before = new Float64Array(starts.length * width);
  let next = 0;
  starts.forEach((start, i) => {
    const [to, from] = [i * width, (i - 1) * width];
    if (i > 0) {
      const length = start - (starts[i - 1] ?? 0);
      for (let scope = 0; scope < width; scope += 1) {
        const count = held[from + scope] ?? 0;
        held[to + scope] = count;
        before[to + scope] = (before[from + scope] ?? 0) + count * length;
      }
    }
    for (let turn = turns[next]; turn?.at === start; turn = turns[next]) {
      next += 1;
      const [now, then] = [bitsOf(turn.now), bitsOf(turn.then)];
      for (let scope = 0; scope < width; scope += 1)
        held[to + scope] = (held[to + scope] ?? 0) + ((now[scope] ?? 0) - (then[scope] ?? 0)) * turn.count;
    }
  });
  return { width, starts, held, before };
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
