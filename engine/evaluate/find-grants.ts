// The grants that principals hold at a path, from the same table that decisions read. Used for answers about anyone but
// the actor.
import type { Instant } from '../model/instant.js';
import { invariant } from '../model/invariant.js';
import { type NamespacePath, scanNamespace } from '../model/namespace.js';
import { makeMarks } from '../model/scan-path.js';
import type { ScopeName } from '../model/scope.js';
import { addGrants } from '../table/cite.js';
import { placeOf } from '../table/locate.js';
import { bitOf } from '../table/scope-numbers.js';
import { groundOf, type Policy, UNRESTRICTED } from './policy.js';

interface WantedScope {
  readonly target: NamespacePath;
  /** Finds grants that carry it. */
  readonly scope: ScopeName;
  readonly at: Instant;
}

/** The rows of the grants in force that count at the target, sorted, which is also by id. */
export function findGrants(
  policy: Policy,
  principals: Int32Array,
  { target, scope, at }: WantedScope,
): readonly number[] {
  const table = groundOf(policy);
  invariant(table !== UNRESTRICTED, 'only a compiled policy has grants');
  const marks = makeMarks();
  const path = scanNamespace(target, marks);
  invariant(path !== null, 'a namespace is a path');
  const bit = bitOf(scope, table.ownScopes);
  const search = { wanted: { place: placeOf(table, path, marks), ...bit, at }, rows: [] };
  for (const principal of principals) addGrants(table, table.runStart[principal] ?? 0, search);
  return search.rows.sort((a, b) => a - b);
}
