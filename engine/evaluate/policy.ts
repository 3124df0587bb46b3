// A loaded policy as callers hold it: facts to read, and nothing of what it decides with.
import { invariant } from '../model/invariant.js';
import type { SnapshotCounts } from '../model/tables.js';
import type { PreparedPolicy } from './prepare.js';

declare const brand: unique symbol;

/** Frozen and opaque; only loading makes one. */
export interface Policy {
  readonly [brand]: 'Policy';
  readonly kind: 'compiled' | 'unrestricted';
  readonly name: string;
  /** The snapshot digest: SHA-256 of the file's exact bytes. */
  readonly digest: string;
  /** The decision digest: equal exactly if every request is decided alike. */
  readonly decisions: string;
  /** Of the snapshot file. */
  readonly format: number;
  readonly counts: SnapshotCounts;
}

export type PolicyFacts = Omit<Policy, typeof brand>;

// What belongs to a handle is found through this map alone, so no reflection on the handle reaches it.
const prepared = new WeakMap<Policy, PreparedPolicy>();

/** `tables` is null for the unrestricted policy. */
export function makePolicy(facts: PolicyFacts, tables: PreparedPolicy | null): Policy {
  const policy = Object.freeze({ ...facts, counts: Object.freeze({ ...facts.counts }) }) as Policy;
  if (tables !== null) prepared.set(policy, tables);
  return policy;
}

/** Null for the unrestricted policy. */
export function preparedOf(policy: Policy): PreparedPolicy | null {
  const tables = prepared.get(policy) ?? null;
  invariant(tables !== null || policy.kind === 'unrestricted', 'a policy handle comes from loading');
  return tables;
}
