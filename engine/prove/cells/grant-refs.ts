// The grants that a proof names, by the rows of the tables that it reads.
import type { GrantRef } from '../../model/decision.js';
import type { PolicyTables } from '../../model/tables.js';

export function grantRefs(tables: PolicyTables, grants: readonly number[]): readonly GrantRef[] {
  return grants.map((grant) => {
    const id = tables.grants.id[grant] ?? '';
    const file = tables.files[(tables.grants.file[grant] ?? 0) - 1];
    return file === undefined ? { id } : { id, file, line: tables.grants.line[grant] ?? 0 };
  });
}
