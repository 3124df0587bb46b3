// A member of a role, as reports name it.
import type { PolicyTables } from '../../model/tables.js';
import { identityText } from './identities.js';

/** `role <name>` or `provider:subject` */
export function memberText(tables: PolicyTables, principal: number): string {
  const { name } = tables.roles;
  return principal < name.length ? `role ${name[principal] ?? ''}` : identityText({ tables }, principal - name.length);
}
