// The section `grants` (docs/language.md "Every key"). Parts that are wrong become null, so that the others are still checked.
import type { GrantDeclaration, MemberReference } from '../model/document.js';
import type { NamespacePath } from '../model/namespace.js';
import type { Located } from '../model/span.js';
import { refuse, type FileContext } from './context.js';
import {
  firstLine,
  mayHaveLost,
  readBoolean,
  readFields,
  readFreeText,
  readList,
  readName,
  type Fields,
} from './fields.js';
import { readRoleReference } from './decode-roles.js';
import { readStatedScopes } from './scope-values.js';
import { GRANT } from './shapes.js';
import type { Node } from './tree.js';
import { readIdentity, readInstant, readNamespace, refuseCutOff } from './values.js';

export function decodeGrants(context: FileContext, node: Node): readonly GrantDeclaration[] {
  const grants: GrantDeclaration[] = [];
  for (const item of readList(context, node, '`grants`') ?? []) {
    const fields = readFields(context, item, GRANT);
    if (fields !== null) grants.push(decodeGrant(context, item, fields));
  }
  return grants;
}

function decodeGrant(context: FileContext, node: Node, fields: Fields): GrantDeclaration {
  const [id, inherit] = [fields.get('id'), fields.get('inherit')];
  const [notBefore, expires, reason] = [fields.get('notBefore'), fields.get('expires'), fields.get('reason')];
  const from = notBefore === undefined ? null : readInstant(context, notBefore.value, '`notBefore`');
  const until = expires === undefined ? null : readInstant(context, expires.value, '`expires`');
  if (from !== null && until !== null && expires !== undefined && until <= from) {
    refuse(context, 'GRANT_WINDOW', {
      at: expires.value,
      message: `the grant is never in force: it expires ${until === from ? 'when' : 'before'} it begins`,
      help: 'write an `expires` that is later than `notBefore`',
    });
  }
  return {
    place: firstLine(context, node),
    id: id === undefined ? null : readName(context, id.value, '`id`'),
    ...readPrincipals(context, node, fields),
    namespace: readGrantNamespace(context, fields),
    scopes: readStatedScopes(context, fields),
    inherit: inherit === undefined ? true : (readBoolean(context, inherit.value, '`inherit`') ?? true),
    notBefore: from,
    expires: until,
    reason: reason === undefined ? null : (readFreeText(context, reason.value, '`reason`')?.value ?? null),
  };
}

/** Exactly one of `role` and `identity`; where there are both, both are read. */
function readPrincipals(
  context: FileContext,
  node: Node,
  fields: Fields,
): Pick<GrantDeclaration, 'principals' | 'holder'> {
  const [role, identity] = [fields.get('role'), fields.get('identity')];
  if (role === undefined && identity === undefined) {
    // Where another key is unknown, that may be the misspelt principal.
    if (!mayHaveLost(node, fields))
      refuse(context, 'GRANT_PRINCIPAL', {
        at: firstLine(context, node),
        message: 'a grant names a `role` or an `identity`',
        help: 'add `role: …` or `identity: provider:subject`; nothing stands for everyone',
      });
    return { principals: [], holder: null };
  }
  if (role !== undefined && identity !== undefined) {
    refuse(context, 'GRANT_PRINCIPAL', {
      at: identity.key,
      message: 'a grant names a `role` or an `identity`, not both',
      help: 'write two grants, or a role that has the identity as a member',
    });
  }
  const named: readonly (MemberReference | null)[] = [
    role === undefined ? null : readRoleReference(context, role.value),
    identity === undefined || refuseCutOff(context, identity.value)
      ? null
      : readIdentity(context, identity.value, '`identity`'),
  ];
  return {
    principals: named.filter((reference) => reference !== null),
    holder: role === undefined ? 'identity' : identity === undefined ? 'role' : 'both',
  };
}

function readGrantNamespace(context: FileContext, fields: Fields): Located<NamespacePath> | null {
  const entry = fields.get('namespace');
  if (entry === undefined || refuseCutOff(context, entry.value)) return null;
  return readNamespace(context, entry.value, '`namespace`');
}
