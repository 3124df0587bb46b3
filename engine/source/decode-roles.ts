// The section `roles` (docs/language.md "Every key").
import type { MemberReference, RoleDeclaration, RoleReference } from '../model/document.js';
import { formatIdentity, parseIdentity } from '../model/identity.js';
import { nearest } from '../diagnostics/nearest.js';
import { refuse, type FileContext } from './context.js';
import { distinct, entriesOf, firstLine, itemsOf, readNameOfKey, readText } from './fields.js';
import { STATED_SCOPES } from './scope-values.js';
import { either, list, mapping, named, readMapping, shape, text, value } from './shape.js';
import type { Entry, MappingNode, Node } from './tree.js';
import { DESCRIPTION, IDENTITY, readIdentity, refuseCutOff } from './values.js';

export const ROLE_REFERENCE = value(text('reference'), readRoleReference);

function readRoleReference(context: FileContext, node: Node): RoleReference | null {
  const written = readText(context, node, '`role`');
  if (written === null || refuseCutOff(context, node)) return null;
  return { kind: 'role', value: written.text, start: written.start, end: written.end };
}

const ROLE_MEMBER = shape('a member', { role: [ROLE_REFERENCE, 'All members of that role.'] }, { required: ['role'] });

/** `provider:subject`, or `{ role: name }`. */
function readMember(context: FileContext, node: Node): MemberReference | null {
  const member = node.kind === 'mapping' ? readRoleMember(context, node) : readIdentity(context, node, 'a member');
  return member === null || refuseCutOff(context, node) ? null : member;
}

function readRoleMember(context: FileContext, node: MappingNode): RoleReference | null {
  const help = meantIdentity(node);
  if (help !== null) {
    const message = 'a member must be text, or `{ role: … }`';
    return refuse(context, 'VALUE_NOT_TEXT', { at: firstLine(context, node), message, help });
  }
  return readMapping(context, node, ROLE_MEMBER)?.values.role ?? null;
}

/** Help for `orcid: 0000-0001` and `identity: orcid:0000-0001`, which were probably meant as an identity and not as a role. */
function meantIdentity({ entries }: MappingNode): string | null {
  const [entry, second] = entries;
  if (entry?.value.kind !== 'text' || second !== undefined) return null;
  const { key, value } = entry;
  if (ROLE_MEMBER.keys.includes(key.text) || nearest(key.text, ROLE_MEMBER.keys) !== null) return null;
  if (parseIdentity(value.text).ok) return `write \`${value.text}\``;
  const joined = `${key.text}:${value.text}`;
  return parseIdentity(joined).ok ? `remove the space: \`${joined}\`` : null;
}

const readMembers = itemsOf(readMember);

const MEMBERS = value(list(either(IDENTITY, mapping(ROLE_MEMBER))), (context, node, what) =>
  // The text of an identity has a colon and that of a role has none, so the two never collide.
  distinct(context, readMembers(context, node, what) ?? [], (member) =>
    member.kind === 'role' ? member.value : formatIdentity(member.value),
  ),
);

const ROLE = shape('a role', {
  description: DESCRIPTION,
  members: [MEMBERS, 'Who is in the role: identities, and other roles.'],
  scopes: [STATED_SCOPES, 'What a grant to this role means when it names no scopes.'],
});

/** A role with a wrong name or wrong content still counts as declared, so references to it are not reported as well. */
function readRole(context: FileContext, { key, value: of }: Entry): RoleDeclaration {
  const role = readMapping(context, of, ROLE);
  const { description = null, members, scopes } = role?.values ?? {};
  const isWrong = role === null || scopes === null || role.misspelt.includes('scopes');
  const stated = scopes ?? (isWrong ? 'wrong' : 'absent');
  return { name: readNameOfKey(context, key, 'the role'), description, members: members ?? [], scopes: stated };
}

export const ROLES = value(named('role-name', mapping(ROLE)), entriesOf(readRole));
