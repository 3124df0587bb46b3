// What several principals hold together, as one step function: for an actor that is kept, one search answers for all of them.
import type { DecisionTable } from './columns.js';
import { isHeldBy, lowerBound, SCOPE_BITS, type Wanted } from './judge.js';

/** All places, then for each the rights from there up to the next place. Before the first place nothing is held. */
export type MergedSteps = Int32Array;

/**
 * Many actors are kept, so one that holds more than this many steps is judged principal by principal: at most 8 KiB
 * each.
 */
const MOST = 1024;

/** Null if there is nothing to merge, or too much. */
export function mergeSteps(table: DecisionTable, principals: Int32Array): MergedSteps | null {
  const { stepPlace, stepRights, stepStart } = table;
  let count = 0;
  for (const principal of principals) count += (stepStart[principal + 1] ?? 0) - (stepStart[principal] ?? 0);
  if (count === 0 || count > MOST) return null;
  const changes: Change[] = [];
  for (const principal of principals) {
    let before = 0;
    const end = stepStart[principal + 1] ?? 0;
    for (let i = stepStart[principal] ?? 0; i < end; i += 1) {
      const rights = stepRights[i] ?? 0;
      changes.push({ place: stepPlace[i] ?? 0, before, rights });
      before = rights;
    }
  }
  changes.sort((a, b) => a.place - b.place);
  return sweep(changes);
}

/** Whether one of the principals holds it, asked of their steps together. */
export function isHeldByAny(
  table: DecisionTable,
  { principals, merged }: { readonly principals: Int32Array; readonly merged: MergedSteps },
  wanted: Wanted,
): boolean {
  const rights = rightsAt(merged, wanted.place);
  if ((rights & wanted.scopes) !== 0) return true;
  // Held at some time: whether that is now, their grants say.
  return (rights & (wanted.scopes << SCOPE_BITS)) !== 0 && principals.some((one) => isHeldBy(table, one, wanted));
}

/** The rights of the last step at or before the place. */
function rightsAt(steps: MergedSteps, place: number): number {
  const count = steps.length >> 1;
  const end = lowerBound(steps, place + 1, { from: 0, to: count });
  return end === 0 ? 0 : (steps[count + end - 1] ?? 0);
}

/** What one principal held up to a place, and what it holds from there on. */
interface Change {
  readonly place: number;
  readonly before: number;
  readonly rights: number;
}

/** How many principals hold each right is counted along the places. */
function sweep(changes: readonly Change[]): MergedSteps {
  const places: number[] = [];
  const rights: number[] = [];
  const holders = new Int32Array(2 * SCOPE_BITS);
  let held = 0;
  changes.forEach(({ place, before, rights: after }, index) => {
    for (let bit = 0; bit < holders.length; bit += 1) {
      const holding = (holders[bit] ?? 0) + ((after >> bit) & 1) - ((before >> bit) & 1);
      holders[bit] = holding;
      held = holding > 0 ? held | (1 << bit) : held & ~(1 << bit);
    }
    if (changes[index + 1]?.place === place || held === (rights.at(-1) ?? 0)) return;
    places.push(place);
    rights.push(held);
  });
  return Int32Array.from([...places, ...rights]);
}
