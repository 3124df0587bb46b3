// Teams of GitHub and CODEOWNERS as a policy: a team is a role, a repository a namespace with its folders below, permissions are actions of the
// family `repository`, and who owns code has `code:approve`.
import { canonicalize, type Identity, makeIdentity } from '../../../engine/index.js';
import {
  ForeignFault,
  type ForeignFile,
  type ImportedGrant,
  type ImportedMember,
  type ImportedPolicy,
  type ImportQuestion,
  type Unsaid,
} from '../imported-policy.js';
import { asSegment, makeNames, type NameMaker } from '../make-names.js';
import { makeMembers, type MemberLink, namedRoles, type RoleMembers } from '../role-members.js';
import { type Account, decidingLine, indexTeams, mayApprove } from './judge.js';
import { type OwnedFolder, type OwnedFolders, ownedFolders } from './owned-folders.js';
import { type CodeOwners, isCodeOwners, readCodeOwners } from './read-code-owners.js';
import { LEVELS, missingPages, type Organization, readTeams, type TeamsPage } from './read-teams.js';

const PROVIDER = 'github';
const GROUPS = `${PROVIDER}-group`;
/** Somebody and some repository that no file names: a rule that is too wide shows there. */
const STRANGER = 'bailiwick-nobody';
const ELSEWHERE = 'bailiwick-elsewhere';
const FILE = 'bailiwick-file';

const REPOSITORY = {
  name: 'repository',
  description: 'Permissions of GitHub, each with all before it: read, triage, write, maintain, admin',
  actions: ['triage', 'maintain', 'admin'],
};
const CODE = { name: 'code', description: 'approve: to be an owner of code', actions: ['approve'] };

interface Source {
  readonly organizations: readonly Organization[];
  readonly owners: readonly { readonly source: CodeOwners; readonly folders: readonly OwnedFolder[] }[];
}

/** Throws `ForeignFault`. */
export function importGithub(files: readonly ForeignFile[]): ImportedPolicy {
  const pages = readPages(files.filter((file) => !isCodeOwners(file)));
  const organizations = organizationOf(pages);
  const read = files.filter(isCodeOwners).map(readCodeOwners);
  requireOneEach(read);
  const owned = read.map((source) => ({ source, ...placedFolders(source) }));
  const links = organizations.flatMap(linksOf);
  const teams = organizations.flatMap(({ login, teams: all }) => all.map(({ slug }) => `${login}/${slug}`));
  const members = makeMembers(links, (login) => makeIdentity(PROVIDER, login), teams);
  const unsaid: Unsaid[] = [
    ...missingPages(pages),
    ...organizations.flatMap(orphansOf),
    ...organizations.flatMap(unplacedOf),
    ...members.unsaid,
    ...read.flatMap((one) => one.unsaid),
    ...owned.flatMap((one) => one.unsaid),
  ];
  const names = makeNames();
  const nameOf = (team: string): string => names.of(team, team.replace('/', '.'));
  const { roles, named } = namedRoles(members, nameOf, (team) => `The team ${team} and the teams below it`);
  const source: Source = { organizations, owners: owned };
  const ids = makeNames();
  const made = [...repositoryGrants(source, ids, named), ...ownerGrants(source, ids, { members, named })];
  // A list of the API can have a permission twice.
  const grants = [...new Map(made.map((grant) => [grant.id, grant])).values()];
  const accounts = accountsOf(source, members);
  const repositories = repositoriesOf(source);
  const places = owned.reduce((sum, { folders }) => sum + folders.length, 0);
  return {
    providers: [{ name: PROVIDER, description: 'Logins of GitHub, in lower case.' }],
    families: [REPOSITORY, CODE],
    roles,
    grants,
    rules: links.length + read.reduce((sum, { lines }) => sum + lines.length, 0) + organizations.reduce(countRights, 0),
    unsaid,
    notes: notesOf(source, accounts),
    questionCount: accounts.length * (repositories.length * LEVELS.length + places),
    questions: () => questionsOf(source, { accounts, repositories }),
  };
}

/**
 * Of several files, which are pages of one organization: none or one. A repository becomes a namespace by its name
 * alone, so those of a second organization could not be told from the first one's.
 */
function readPages(files: readonly ForeignFile[]): readonly TeamsPage[] {
  const pages = files.flatMap((file) => readTeams(file).map((page) => ({ file, page })));
  const [first] = pages;
  const other = pages.find(({ page }) => page.login !== first?.page.login);
  if (first !== undefined && other !== undefined)
    throw new ForeignFault(
      { file: other.file.path, line: 1 },
      `is of the organization ${other.page.login}, and ${first.file.path} is of ${first.page.login}: import one organization at a time`,
    );
  return pages.map(({ page }) => page);
}

function organizationOf(pages: readonly TeamsPage[]): readonly Organization[] {
  return pages.slice(0, 1).map(({ login }) => ({ login, teams: pages.flatMap(({ teams }) => teams) }));
}

/** GitHub reads one file of each repository. */
function requireOneEach(read: readonly CodeOwners[]): void {
  const seen = new Map<string, string>();
  for (const { repository, file } of read) {
    const other = seen.get(repository);
    if (other !== undefined)
      throw new ForeignFault(
        { file, line: 1 },
        `is of the repository ${repository}, and so is ${other}: name the one that counts`,
      );
    seen.set(repository, file);
  }
}

function countRights(sum: number, { teams }: Organization): number {
  return sum + teams.reduce((all, { repositories }) => all + repositories.length, 0);
}

function notesOf({ owners }: Source, accounts: readonly Account[]): readonly string[] {
  const notes: string[] = [];
  if (owners.length > 0)
    notes.push('GitHub also asks owners of code for write permission on the repository; ask for both');
  const others = accounts.flatMap(({ otherTeams }) => otherTeams);
  if (others.length > 0)
    notes.push(`the files do not say who is in ${others.join(', ')}: tokens must claim these groups`);
  return notes;
}

/** Members of a team, and a team below another: its members have what the other has. */
function linksOf({ login, teams }: Organization): readonly MemberLink[] {
  const known = new Set(teams.map(({ slug }) => slug));
  return teams.flatMap(({ slug, parent, members, place }) => [
    ...members.map((member) => ({ ...place, rule: `${member} in ${slug}`, member, role: `${login}/${slug}` })),
    ...(parent !== null && known.has(parent)
      ? [{ ...place, rule: `${slug} below ${parent}`, member: `${login}/${slug}`, role: `${login}/${parent}` }]
      : []),
  ]);
}

function orphansOf({ teams }: Organization): readonly Unsaid[] {
  const known = new Set(teams.map(({ slug }) => slug));
  return teams.flatMap(({ slug, parent, place }) =>
    parent === null || known.has(parent)
      ? []
      : [{ ...place, rule: `${slug} below ${parent}`, why: `no file has the team ${parent}` }],
  );
}

/** Repositories whose names no namespace can have. */
function unplacedOf({ teams }: Organization): readonly Unsaid[] {
  return teams.flatMap(({ slug, repositories }) =>
    repositories
      .filter(({ name }) => !isPlace(repositoryPlace(name)))
      .map(({ place, name, level }) => ({
        ...place,
        rule: `${slug} has ${level} on ${name}`,
        why: `\`${name}\` is too long for a namespace`,
      })),
  );
}

/** The folders that can be namespaces; lines for others are reported. */
function placedFolders(source: CodeOwners): OwnedFolders {
  const { folders, unsaid } = ownedFolders(source);
  const isPlaced = ({ folder }: OwnedFolder): boolean => isPlace(namespaceOf(source, folder));
  const left = folders.filter((one) => !isPlaced(one));
  return {
    folders: folders.filter(isPlaced),
    unsaid: [
      ...unsaid,
      ...left.map(({ line: { file, line, text } }) => ({
        ...{ file, line, rule: text },
        why: 'the repository or the folder is too long or too deep for a namespace',
      })),
    ],
  };
}

function isPlace(namespace: string): boolean {
  return canonicalize(namespace).ok;
}

function repositoryPlace(name: string): string {
  return `/${asSegment(name)}`;
}

type Naming = (member: ImportedMember) => ImportedMember;

function repositoryGrants({ organizations }: Source, ids: NameMaker, named: Naming): readonly ImportedGrant[] {
  return organizations.flatMap(({ login, teams }) =>
    teams.flatMap(({ slug, repositories }) =>
      repositories
        .filter(({ name }) => isPlace(repositoryPlace(name)))
        .map(({ place, name, level }) => ({
          id: ids.of(JSON.stringify(['permission', login, slug, name, level]), `${slug}.${name}.${level}`),
          to: named({ role: `${login}/${slug}` }),
          namespace: repositoryPlace(name),
          scopes: LEVELS.slice(0, LEVELS.indexOf(level) + 1).map((one) => `${REPOSITORY.name}:${one}`),
          inherit: true,
          reason: `${slug} has ${level} on ${name}, ${place.file}:${String(place.line)}`,
        })),
    ),
  );
}

function ownerGrants(
  { owners }: Source,
  ids: NameMaker,
  { members, named }: { readonly members: RoleMembers; readonly named: Naming },
): readonly ImportedGrant[] {
  return owners.flatMap(({ source, folders }) =>
    folders.flatMap(({ folder, line, inherit }) =>
      [...new Set(line.owners)].flatMap((owner): readonly ImportedGrant[] => {
        const made = makeIdentity(owner.includes('/') ? GROUPS : PROVIDER, owner);
        const to: ImportedMember | null = members.isRole(owner)
          ? named({ role: owner })
          : made.ok
            ? { identity: made.identity }
            : null;
        if (to === null) return [];
        const namespace = namespaceOf(source, folder);
        const id = ids.of(
          JSON.stringify(['owner', namespace, owner]),
          `owner${namespace.replaceAll('/', '.')}.${owner.replace('/', '.')}`,
        );
        const reason = `${line.text}, ${line.file}:${String(line.line)}`;
        return [{ id, to, namespace, scopes: ['code:approve'], inherit, reason }];
      }),
    ),
  );
}

function namespaceOf({ repository }: CodeOwners, folder: string): string {
  return `/${[repository, ...(folder === '' ? [] : folder.split('/'))].map(asSegment).join('/')}`;
}

function accountsOf({ organizations, owners }: Source, members: RoleMembers): readonly Account[] {
  const named = owners.flatMap(({ source }) => source.lines.flatMap((line) => line.owners));
  const logins = [
    ...organizations.flatMap(({ teams }) => teams.flatMap((team) => team.members)),
    ...named.filter((owner) => !owner.includes('/')),
    STRANGER,
  ];
  const others = named.filter((owner) => owner.includes('/') && !members.isRole(owner));
  return [
    ...[...new Set(logins)].map((login) => ({ login, otherTeams: [] })),
    ...[...new Set(others)].map((team) => ({ login: STRANGER, otherTeams: [team] })),
  ];
}

function repositoriesOf({ organizations, owners }: Source): readonly string[] {
  const names = organizations.flatMap(({ teams }) =>
    teams.flatMap((team) => team.repositories.map(({ name }) => name)),
  );
  const all = new Set([...names, ...owners.map(({ source }) => source.repository), ELSEWHERE]);
  return [...all].filter((name) => isPlace(repositoryPlace(name)));
}

function identitiesOf({ login, otherTeams }: Account): readonly Identity[] {
  const made = [makeIdentity(PROVIDER, login), ...otherTeams.map((team) => makeIdentity(GROUPS, team))];
  return made.flatMap((one) => (one.ok ? [one.identity] : []));
}

function* questionsOf(
  { organizations, owners }: Source,
  asked: { readonly accounts: readonly Account[]; readonly repositories: readonly string[] },
): Generator<ImportQuestion> {
  const index = indexTeams(organizations);
  const places = owners.flatMap(({ source, folders }) =>
    folders.map(({ folder }) => ({
      what: `approve ${folder === '' ? '/' : folder} of ${source.repository}`,
      namespace: namespaceOf(source, folder),
      line: decidingLine(source, folder === '' ? FILE : `${folder}/${FILE}`),
    })),
  );
  for (const account of asked.accounts) {
    const { login } = account;
    const [identities, teams] = [identitiesOf(account), index.teamsOf(account)];
    const levels = index.levelsOf(teams);
    const who = account.otherTeams.length === 0 ? login : `a member of ${account.otherTeams.join(', ')}`;
    for (const repository of asked.repositories) {
      for (const [rank, level] of LEVELS.entries()) {
        const where = { scope: `${REPOSITORY.name}:${level}`, namespace: repositoryPlace(repository) };
        const allowed = (levels.get(repository) ?? -1) >= rank;
        yield { text: `${who}: ${level} on ${repository}`, identities, ...where, allowed };
      }
    }
    for (const { what, namespace, line } of places) {
      const allowed = mayApprove(line, { login, teams });
      yield { text: `${who}: ${what}`, identities, scope: 'code:approve', namespace, allowed };
    }
  }
}
