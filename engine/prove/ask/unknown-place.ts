// Recognizes a namespace that the policy does not mention. An answer about it is exact, but the question may contain a mistake.
import { nearest } from '../../diagnostics/nearest.js';
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import type { NamespacePath } from '../../model/namespace.js';

/** Null if a grant names the namespace or one below it. `meant` is a known namespace with a similar name. */
export function unknownPlace(policy: Policy, path: NamespacePath): { readonly meant: string | null } | null {
  const prepared = preparedOf(policy);
  if (prepared === null || prepared.paths.includes(path)) return null;
  return { meant: nearest(path, prepared.paths) };
}
