// Who has grants that count near some places: only their rights can differ there.
import { countPrincipals } from '../../model/tables.js';
import type { PolicyRows, Rights, Rows } from './holdings.js';
import type { Nodes } from './nodes.js';

/** 1 for each principal that has any of these grants (1 for each). */
export function principalsOfGrants({ tables }: PolicyRows, grants: Uint8Array): Uint8Array {
  const found = new Uint8Array(countPrincipals(tables));
  grants.forEach((one, grant) => {
    if (one === 1) found[tables.grants.principal[grant] ?? 0] = 1;
  });
  return found;
}

/** 1 for each row in the places or above one of them. */
export function rowsNear({ parent, paths }: Nodes, places: readonly Rows[]): Uint8Array {
  const marked = new Uint8Array(paths.length);
  for (const { from, until } of places) {
    marked.fill(1, from, until);
    for (let row = parent[from] ?? -1; row >= 0 && marked[row] === 0; row = parent[row] ?? -1) marked[row] = 1;
  }
  return marked;
}

/** 1 for each principal with a grant in any of the rows (1 for each). */
export function principalsNear({ policy, rowOfGrant }: Rights, rows: Uint8Array): Uint8Array {
  return principalsOfGrants(
    policy,
    Uint8Array.from(rowOfGrant, (row) => rows[row] ?? 0),
  );
}
