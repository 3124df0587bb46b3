// The counts of a snapshot in one line.
import type { SnapshotCounts } from '../../../engine/index.js';
import { count } from './count.js';

export function renderCounts(counts: SnapshotCounts): string {
  return [
    count(counts.identities, 'identity', 'identities'),
    count(counts.roles, 'role'),
    count(counts.grants, 'grant'),
    count(counts.namespaces, 'namespace'),
  ].join(', ');
}
