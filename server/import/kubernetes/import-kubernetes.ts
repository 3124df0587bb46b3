// Kubernetes RBAC as a policy: a binding is a role with its subjects and one grant, at its namespace or, for a ClusterRoleBinding, at the
// root. The rules of the role that it names are the scopes of the grant.
import { type Identity, makeIdentity } from '../../../engine/index.js';
import {
  type ForeignFile,
  type ImportedGrant,
  type ImportedMember,
  type ImportedPolicy,
  type ImportedRole,
  type ImportQuestion,
  type Unsaid,
} from '../imported-policy.js';
import { asSegment, makeNames } from '../make-names.js';
import {
  authorizerFor,
  indexObjects,
  type RbacIndex,
  type RbacPlace,
  type RbacUser,
  serviceAccountName,
  userOf,
} from './authorize.js';
import { makeRbacWords, type RbacWords } from './rbac-words.js';
import { type RbacBinding, type RbacObjects, type RbacRole, type RbacSubject, readObjects } from './read-objects.js';

const PROVIDER = 'kubernetes';
const GROUPS = `${PROVIDER}-group`;
/** Somebody and some place that no file names: a rule that is too wide shows there. */
const STRANGER = 'bailiwick:nobody';
const ELSEWHERE = 'bailiwick-elsewhere';

/** Throws `ForeignFault`. */
export function importKubernetes(files: readonly ForeignFile[]): ImportedPolicy {
  const objects = readObjects(files);
  const words = makeRbacWords(objects.roles.flatMap(({ rules }) => rules));
  const index = indexObjects(objects);
  const boundRoles = new Set(objects.bindings.map(index.roleOf));
  const unsaid: Unsaid[] = objects.roles.flatMap((role) => unsaidOf(role, boundRoles.has(role)));
  const names = makeNames();
  const roles: ImportedRole[] = [];
  const grants: ImportedGrant[] = [];
  for (const binding of objects.bindings) {
    const what = titleOf(binding);
    const bound = index.roleOf(binding);
    if (binding.kind === 'RoleBinding' && binding.namespace === null) {
      unsaid.push({
        ...binding.place,
        rule: what,
        why: 'it names no namespace, so it holds where `kubectl` happens to be',
      });
      continue;
    }
    if (bound === undefined) {
      const why = `no file has the ${binding.role.kind} ${binding.role.name}`;
      unsaid.push({ ...binding.role.place, rule: what, why });
      continue;
    }
    const name = names.of(what, binding.namespace === null ? binding.name : `${binding.namespace}.${binding.name}`);
    const members = binding.subjects.flatMap((subject): readonly ImportedMember[] => {
      const made = makeIdentity(subject.kind === 'Group' ? GROUPS : PROVIDER, nameOfSubject(subject));
      if (made.ok) return [{ identity: made.identity }];
      const rule = `${what}, subject ${subject.name}`;
      unsaid.push({ ...subject.place, rule, why: 'no identity can have such a name' });
      return [];
    });
    const cited = `${what} to ${titleOf(bound)}, ${binding.place.file}:${String(binding.place.line)}`;
    roles.push({ name, description: `Subjects of ${what}`, members });
    const scopes = [...new Set(bound.rules.flatMap((rule) => words.scopesOf(rule)))].sort();
    if (scopes.length === 0) continue;
    const namespace = `/${binding.namespace === null ? '' : asSegment(binding.namespace)}`;
    grants.push({ id: name, to: { role: name }, namespace, scopes, inherit: true, reason: cited });
  }
  const asked = askedOf(objects);
  return {
    providers: [
      { name: PROVIDER, description: 'Users and service accounts as Kubernetes names them; groups are claimed.' },
    ],
    families: words.families,
    roles,
    grants,
    rules: objects.roles.reduce((sum, { rules }) => sum + rules.length, 0) + objects.bindings.length,
    unsaid,
    notes: notesOf(objects),
    questionCount: asked.users.length * asked.places.length * words.requests.length,
    questions: () => questionsOf(index, words, asked),
  };
}

function notesOf({ bindings, others }: RbacObjects): readonly string[] {
  const notes: string[] = [];
  if (others > 0) notes.push(`objects of other kinds that were skipped: ${String(others)}`);
  if (bindings.some(({ subjects }) => subjects.some(({ kind }) => kind === 'Group')))
    notes.push(
      'members of groups need them in their token: also system:authenticated and system:serviceaccounts, which Kubernetes adds',
    );
  return notes;
}

function titleOf({ kind, namespace, name }: Pick<RbacBinding | RbacRole, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace === null ? '' : `${namespace}/`}${name}`;
}

/** What of a role no policy says. */
function unsaidOf(role: RbacRole, isBound: boolean): readonly Unsaid[] {
  const title = titleOf(role);
  const found: Unsaid[] = [];
  if (role.aggregation !== null) {
    const why =
      role.rules.length === 0
        ? 'it takes its rules from roles with certain labels, and the file lists none of them'
        : 'it takes its rules from roles with certain labels; the rules that the file lists are imported, later ones are not';
    found.push({ ...role.aggregation, rule: `${title}, aggregationRule`, why });
  }
  for (const [i, { place, resourceNames, nonResourceUrls, verbs, resources }] of role.rules.entries()) {
    const rule = `${title}, rule ${String(i + 1)}: ${verbs.join(', ')} ${[...resources, ...nonResourceUrls].join(', ')}`;
    if (resourceNames.length > 0) {
      const why = `it holds for single objects (resourceNames ${resourceNames.join(', ')}), and grants are for namespaces`;
      found.push({ ...place, rule, why });
    }
    if (nonResourceUrls.length > 0)
      found.push({ ...place, rule, why: 'paths of the API server (nonResourceURLs) are in no namespace' });
  }
  if (role.rules.length > 0 && !isBound)
    found.push({ ...role.place, rule: title, why: 'no binding names it, so nobody holds it' });
  return found;
}

function nameOfSubject(subject: RbacSubject): string {
  return subject.kind === 'ServiceAccount' ? serviceAccountName(subject) : subject.name;
}

interface RbacProofDomain {
  readonly users: readonly RbacUser[];
  readonly places: readonly RbacPlace[];
}

function askedOf({ roles, bindings }: RbacObjects): RbacProofDomain {
  const users = new Map<string, RbacUser>([['', userOf(STRANGER)]]);
  for (const { subjects } of bindings) {
    for (const subject of subjects) {
      const name = nameOfSubject(subject);
      const isGroup = subject.kind === 'Group';
      users.set(`${isGroup ? 'group' : 'user'} ${name}`, isGroup ? userOf(STRANGER, [name]) : userOf(name));
    }
  }
  const places = new Set<RbacPlace>([null, ELSEWHERE]);
  for (const { namespace } of [...roles, ...bindings]) places.add(namespace);
  return { users: [...users.values()].filter((user) => identitiesOf(user) !== null), places: [...places] };
}

/** Null if no identity can be called so. */
function identitiesOf({ name, groups }: RbacUser): readonly Identity[] | null {
  const made = [makeIdentity(PROVIDER, name), ...groups.map((group) => makeIdentity(GROUPS, group))];
  const identities = made.flatMap((one) => (one.ok ? [one.identity] : []));
  return identities.length === made.length ? identities : null;
}

function* questionsOf(
  index: RbacIndex,
  { requests }: RbacWords,
  { users, places }: RbacProofDomain,
): Generator<ImportQuestion> {
  for (const user of users) {
    const identities = identitiesOf(user) ?? [];
    const bindings = index.bindingsOf(user);
    for (const place of places) {
      const allows = authorizerFor(index, bindings, place);
      const namespace = `/${place === null ? '' : asSegment(place)}`;
      for (const request of requests) {
        const what = `${request.verb} ${request.resource}${request.apiGroup === '' ? '' : `.${request.apiGroup}`}`;
        const who = user.name === STRANGER ? `a member of ${user.groups.join(', ')}` : user.name;
        const text = `${who}: ${what} ${place === null ? 'in the cluster' : `in ${place}`}`;
        yield { text, identities, scope: request.scope, namespace, allowed: allows(request) };
      }
    }
  }
}
