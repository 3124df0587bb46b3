// How many of some identities hold each scope, as a function over namespace classes that counts any range of them in one search. A map of
// rights is made of these: a collapsed row is a range of classes, a collapsed column a tally of several identities.
import { firstFrom } from '../../model/row-lists.js';
import { scopeBit, SCOPES } from '../../model/scope.js';

/** What is held from a class on, up to the next step's class. Classes rise; before the first one nothing is held. */
export interface Steps {
  readonly classes: readonly number[];
  /** Sets of scopes. */
  readonly scopes: readonly number[];
}

/** Steps that several identities have alike. */
export interface CountedSteps {
  readonly steps: Steps;
  readonly count: number;
}

/** Opaque: `countIn` reads it. */
export interface Tally {
  readonly starts: Float64Array;
  /** By start, then scope: how many hold it from there on. */
  readonly held: Float64Array;
  /** By start, then scope: how many cells are held before it. */
  readonly before: Float64Array;
}

const BITS = SCOPES.map((name) => scopeBit(name));

export function makeTally(members: readonly CountedSteps[]): Tally {
  const turns = members.flatMap(({ steps, count }) =>
    steps.classes.map((at, i) => ({ at, count, now: steps.scopes[i] ?? 0, then: steps.scopes[i - 1] ?? 0 })),
  );
  // The turns of one member are in order.
  if (members.length > 1) turns.sort((a, b) => a.at - b.at);
  const starts = Float64Array.from(new Set(turns.map(({ at }) => at)));
  const held = new Float64Array(starts.length * BITS.length);
  const before = new Float64Array(starts.length * BITS.length);
  let next = 0;
  starts.forEach((start, i) => {
    const [to, from] = [i * BITS.length, (i - 1) * BITS.length];
    if (i > 0) {
      const width = start - (starts[i - 1] ?? 0);
      for (let scope = 0; scope < BITS.length; scope += 1) {
        const count = held[from + scope] ?? 0;
        held[to + scope] = count;
        before[to + scope] = (before[from + scope] ?? 0) + count * width;
      }
    }
    for (let turn = turns[next]; turn?.at === start; turn = turns[next]) {
      next += 1;
      for (const [scope, bit] of BITS.entries()) {
        const change = Number((turn.now & bit) !== 0) - Number((turn.then & bit) !== 0);
        held[to + scope] = (held[to + scope] ?? 0) + change * turn.count;
      }
    }
  });
  return { starts, held, before };
}

/** By scope, in the order of `SCOPES`: how many pairs of an identity and a class of the range hold it. */
export function countIn(tally: Tally, from: number, until: number): readonly number[] {
  const [low, high] = [placeIn(tally, from), placeIn(tally, until)];
  return BITS.map((_, scope) => cellsBefore(tally, high, scope) - cellsBefore(tally, low, scope));
}

interface PlaceIn {
  /** Where the step that counts there begins in the columns; negative before the first. */
  readonly at: number;
  readonly past: number;
}

function placeIn({ starts }: Tally, place: number): PlaceIn {
  const i = firstFrom(starts.length, (step) => (starts[step] ?? Infinity) > place) - 1;
  return { at: i * BITS.length, past: place - (starts[i] ?? 0) };
}

function cellsBefore({ held, before }: Tally, { at, past }: PlaceIn, scope: number): number {
  return at < 0 ? 0 : (before[at + scope] ?? 0) + (held[at + scope] ?? 0) * past;
}
