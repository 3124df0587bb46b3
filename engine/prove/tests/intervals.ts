// The grants that a test's actor holds, and from them the instants at which answers about it can change. Never used to decide.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { Identity } from '../../model/identity.js';
import { type Instant, instantOf } from '../../model/instant.js';
import { isWithin, type NamespacePath, ROOT } from '../../model/namespace.js';
import { grantsOf } from '../cells/holdings.js';
import { principalsOf } from '../cells/identities.js';

/** The rows of all grants that any of the identities holds, directly or through roles, at any time. */
export function grantsHeldBy(policy: PreparedPolicy, identities: readonly Identity[]): ReadonlySet<number> {
  const principals = new Set(identities.flatMap((identity) => [...principalsOf(policy, identity)]));
  return new Set([...principals].flatMap((principal) => [...grantsOf(policy, principal)]));
}

/** An interval in which no answer changes. */
export interface Interval {
  /** Its first instant; null if it has none. */
  readonly from: Instant | null;
  /** Some instant in it. */
  readonly at: Instant;
}

/** The intervals in which answers about `namespace` and what is above it can differ for holders of these grants. */
export function intervalsOf(
  { tables: { grants }, paths }: PreparedPolicy,
  held: ReadonlySet<number>,
  namespace: NamespacePath,
): readonly Interval[] {
  const above = [...held].filter((grant) => isWithin(namespace, paths[grants.namespace[grant] ?? 0] ?? ROOT));
  const cuts = new Set(above.flatMap((grant) => [grants.notBefore[grant] ?? 0, grants.expires[grant] ?? 0]));
  const sorted = [...cuts]
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
    .map(instantOf);
  const first = sorted[0] ?? instantOf(0);
  return [{ from: null, at: instantOf(first - 1) }, ...sorted.map((cut) => ({ from: cut, at: cut }))];
}
