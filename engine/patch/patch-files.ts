// Writes an edit that `explain` proposes into the files of a policy. Every character that the edit is not about stays as it is. Whether the
// files then say what the edit means is for the caller to check, by reading them again.
import { inlineText } from '../format/scalar.js';
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { assertNever, invariant } from '../model/invariant.js';
import { isWithin, type NamespacePath } from '../model/namespace.js';
import type { PolicySet } from '../model/policy-set.js';
import type { ScopeName } from '../model/scope.js';
import { scopeSetOf } from '../model/scope-set.js';
import { scopePatterns, vocabularyOf } from '../model/vocabulary.js';
import type { Change, PolicyChange } from '../prove/explain/edits.js';
import type { Removal } from '../prove/explain/removals.js';
import type { TakingChange } from '../prove/explain/take-away.js';
import type { SourceFile } from '../source/accept-files.js';
import { HEADER_FILE, SECTIONS } from '../source/shapes.js';
import type { Entry, ListNode, MappingNode, Node } from '../source/tree.js';
import { editFiles, type EditedFiles, type Hunk, type PatchedFile } from './edited-files.js';
import { type ListEntry, type Spliced, withItem, withKey, withoutItem, withoutKey, withReplaced } from './splices.js';

export type Patch =
  | { readonly ok: true; readonly files: readonly PatchedFile[]; readonly hunks: readonly Hunk[] }
  /** Nothing can be written, for this reason. */
  | { readonly ok: false; readonly reason: string };

/** `set` must be what the files say. */
export function patchFiles(
  files: readonly SourceFile[],
  { set, change }: { readonly set: PolicySet; readonly change: Change | TakingChange },
  limits: EngineLimits = ENGINE_LIMITS,
): Patch {
  const edited = editFiles(files, set, limits);
  for (const one of singleChanges(change)) {
    const reason = write(edited, one);
    if (reason !== null) return { ok: false, reason };
  }
  return { ok: true, ...edited.finish() };
}

function singleChanges(change: Change | TakingChange): readonly (PolicyChange | Removal)[] {
  switch (change.kind) {
    case 'credential':
    case 'narrow-credential':
      return [];
    case 'several':
      return change.changes;
    default:
      return [change];
  }
}

/** Returns why it cannot be written, or null. */
function write(files: EditedFiles, change: PolicyChange | Removal): string | null {
  switch (change.kind) {
    case 'drop-grant':
      return editGrant(files, change.grant.id, (text, _, list, index) => withoutItem(text, list, index));
    case 'drop-scope':
    case 'scope':
    case 'end-grant':
    case 'narrow':
    case 'window':
    case 'inherit':
    case 'amend':
      return editKeys(files, change.grant.id, fieldsOf(files.set, change));
    case 'drop-role-scope':
      return editRole(files, change.role, (text, role) =>
        withKey(text, role, { key: 'scopes', written: scopesText(files.set, change.scopes), order: ROLE_KEYS }),
      );
    case 'drop-member':
      return editMembers(files, change, (text, list, index) => withoutItem(text, list, index));
    case 'end-member':
      return editMembers(files, change, (text, list, index) => {
        const item = list.value.items[index];
        const written = formatInstant(change.expires);
        if (item?.kind === 'mapping') return withKey(text, item, { key: 'expires', written, order: MEMBER_KEYS });
        const identity = inlineText(change.member, 'flow');
        return item === undefined ? text : withReplaced(text, item, `{ identity: ${identity}, expires: ${written} }`);
      });
    case 'member':
      return declareProvider(files, change) ?? addMember(files, change);
    case 'grant':
      return declareProvider(files, change) ?? addGrant(files, change);
    default:
      return assertNever(change);
  }
}

/** The keys of a grant that change, with their values; null takes a key away. */
type Fields = readonly (readonly [key: string, written: string | null])[];

type GrantChange = Extract<
  PolicyChange | Removal,
  { readonly kind: 'drop-scope' | 'scope' | 'end-grant' | 'narrow' | 'window' | 'inherit' | 'amend' }
>;

function fieldsOf(set: PolicySet, change: GrantChange): Fields {
  const { scopes, inherit, expires, notBefore } = {
    ...{ scopes: undefined, inherit: undefined, expires: undefined, notBefore: undefined },
    ...change,
  };
  const bound = (key: string, instant: Instant | null | undefined): Fields =>
    instant === undefined ? [] : [[key, instant === null ? null : formatInstant(instant)]];
  return [
    ...(scopes === undefined ? [] : [['scopes', scopesText(set, scopes)] as const]),
    // Absent means that the grant counts below, too.
    ...(inherit === undefined ? [] : [['inherit', inherit ? null : 'false'] as const]),
    ...bound('notBefore', notBefore),
    ...bound('expires', expires),
  ];
}

function editKeys(files: EditedFiles, id: string, fields: Fields): string | null {
  for (const [key, written] of fields) {
    const reason = editGrant(files, id, (text, grant) =>
      written === null ? withoutKey(text, grant, key) : withKey(text, grant, { key, written, order: GRANT_KEYS }),
    );
    if (reason !== null) return reason;
  }
  return null;
}

function editGrant(
  files: EditedFiles,
  id: string,
  edit: (text: string, grant: MappingNode, list: ListEntry, index: number) => Spliced,
): string | null {
  for (const path of files.paths) {
    const list = listIn(files.entriesOf(path), 'grants');
    const index = list?.value.items.findIndex((item) => textIn(item, 'id') === id) ?? -1;
    const grant = list?.value.items[index];
    if (list === null || grant?.kind !== 'mapping') continue;
    return files.edit(path, (text) => edit(text, grant, list, index));
  }
  return `no file has grant \`${id}\``;
}

function editRole(files: EditedFiles, name: string, edit: (text: string, role: MappingNode) => Spliced): string | null {
  for (const path of files.paths) {
    const roles = files.entriesOf(path).find(({ key }) => key.text === 'roles')?.value;
    const role = roles?.kind === 'mapping' ? roles.entries.find(({ key }) => key.text === name)?.value : undefined;
    if (role?.kind === 'mapping') return files.edit(path, (text) => edit(text, role));
  }
  return `no file has role \`${name}\``;
}

function editMembers(
  files: EditedFiles,
  { role, member }: { readonly role: string; readonly member: string },
  edit: (text: string, list: ListEntry, index: number) => Spliced,
): string | null {
  return editRole(files, role, (text, declared) => {
    const list = listIn(declared.entries, 'members');
    const index = list?.value.items.findIndex((item) => memberIn(item) === member) ?? -1;
    invariant(list !== null && index >= 0, 'members stand in their roles');
    return edit(text, list, index);
  });
}

function addMember(
  files: EditedFiles,
  { role, identity }: { readonly role: string; readonly identity: string },
): string | null {
  return editRole(files, role, (text, declared) => {
    const list = listIn(declared.entries, 'members');
    const written = inlineText(identity, 'flow');
    if (list === null) return withKey(text, declared, { key: 'members', written: `[${written}]`, order: ROLE_KEYS });
    // A member with a window is one without from now on.
    const known = list.value.items.find((item) => memberIn(item) === identity);
    if (known !== undefined) return withReplaced(text, known, written);
    return withItem(text, list, { flow: written, block: [inlineText(identity, 'line')] });
  });
}

type NewGrant = Extract<PolicyChange, { readonly kind: 'grant' }>;

/** In the file of a grant that is near. */
function addGrant(files: EditedFiles, { identity, namespace, scopes, inherit }: NewGrant): string | null {
  const path = fileFor(files, namespace);
  if (path === null) return 'no file has grants yet, so none says where this one belongs';
  const entries = (place: 'flow' | 'line'): readonly string[] => [
    `id: ${inlineText(newId(files.set, identity, scopes), place)}`,
    `identity: ${inlineText(identity, place)}`,
    `scopes: ${scopesText(files.set, scopes)}`,
    `inherit: ${String(inherit)}`,
    `namespace: ${namespace}`,
  ];
  const list = listIn(files.entriesOf(path), 'grants');
  invariant(list !== null, 'the file has grants');
  return files.edit(path, (text) =>
    withItem(text, list, { flow: `{ ${entries('flow').join(', ')} }`, block: entries('line') }),
  );
}

/** The file of the nearest grant at or above a namespace, otherwise of the first grant. */
function fileFor({ set }: EditedFiles, namespace: NamespacePath): string | null {
  const near = set.grants
    .filter((grant) => grant.place !== null && isWithin(namespace, grant.namespace))
    .sort((a, b) => b.namespace.length - a.namespace.length);
  return (near[0] ?? set.grants.find(({ place }) => place !== null))?.place?.file ?? null;
}

/** Says who and what; a number keeps it apart from others. */
function newId({ grants }: PolicySet, identity: string, scopes: readonly ScopeName[]): string {
  const ids = new Set(grants.map(({ id }) => id));
  const words = `${identity.slice(identity.indexOf(':') + 1)}-${scopes[0] ?? ''}`.toLowerCase();
  const plain = words
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 100);
  let id = plain;
  for (let number = 2; ids.has(id); number += 1) id = `${plain}-${String(number)}`;
  return id;
}

function declareProvider(files: EditedFiles, { provider }: { readonly provider?: string }): string | null {
  if (provider === undefined) return null;
  const header = files.entriesOf(HEADER_FILE).find(({ key }) => key.text === 'providers')?.value;
  if (header?.kind !== 'mapping')
    return `\`${HEADER_FILE}\` has no providers, so \`${provider}\` must be declared by hand`;
  return files.edit(HEADER_FILE, (text) => withKey(text, header, { key: provider, written: '{}', order: [] }));
}

function listIn(entries: readonly Entry[], name: string): ListEntry | null {
  const entry = entries.find(({ key }) => key.text === name);
  return entry === undefined || entry.value.kind !== 'list'
    ? null
    : { key: entry.key, value: entry.value satisfies ListNode };
}

function textIn(node: Node, name: string): string | null {
  const value = node.kind === 'mapping' ? node.entries.find(({ key }) => key.text === name)?.value : undefined;
  return value?.kind === 'text' ? value.text : null;
}

/** `role <name>` or `provider:subject`, as edits name members. */
function memberIn(item: Node): string | null {
  if (item.kind === 'text') return item.text;
  const role = textIn(item, 'role');
  return role === null ? textIn(item, 'identity') : `role ${role}`;
}

function scopesText(set: PolicySet, scopes: readonly ScopeName[]): string {
  const patterns = scopePatterns(scopeSetOf(scopes), vocabularyOf(set));
  return `[${patterns.map((pattern) => inlineText(pattern, 'flow')).join(', ')}]`;
}

const GRANT_KEYS: readonly string[] = keysOf('grants');
const ROLE_KEYS: readonly string[] = keysOf('roles');
/** Where a member is a mapping, its window comes last. */
const MEMBER_KEYS: readonly string[] = ['role', 'identity', 'notBefore', 'expires'];

/** The keys of the entries of a section, in the order in which they are written. */
function keysOf(section: string): readonly string[] {
  const value = SECTIONS.fields.get(section)?.value;
  const of = value?.kind === 'list' || value?.kind === 'named' ? value.of : null;
  invariant(of?.kind === 'mapping', 'entries of sections are mappings');
  return of.shape.keys;
}
