// The sections `providers` (of `policy.yaml`) and `roles` (docs/language.md "Every key").
import type {
  MemberReference,
  PolicyHeader,
  ProviderDeclaration,
  RoleDeclaration,
  RoleReference,
} from '../model/document.js';
import { formatIdentity, GROUP_SUFFIX, isName, parseIdentity } from '../model/identity.js';
import { nearest } from '../diagnostics/nearest.js';
import { refuse, type FileContext } from './context.js';
import {
  firstLine,
  isRepeated,
  readEntries,
  readFields,
  readFreeText,
  readList,
  readName,
  readText,
  refuseName,
  type Fields,
} from './fields.js';
import { readStatedScopes } from './scope-values.js';
import { PROVIDER, ROLE, ROLE_MEMBER } from './shapes.js';
import type { Entry, Node, TextNode } from './tree.js';
import { readIdentity, refuseCutOff } from './values.js';

/** What `policy.yaml` says; its keys have been checked. */
export function decodeHeader(context: FileContext, fields: Fields): PolicyHeader {
  const version = fields.get('bailiwick')?.value;
  if (
    version !== undefined &&
    version.kind !== 'refused' &&
    !(version.kind === 'text' && version.plain && version.text === '1')
  ) {
    refuse(context, 'POLICY_VERSION', {
      at: version,
      message: '`bailiwick` must be the number 1',
      help: 'write `bailiwick: 1`',
    });
  }
  const name = fields.get('name');
  const providers = fields.get('providers');
  return {
    name: name === undefined ? null : readName(context, name.value, '`name`'),
    providers: providers === undefined ? [] : decodeProviders(context, providers.value),
  };
}

function decodeProviders(context: FileContext, node: Node): readonly ProviderDeclaration[] {
  const providers: ProviderDeclaration[] = [];
  for (const { key, value } of readDeclarations(context, node, '`providers`')) {
    checkName(context, key, 'the provider');
    if (key.text.endsWith(GROUP_SUFFIX)) {
      refuse(context, 'PROVIDER_RESERVED', {
        at: key,
        message: `provider names that end in \`${GROUP_SUFFIX}\` are reserved for group claims`,
        help: `remove it: \`${key.text}:…\` can be a member once \`${key.text.slice(0, -GROUP_SUFFIX.length)}\` is declared`,
      });
    }
    const fields = readFields(context, value, PROVIDER);
    providers.push({
      name: { value: key.text, start: key.start, end: key.end },
      description: readDescription(context, fields),
    });
  }
  return providers;
}

function readDeclarations(context: FileContext, node: Node, what: string): readonly Entry[] {
  const entries = readEntries(context, node, what);
  if (entries === null) context.incomplete = true;
  return entries ?? [];
}

function checkName(context: FileContext, key: TextNode, what: string): void {
  const { text } = key;
  if (!isName(text)) refuseName(context, key, what);
  // Most likely a colon is missing before the space: another name was meant then, and is not called missing.
  if (key.text.includes(' ')) context.incomplete = true;
}

export function readDescription(context: FileContext, fields: Fields | null): string | null {
  const entry = fields?.get('description');
  return entry === undefined ? null : (readFreeText(context, entry.value, '`description`')?.value ?? null);
}

export function decodeRoles(context: FileContext, node: Node): readonly RoleDeclaration[] {
  const roles: RoleDeclaration[] = [];
  for (const { key, value } of readDeclarations(context, node, '`roles`')) {
    checkName(context, key, 'the role');
    const fields = readFields(context, value, ROLE);
    const members = fields?.get('members');
    roles.push({
      // A role whose name or content is wrong still counts as declared: references to it are not reported as well.
      name: { value: key.text, start: key.start, end: key.end },
      description: readDescription(context, fields),
      members: members === undefined ? [] : decodeMembers(context, members.value),
      scopes: fields === null ? 'wrong' : readStatedScopes(context, fields),
    });
  }
  return roles;
}

function decodeMembers(context: FileContext, node: Node): readonly MemberReference[] {
  const members: MemberReference[] = [];
  const seen = new Map<string, { text: string; start: number; end: number }>();
  for (const item of readList(context, node, '`members`') ?? []) {
    const member = item.kind === 'mapping' ? readRoleMember(context, item) : readIdentity(context, item, 'a member');
    if (member === null || refuseCutOff(context, item)) continue;
    // An identity has a colon in its text and a role none, so the two never meet.
    const text = member.kind === 'role' ? member.value : formatIdentity(member.value);
    if (!isRepeated(context, { text, start: member.start, end: member.end }, seen)) members.push(member);
  }
  return members;
}

/** `{ role: name }` */
function readRoleMember(context: FileContext, node: Node & { readonly kind: 'mapping' }): RoleReference | null {
  const meant = meantIdentity(node);
  if (meant !== null) {
    const message = 'a member must be text, or `{ role: … }`';
    return refuse(context, 'VALUE_NOT_TEXT', { at: firstLine(context, node), message, help: meant });
  }
  const fields = readFields(context, node, ROLE_MEMBER);
  const entry = fields?.get('role');
  return entry === undefined ? null : readRoleReference(context, entry.value);
}

/** `orcid: 0000-0001` and `identity: orcid:0000-0001` were hardly meant to name a role: what to write instead, as a help. */
function meantIdentity({ entries }: Node & { readonly kind: 'mapping' }): string | null {
  const [entry, second] = entries;
  if (entry?.value.kind !== 'text' || second !== undefined || nearest(entry.key.text, ROLE_MEMBER.keys) !== null)
    return null;
  const { key, value } = entry;
  if (ROLE_MEMBER.keys.includes(key.text)) return null;
  if (parseIdentity(value.text).ok) return `write \`${value.text}\``;
  const joined = `${key.text}:${value.text}`;
  return parseIdentity(joined).ok ? `remove the space: \`${joined}\`` : null;
}

export function readRoleReference(context: FileContext, node: Node): RoleReference | null {
  const text = readText(context, node, '`role`');
  if (text === null || refuseCutOff(context, node)) return null;
  return { kind: 'role', value: text.text, start: text.start, end: text.end };
}
