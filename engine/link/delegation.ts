// Delegated folders (docs/language.md "Delegation"): the owners of one decide at or below its namespace and nowhere else, whatever its
// files contain. `policy.yaml`, which has other owners, says which folders are delegated.
import type { FolderDeclaration, PolicyDocument, RuleDeclaration } from '../model/document.js';
import { remember } from '../model/group.js';
import { isWithin, type NamespacePath } from '../model/namespace.js';
import type { PolicyFolder } from '../model/policy-set.js';
import type { Span } from '../model/span.js';
import type { Names } from './names.js';
import { placeOf, relatedAt } from './places.js';

/** A folder whose `within` could be read. */
export interface Delegated extends FolderDeclaration {
  readonly header: PolicyDocument;
  readonly limit: NamespacePath;
}

/** The delegated folders that a file is in, the innermost first. */
export type FoldersOf = (file: string) => readonly Delegated[];

export function linkFolders(documents: readonly PolicyDocument[], names: Names): readonly PolicyFolder[] {
  const folders = documents.flatMap((header) =>
    (header.header?.folders ?? []).flatMap((folder): readonly Delegated[] =>
      folder.within === null ? [] : [{ ...folder, header, limit: folder.within.value }],
    ),
  );
  const foldersOf = makeFoldersOf(folders);
  for (const folder of folders) checkFolder(folder, { documents, names, foldersOf });
  for (const document of documents) {
    const [innermost] = foldersOf(document.file);
    if (innermost !== undefined) checkFile(document, innermost, names);
  }
  if (folders.length > 0) checkRoleUse(documents, names, foldersOf);
  const files = documents.flatMap((document): readonly PolicyFolder[] => {
    const { file, within } = document;
    return within === null
      ? []
      : [{ path: file, within: within.value, exports: null, place: placeOf(document, within) }];
  });
  const delegated = folders.map((folder) => ({
    path: folder.path.value,
    within: folder.limit,
    exports: folder.exports.map(({ value }) => value),
    place: placeOf(folder.header, folder.path),
  }));
  return [...delegated, ...files];
}

function makeFoldersOf(folders: readonly Delegated[]): FoldersOf {
  const byPath = new Map(folders.map((folder) => [folder.path.value, folder]));
  return (file) => {
    const found: Delegated[] = [];
    if (byPath.size === 0) return found;
    for (let cut = file.lastIndexOf('/'); cut > 0; cut = file.lastIndexOf('/', cut - 1)) {
      const folder = byPath.get(file.slice(0, cut));
      if (folder !== undefined) found.push(folder);
    }
    return found;
  };
}

interface Whole {
  readonly documents: readonly PolicyDocument[];
  readonly names: Names;
  readonly foldersOf: FoldersOf;
}

/** A folder that is written wrong would delegate nothing and leave its files without bounds. */
function checkFolder(folder: Delegated, { documents, names, foldersOf }: Whole): void {
  const { header, path, within, limit } = folder;
  const inside = (file: string): boolean => file.startsWith(`${path.value}/`);
  if (!documents.some(({ file }) => inside(file))) {
    names.report(header, path, {
      code: 'FOLDER_UNKNOWN',
      message: `no policy file is in the folder \`${path.value}\``,
      help: 'correct the path, or remove it',
    });
  }
  const [parent] = foldersOf(path.value);
  if (parent !== undefined && within !== null && !isWithin(limit, parent.limit)) {
    names.report(header, within, {
      code: 'DELEGATED_OUTSIDE',
      message: `\`${limit}\` is not at or below \`${parent.limit}\`, which is all that \`${parent.path.value}\` may decide about`,
      help: 'a folder inside another one can only narrow it',
      related: [relatedAt(parent.header, parent.path, 'the folder around it')],
    });
  }
  for (const role of folder.exports) {
    const declared = names.roles.get(role.value);
    if (declared === undefined ? names.rolesMayBeMissing : inside(declared.document.file)) continue;
    names.report(header, role, {
      code: 'FOLDER_EXPORT',
      message: `no file in \`${path.value}\` declares the role \`${role.value}\``,
      help: 'a folder exports roles of its own: correct the name, or remove it',
    });
  }
}

/** Everything that a delegated file decides is at or below the limit of its folder. */
function checkFile(document: PolicyDocument, folder: Delegated, names: Names): void {
  const { limit, path, header } = folder;
  const outside = (at: Span, namespace: NamespacePath, what: string): void => {
    if (isWithin(namespace, limit)) return;
    names.report(document, at, {
      code: 'DELEGATED_OUTSIDE',
      message: `${what} at \`${namespace}\` is not at or below \`${limit}\`, which is all that \`${path.value}\` may decide about`,
      help: 'move it to a file whose owners decide there',
      related: [relatedAt(header, path, 'the folder is delegated here')],
    });
  };
  const refused = (at: Span, what: string): void => {
    names.report(document, at, {
      code: 'DELEGATED_SECTION',
      message: `${what} in the delegated folder \`${path.value}\``,
      help: 'move it to a file that is not delegated',
      related: [relatedAt(header, path, 'the folder is delegated here')],
    });
  };
  if (document.within !== null) outside(document.within, document.within.value, '`within`');
  for (const { namespace } of document.grants) if (namespace !== null) outside(namespace, namespace.value, 'a grant');
  const [person] = document.people;
  if (person !== undefined) refused(person.name, 'people are declared');
  for (const { allow, deny, sees } of document.tests) {
    for (const access of [...allow, ...deny]) outside(access, access.namespace, 'a test');
    for (const seen of sees) outside(seen, seen.context, 'a test');
  }
  for (const { id, rules } of document.guardrails) {
    for (const rule of rules) {
      const place = placeOfRule(rule);
      if (id === null || place === 'unread') continue;
      if (place === 'everywhere') refused(id, 'a guardrail about every namespace');
      else outside(id, place, 'a guardrail');
    }
  }
}

function placeOfRule(rule: RuleDeclaration): NamespacePath | 'everywhere' | 'unread' {
  switch (rule.kind) {
    case 'never':
    case 'separate':
      return rule.under ?? 'unread';
    case 'atLeast':
    case 'atMost':
      return rule.at === null ? 'unread' : rule.at.kind === 'every-top-level' ? 'everywhere' : rule.at.path;
    case 'expires':
      return 'everywhere';
  }
}

/** A role whose use is bounded, with the folder that bounds it. */
interface Bounded {
  readonly role: string;
  readonly folder: Delegated;
}

/**
 * Whoever owns a folder decides who is in its roles. So such a role may be used at or below the limit of its folder alone, unless it is
 * exported; that is so for every role that contains it, too.
 */
function checkRoleUse(documents: readonly PolicyDocument[], names: Names, foldersOf: FoldersOf): void {
  const boundedIn = makeBounded(names, foldersOf);
  const refuse = (
    document: PolicyDocument,
    at: Span,
    { named, bounded, by }: { named: string; bounded: Bounded; by: 'grant' | 'guardrail' },
  ): void => {
    const { role, folder } = bounded;
    const what = role === named ? `the role \`${role}\`` : `the role \`${named}\` contains \`${role}\`, which`;
    names.report(document, at, {
      code: 'DELEGATED_ROLE',
      message: `${what} may be ${by === 'grant' ? `used at or below \`${folder.limit}\` alone` : `named by guardrails of \`${folder.path.value}\` alone`}: the owners of \`${folder.path.value}\` decide who is in it`,
      help: `${by === 'grant' ? '' : `move the guardrail to a file of \`${folder.path.value}\`; `}if that is meant, add \`${role}\` to the \`exports\` of \`${folder.path.value}\` in \`policy.yaml\``,
      related: [relatedAt(folder.header, folder.path, 'the folder is delegated here')],
    });
  };
  for (const document of documents) {
    for (const { principals, namespace } of document.grants) {
      for (const principal of principals) {
        if (principal.kind !== 'role' || namespace === null) continue;
        const bounded = boundedIn(principal.value).find(({ folder }) => !isWithin(namespace.value, folder.limit));
        if (bounded !== undefined) refuse(document, principal, { named: principal.value, bounded, by: 'grant' });
      }
    }
    for (const rule of document.guardrails.flatMap(({ rules }) => rules)) {
      if (!('to' in rule)) continue;
      const parties = [rule.to === 'everyone' ? null : rule.to, rule.except];
      for (const named of parties.flatMap((party) => party?.roles ?? [])) {
        const bounded = boundedIn(named.value).find(({ folder }) => !document.file.startsWith(`${folder.path.value}/`));
        if (bounded !== undefined) refuse(document, named, { named: named.value, bounded, by: 'guardrail' });
      }
    }
  }
}

/** The bounded roles that a role is or contains. */
function makeBounded(names: Names, foldersOf: FoldersOf): (role: string) => readonly Bounded[] {
  const own = (role: string): readonly Bounded[] => {
    const declared = names.roles.get(role);
    if (declared === undefined) return [];
    // A folder that exports the role leaves it to the one around it.
    const folder = foldersOf(declared.document.file).find(
      ({ exports }) => !exports.some(({ value }) => value === role),
    );
    return folder === undefined ? [] : [{ role, folder }];
  };
  return remember((role: string) => {
    const reached = new Set([role]);
    // Iterating a set also visits what is added meanwhile.
    for (const name of reached)
      for (const member of names.roles.get(name)?.role.members ?? [])
        if (member.kind === 'role') reached.add(member.value);
    return [...reached].flatMap(own);
  });
}
