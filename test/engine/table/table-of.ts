// The decision table of a policy that was loaded.
import type { Policy } from '../../../engine/index.js';
import { groundOf, UNRESTRICTED } from '../../../engine/evaluate/policy.js';
import type { DecisionTable } from '../../../engine/table/columns.js';

export function tableOf(policy: Policy): DecisionTable {
  const table = groundOf(policy);
  if (table === UNRESTRICTED) throw new Error('it has grants');
  return table;
}
