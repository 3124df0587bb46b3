// Witnesses of the same identities as one. Where a role breaks a rule in a thousand namespaces, a witness for each would name
// all of its members a thousand times; told once, a report grows with the policy.
import type { RowNumbers, Sighting, World } from './witness.js';

/**
 * One sighting for each set of identities, with all others of theirs in `also`, if each by itself would name more than
 * `limits.witnessNames` grants and identities. `numberOf` is equal for equal identities.
 */
export function joinIdentities(
  { limits }: World,
  sightings: readonly Sighting[],
  numberOf: (identities: RowNumbers) => number,
): readonly Sighting[] {
  const names = sightings.reduce((sum, { identities, grants }) => sum + identities.length + grants.length, 0);
  if (names <= limits.witnessNames) return sightings;
  const groups = new Map<number, Sighting[]>();
  for (const sighting of sightings) {
    const number = numberOf(sighting.identities);
    const group = groups.get(number);
    if (group === undefined) groups.set(number, [sighting]);
    else group.push(sighting);
  }
  return [...groups.values()].flatMap(([first, ...also]) =>
    first === undefined ? [] : also.length === 0 ? [first] : [{ ...first, also }],
  );
}
