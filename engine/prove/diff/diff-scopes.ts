// Which scopes one policy knows and the other does not. A scope that nobody holds is in no cell, but a request for it is answered
// differently once the policy knows it.
import type { ScopeName } from '../../model/scope.js';
import type { PolicyTables } from '../../model/tables.js';

export interface ScopesDiff {
  /** Sorted. */
  readonly added: readonly ScopeName[];
  readonly removed: readonly ScopeName[];
}

export function diffScopes(old: PolicyTables, changed: PolicyTables): ScopesDiff {
  const missing = (from: PolicyTables, other: PolicyTables): readonly ScopeName[] => {
    const known = new Set(other.vocabulary.own);
    return from.vocabulary.own.filter((scope) => !known.has(scope));
  };
  return { added: missing(changed, old), removed: missing(old, changed) };
}
