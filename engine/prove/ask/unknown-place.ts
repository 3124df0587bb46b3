// What to say of a namespace that somebody asks about and that the policy does not speak of: answers there are exact, and
// perhaps not what was meant.
import { nearest } from '../../diagnostics/nearest.js';
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import type { NamespacePath } from '../../model/namespace.js';

/** Null for a namespace that a grant names, or that one names below; `meant` is one of those that looks like it. */
export function unknownPlace(policy: Policy, path: NamespacePath): { readonly meant: string | null } | null {
  const prepared = preparedOf(policy);
  if (prepared === null || prepared.paths.includes(path)) return null;
  return { meant: nearest(path, prepared.paths) };
}
