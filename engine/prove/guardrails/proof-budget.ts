// How much work all proofs of a policy's guardrails may take together. Otherwise the author of one file could hold up the proofs of all
// others. A guardrail beyond the budget is not proved, and the report names the file that used the most.
import { addTo } from '../../model/group.js';
import type { EngineLimits } from '../../limits.js';
import type { PolicyGuardrail } from '../../model/policy-set.js';

/** What takes more than one step, which is about what it takes to look at a row of a table. */
export const STEPS_OF = Object.freeze({
  /** A person whom `people` names: with which of their identities, and beside which groups, they count. */
  person: 40,
  /** A member of a role that `to` or `except` names. */
  member: 4,
  /** A place in which holders are counted. */
  place: 100,
  /** An identity that is put into a group of those who hold the same grants. */
  grouping: 5,
  /** A cluster of grants that is folded into regions. */
  cluster: 400,
  /** Two sets of grants that are compared. */
  meeting: 400,
  /** Two identities or groups that an actor may carry together. */
  pair: 40,
  /** A witness, and each grant and identity that it names. */
  witness: 800,
  named: 20,
});

/** The proofs of a policy take more steps than they may. */
export class TooManySteps extends Error {}

export interface ProofBudget {
  /** All steps, spent or not. */
  readonly steps: number;
  /** Throws `TooManySteps` once there are none left. */
  readonly spend: (steps: number) => void;
  readonly isSpent: () => boolean;
  /** Runs a proof, and counts its steps for the guardrail. */
  readonly charge: <Result>(guardrail: PolicyGuardrail, proof: () => Result) => Result;
  /** The file that spent the most, and the guardrail in it that did; null if nothing was charged. */
  readonly costliest: () => Costliest | null;
}

/** What proofs are bounded by. */
export interface ProofBounds {
  readonly limits: EngineLimits;
  readonly budget: ProofBudget;
}

export interface Costliest {
  readonly guardrail: PolicyGuardrail;
  /** Steps of the guardrail alone. */
  readonly own: number;
  /** Steps of all guardrails of its file. */
  readonly ofFile: number;
}

export function makeProofBudget(steps: number): ProofBudget {
  let left = steps;
  const spent = new Map<PolicyGuardrail, number>();
  const findCostliest = (): Costliest | null => {
    const files = new Map<string | null, Costliest[]>();
    for (const [guardrail, own] of spent) addTo(files, guardrail.place?.file ?? null, { guardrail, own, ofFile: 0 });
    const most = [...files.values()].map((those): Costliest | null => {
      const [first] = those.toSorted((a, b) => b.own - a.own);
      return first === undefined ? null : { ...first, ofFile: those.reduce((sum, { own }) => sum + own, 0) };
    });
    return most.filter((one) => one !== null).sort((a, b) => b.ofFile - a.ofFile)[0] ?? null;
  };
  let last: Costliest | null = null;
  return {
    steps,
    spend: (some) => {
      left -= some;
      if (left < 0) throw new TooManySteps();
    },
    isSpent: () => left < 0,
    charge: (guardrail, proof) => {
      const before = left;
      try {
        return proof();
      } finally {
        spent.set(guardrail, (spent.get(guardrail) ?? 0) + Math.max(0, before) - Math.max(0, left));
      }
    },
    // Nothing is spent any more once there are no steps left.
    costliest: () => (left < 0 ? (last ??= findCostliest()) : findCostliest()),
  };
}
