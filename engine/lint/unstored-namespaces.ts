// Grants at namespaces that a store does not have: a typing mistake, or a namespace that is yet to be created. Until it exists the
// grant opens nothing: anything stored below it would have created it.
import { nearest } from '../diagnostics/nearest.js';
import type { LintWorld } from './lint-world.js';
import { type LintContext, placed } from './rule.js';

export function findUnstoredNamespaces({ set }: LintWorld, { stored, namespacePlace, report }: LintContext): void {
  if (stored === null) return;
  const meant = new Map<string, string | null>();
  for (const { id, namespace, place } of set.grants) {
    if (stored.has(namespace)) continue;
    if (!meant.has(namespace)) meant.set(namespace, nearest(namespace, stored));
    const near = meant.get(namespace) ?? null;
    report({
      code: 'LINT_NAMESPACE_UNSTORED',
      place: placed(namespacePlace(place)),
      message: `grant \`${id}\` is at \`${namespace}\`, and the store has no such namespace`,
      help: near === null ? 'create the namespace, or remove the grant' : `did you mean \`${near}\`?`,
    });
  }
}
