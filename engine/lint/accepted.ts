// The findings that a policy accepts (docs/language.md "Mistakes"), for comparing two policies: how often each rule is ignored for an
// entry, and for a whole file. Where the comments stand does not matter, so moving files changes nothing.
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import { findIgnores } from './ignores.js';

/** By `LINT_X` and `LINT_X for a whole file`, the number of comments that give a reason. */
export function acceptedFindings(
  sources: ReadonlyMap<string, string>,
  limits: EngineLimits = ENGINE_LIMITS,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { codes, reason, lines } of findIgnores(sources, limits)) {
    if (reason === '') continue;
    for (const code of codes) {
      const name = lines === null ? `${code} for a whole file` : code;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}
