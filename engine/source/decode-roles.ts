// The section `roles` (docs/language.md "Every key").
import type { MemberDeclaration, RoleDeclaration, RoleReference } from '../model/document.js';
import { formatIdentity, parseIdentity } from '../model/identity.js';
import { nearest } from '../diagnostics/nearest.js';
import { refuse, type FileContext } from './context.js';
import { distinct, entriesOf, firstLine, itemsOf, readNameOfKey, readText } from './fields.js';
import { STATED_SCOPES } from './scope-values.js';
import { either, entryOf, list, mapping, named, readMapping, shape, text, value } from './shape.js';
import type { Entry, MappingNode, Node } from './tree.js';
import { DESCRIPTION, IDENTITY, INSTANT, readIdentity, refuseCutOff } from './values.js';

export const ROLE_REFERENCE = value(text('reference'), readRoleReference);

function readRoleReference(context: FileContext, node: Node): RoleReference | null {
  const written = readText(context, node, '`role`');
  if (written === null || refuseCutOff(context, node)) return null;
  return { kind: 'role', value: written.text, start: written.start, end: written.end };
}

const MEMBER = shape(
  'a member',
  {
    role: [ROLE_REFERENCE, 'All members of that role.'],
    identity: [IDENTITY, 'One identity.'],
    notBefore: [INSTANT, 'A member from this instant on.'],
    expires: [INSTANT, 'A member until just before this instant.'],
  },
  { exactlyOne: [['role', 'identity']] },
);

/** `provider:subject`, or a mapping that names a role or an identity, perhaps with a window. */
function readMember(context: FileContext, node: Node): MemberDeclaration | null {
  const member = node.kind === 'mapping' ? readMemberMapping(context, node) : readIdentity(context, node, 'a member');
  return member === null || refuseCutOff(context, node) ? null : member;
}

function readMemberMapping(context: FileContext, node: MappingNode): MemberDeclaration | null {
  const help = meantIdentity(node);
  if (help !== null) {
    const message = 'a member must be text, or `{ role: … }`';
    return refuse(context, 'VALUE_NOT_TEXT', { at: firstLine(context, node), message, help });
  }
  const member = readMapping(context, node, MEMBER);
  if (member === null) return null;
  const { role, identity, notBefore = null, expires = null } = member.values;
  // A bound that could not be read was reported; without it the member would hold more.
  const named = role ?? identity ?? null;
  if (role === undefined && identity === undefined) {
    if (!member.mayHaveLost) {
      refuse(context, 'KEY_MISSING', {
        at: firstLine(context, node),
        message: 'a member names a `role` or an `identity`',
        help: 'add `role: …` or `identity: provider:subject`',
      });
    }
    return null;
  }
  if (role !== undefined && identity !== undefined) {
    return refuse(context, 'GRANT_PRINCIPAL', {
      at: entryOf(member, 'identity')?.key ?? firstLine(context, node),
      message: 'a member names a `role` or an `identity`, not both',
      help: 'write two members',
    });
  }
  const end = entryOf(member, 'expires');
  if (notBefore !== null && expires !== null && end !== undefined && expires <= notBefore) {
    refuse(context, 'GRANT_WINDOW', {
      at: end.value,
      message: `nobody is ever this member: it expires ${expires === notBefore ? 'when' : 'before'} it begins`,
      help: 'write an `expires` that is later than `notBefore`',
    });
  }
  return named === null ? null : { ...named, notBefore, expires };
}

/** Help for `orcid: 0000-0001`, which was probably meant as an identity and not as a mapping. */
function meantIdentity({ entries }: MappingNode): string | null {
  const [entry, second] = entries;
  if (entry?.value.kind !== 'text' || second !== undefined) return null;
  const { key, value } = entry;
  if (MEMBER.keys.includes(key.text) || nearest(key.text, MEMBER.keys) !== null) return null;
  if (parseIdentity(value.text).ok) return `write \`${value.text}\``;
  const joined = `${key.text}:${value.text}`;
  return parseIdentity(joined).ok ? `remove the space: \`${joined}\`` : null;
}

const readMembers = itemsOf(readMember);

const MEMBERS = value(list(either(IDENTITY, mapping(MEMBER))), (context, node, what) =>
  // The text of an identity has a colon and that of a role has none, so the two never collide.
  distinct(context, readMembers(context, node, what) ?? [], {
    textOf: (member) => (member.kind === 'role' ? member.value : formatIdentity(member.value)),
    helpFor: repeatedHelp,
  }),
);

function repeatedHelp(...members: readonly Pick<MemberDeclaration, 'notBefore' | 'expires'>[]): string {
  const haveWindows = members.every(({ notBefore, expires }) => (notBefore ?? expires ?? null) !== null);
  return haveWindows
    ? 'a member has one window in a role: put the other into a role of its own, and make that role a member of this one'
    : 'remove one, or write what was meant';
}

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
