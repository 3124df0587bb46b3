// Guardrails, tests and other checks that a change takes away or weakens, in one line each.
import type { ChecksDiff } from '../../../engine/compiler.js';

export function weakerChecks(diff: ChecksDiff): readonly string[] {
  if (diff.kind === 'stated') {
    const kinds = Object.entries(diff.checks).filter(([, { changed }]) => changed);
    return kinds.map(([kind]) => `${kind} differ`);
  }
  const { checks, guardrails, delegation, accepted } = diff;
  const listed = (
    kind: 'guardrails' | 'tests' | 'people' | 'exclusive',
    change: 'added' | 'removed' | 'changed',
  ): readonly string[] => checks[kind][change].map((name) => `${ONE_OF[kind]} ${change}: ${name}`);
  return [
    ...listed('guardrails', 'removed'),
    ...[...guardrails, ...delegation]
      .filter(({ weaker }) => weaker)
      .map(({ id, changes }) => `weaker: ${id}: ${changes.join('; ')}`),
    ...listed('tests', 'removed'),
    ...listed('tests', 'changed'),
    ...listed('exclusive', 'removed'),
    ...listed('people', 'added'),
    ...listed('people', 'removed'),
    ...listed('people', 'changed'),
    ...accepted.map((text) => `finding accepted: ${text}`),
  ];
}

const ONE_OF = { guardrails: 'guardrail', tests: 'test', people: 'person', exclusive: 'exclusive pair' } as const;
