// The section `grants` (docs/language.md "Every key"). Wrong parts become null, so that the others are still checked.
import type { GrantDeclaration } from '../model/document.js';
import { refuse, type FileContext } from './context.js';
import { firstLine, itemsOf, type Reader } from './fields.js';
import { ROLE_REFERENCE } from './decode-roles.js';
import { STATED_SCOPES } from './scope-values.js';
import { entryOf, list, mapping, readMapping, shape, value, type ReadMapping } from './shape.js';
import type { Node } from './tree.js';
import { BOOLEAN, IDENTITY, INSTANT, NAME, NAMESPACE, PROSE, refuseCutOff } from './values.js';

function uncut<T>(read: Reader<T>): Reader<T> {
  return (context, node, what) => (refuseCutOff(context, node) ? null : read(context, node, what));
}

// The keys are in the order of a sentence: who may do what, how far down and when, where, and why. This order also makes truncated
// files safe: `namespace` is required and comes after everything that narrows the grant. So a file that is cut off at any line loses
// the grant, and never only its bounds.
const GRANT = shape(
  'a grant',
  {
    id: [NAME, 'Unique and stable: explanations cite it.'],
    role: [ROLE_REFERENCE, 'To all members of this role.'],
    identity: [value(IDENTITY, uncut(IDENTITY.read)), 'To this identity alone.'],
    scopes: [STATED_SCOPES, 'What is granted. Without it, what the role declares.'],
    inherit: [BOOLEAN, '`false`: at this namespace alone, not below it.'],
    notBefore: [INSTANT, 'In force from this instant on.'],
    expires: [INSTANT, 'In force until just before this instant.'],
    namespace: [value(NAMESPACE, uncut(NAMESPACE.read)), 'Where, and everything below unless `inherit` is `false`.'],
    reason: [PROSE, 'Why, for reviewers.'],
  },
  {
    required: ['id', 'namespace'],
    exactlyOne: [['role', 'identity']],
    foreign: [
      [
        /^(?:effect|deny|denies|allow|forbid)$/i,
        'a grant only gives, and there are no deny rules: to say what nobody may hold, write a guardrail (`never`)',
      ],
      [/^(?:actions?|permissions?|privileges?|verbs?)$/i, 'write `scopes`, such as `scopes: [resource:read]`'],
      [/^(?:resources?|paths?|objects?|on)$/i, 'write `namespace`; which families of records, `scopes` says'],
      [
        /^(?:principals?|subjects?|users?|groups?|members?|who|to)$/i,
        'write `role: …` or `identity: provider:subject`; several identities are a role',
      ],
      [
        /^(?:conditions?|when|if|where)$/i,
        'there are no conditions; `notBefore` and `expires` say when a grant is in force',
      ],
    ],
  },
);

function readGrant(context: FileContext, node: Node): GrantDeclaration | null {
  const grant = readMapping(context, node, GRANT);
  if (grant === null) return null;
  const { id = null, role, identity, scopes, inherit, namespace = null, reason = null } = grant.values;
  const { notBefore = null, expires = null } = grant.values;
  const end = entryOf(grant, 'expires');
  if (notBefore !== null && expires !== null && end !== undefined && expires <= notBefore) {
    refuse(context, 'GRANT_WINDOW', {
      at: end.value,
      message: `the grant is never in force: it expires ${expires === notBefore ? 'when' : 'before'} it begins`,
      help: 'write an `expires` that is later than `notBefore`',
    });
  }
  return {
    place: firstLine(context, node),
    id,
    principals: [role ?? null, identity ?? null].filter((principal) => principal !== null),
    holder: holderOf(context, node, grant),
    namespace,
    scopes: scopes ?? (scopes === null || grant.misspelt.includes('scopes') ? 'wrong' : 'absent'),
    inherit: inherit ?? true,
    notBefore,
    expires,
    reason,
  };
}

/** Exactly one of `role` and `identity` must be present. If both are, both are read. */
function holderOf(context: FileContext, node: Node, grant: ReadMapping<typeof GRANT.rows>): GrantDeclaration['holder'] {
  const [role, identity] = [entryOf(grant, 'role'), entryOf(grant, 'identity')];
  if (role !== undefined && identity !== undefined) {
    refuse(context, 'GRANT_PRINCIPAL', {
      at: identity.key,
      message: 'a grant names a `role` or an `identity`, not both',
      help: 'write two grants, or a role that has the identity as a member',
    });
    return 'both';
  }
  if (role !== undefined) return 'role';
  if (identity !== undefined) return 'identity';
  // An unknown key may be the misspelt principal.
  if (!grant.mayHaveLost)
    refuse(context, 'GRANT_PRINCIPAL', {
      at: firstLine(context, node),
      message: 'a grant names a `role` or an `identity`',
      help: 'add `role: …` or `identity: provider:subject`; no word means everyone',
    });
  return null;
}

export const GRANTS = value(list(mapping(GRANT)), itemsOf(readGrant));
