// Collects what is wrong with a body: every fault with its place, and none with a value of the input (docs/errors.md).
import { pointerTo } from '../json/strict-json.js';
import { ApiProblem, type InputFault, type ProblemCode } from '../problem.js';
import { QUERY_LIMITS } from '../limits/queries.js';

/** The keys from the top of the body to the place. */
export type BodyPath = readonly (string | number)[];

export interface Faults {
  add(place: BodyPath, code: ProblemCode, message: string): void;
  readonly found: readonly InputFault[];
}

/** Keeps the first few faults, in the order in which they were found. */
export function collectFaults(): Faults {
  const found: InputFault[] = [];
  return {
    found,
    add: (place, code, message) => {
      if (found.length < QUERY_LIMITS.errors)
        found.push({ pointer: place.reduce<string>(pointerTo, ''), code, message });
    },
  };
}

/** If there are faults, throws the problem of the first one, with all of them. */
export function throwIfAny(faults: Faults): void {
  const first = faults.found[0];
  if (first !== undefined) throw new ApiProblem(first.code, { errors: [...faults.found] });
}
