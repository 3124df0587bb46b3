// What to say about a namespace that the policy does not mention: the answer is exact, but perhaps not to the question
// that was meant.
import { nearest } from '../../diagnostics/nearest.js';
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import type { NamespacePath } from '../../model/namespace.js';

/** Null for a namespace that a grant names, or that one names below; `meant` is one of those that looks like it. */
export function unknownPlace(policy: Policy, path: NamespacePath): { readonly meant: string | null } | null {
  const prepared = preparedOf(policy);
  if (prepared === null || prepared.paths.includes(path)) return null;
  return { meant: nearest(path, prepared.paths) };
}
