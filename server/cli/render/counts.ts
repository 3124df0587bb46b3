// The counts of a snapshot, a line each for what it decides by and what it was compiled under.
import type { PolicyChecks, SnapshotCounts } from '../../../engine/index.js';
import { count } from './count.js';

export function renderCounts(counts: SnapshotCounts): string {
  return [
    count(counts.identities, 'identity', 'identities'),
    count(counts.roles, 'role'),
    count(counts.grants, 'grant'),
    count(counts.namespaces, 'namespace'),
  ].join(', ');
}

export function renderChecks(checks: PolicyChecks | null): string {
  if (checks === null) return 'compiled under guardrails and tests that this format does not state';
  const { guardrails, tests, people } = checks;
  const named = `${count(guardrails.count, 'guardrail')}, ${count(tests.count, 'test')}`;
  return `compiled under ${named}, ${count(people.count, 'person', 'people')}`;
}
