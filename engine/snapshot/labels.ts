// The labels of a snapshot: digests that the seal covers and that no decision reads. An intact file can carry a false label, so
// a label is computed again before it is printed or signed.
import type { EngineLimits } from '../limits.js';
import type { HolderClasses } from '../model/holders.js';
import type { PolicyTables } from '../model/tables.js';
import type { SnapshotFault } from './fault.js';
import { digestCells } from './digest-cells.js';

/** What is wrong with the decision digest that a file states, or null. */
export function decisionsFault(
  { tables, holders }: { readonly tables: PolicyTables; readonly holders: HolderClasses },
  stated: string,
  limits: EngineLimits,
): SnapshotFault | null {
  const digests = digestCells(tables, holders, { limits });
  if (digests === 'expandedRows') {
    return { code: 'snapshot.limit', message: 'the policy has more rows than the limit once its roles are followed' };
  }
  if (digests === 'intervals') {
    const message = 'the grants of the policy cut time into more intervals than the limit';
    return { code: 'snapshot.limit', message };
  }
  return digests.decisions === stated ? null : FALSE_DECISIONS;
}

/** For a file whose stated decision digest is not the digest of its decisions. */
export const FALSE_DECISIONS: SnapshotFault = Object.freeze({
  code: 'snapshot.decisions',
  message: 'the decision digest is not that of the decisions in the file',
});
