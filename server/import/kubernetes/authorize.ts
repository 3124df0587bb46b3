// How Kubernetes itself decides by these objects: cluster bindings first, then the bindings of the namespace, each with the rules of its role.
// A request names no object, as `list` and `create` do, so a rule with `resourceNames` does not match.
import { valueIn } from '../value-in.js';
import type { RbacBinding, RbacObjects, RbacRole, RbacRule, RbacSubject } from './read-objects.js';

export interface RbacUser {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface RbacRequest {
  readonly verb: string;
  readonly apiGroup: string;
  /** With its subresource: `pods/log`. */
  readonly resource: string;
}

/** Null is the request for something outside of all namespaces. */
export type RbacPlace = string | null;

const SERVICE_ACCOUNT = 'system:serviceaccount:';

/** A user with the groups that Kubernetes adds by itself. */
export function userOf(name: string, groups: readonly string[] = []): RbacUser {
  if (groups.includes('system:unauthenticated')) return { name, groups };
  const all = new Set([...groups, 'system:authenticated']);
  if (name.startsWith(SERVICE_ACCOUNT)) {
    const [namespace = ''] = name.slice(SERVICE_ACCOUNT.length).split(':');
    all.add('system:serviceaccounts').add(`system:serviceaccounts:${namespace}`);
  }
  return { name, groups: [...all] };
}

export function serviceAccountName({ namespace, name }: RbacSubject): string {
  return `${SERVICE_ACCOUNT}${namespace}:${name}`;
}

/** Roles and bindings, to be found without looking at each. */
export interface RbacIndex {
  /** What a binding refers to, if some file has it. */
  readonly roleOf: (binding: RbacBinding) => RbacRole | undefined;
  /** The bindings that name somebody as a subject, by themselves or by a group. */
  readonly bindingsOf: (user: RbacUser) => readonly RbacBinding[];
}

/** Made once for all users. */
export function indexObjects({ roles, bindings }: RbacObjects): RbacIndex {
  const byName = new Map(roles.map((role) => [keyOf(role.kind, role.namespace, role.name), role]));
  const bySubject = new Map<string, Set<RbacBinding>>();
  for (const binding of bindings)
    for (const subject of binding.subjects) valueIn(bySubject, subjectKey(subject), () => new Set()).add(binding);
  return {
    roleOf: ({ kind, namespace, role }) => {
      if (role.kind === 'ClusterRole') return byName.get(keyOf('ClusterRole', null, role.name));
      return kind === 'RoleBinding' && role.kind === 'Role'
        ? byName.get(keyOf('Role', namespace, role.name))
        : undefined;
    },
    bindingsOf: ({ name, groups }) => [
      ...new Set(
        [`user ${name}`, ...groups.map((group) => `group ${group}`)].flatMap((key) => [...(bySubject.get(key) ?? [])]),
      ),
    ],
  };
}

function keyOf(kind: RbacRole['kind'], namespace: string | null, name: string): string {
  return JSON.stringify([kind, namespace, name]);
}

function subjectKey(subject: RbacSubject): string {
  if (subject.kind === 'Group') return `group ${subject.name}`;
  return `user ${subject.kind === 'User' ? subject.name : serviceAccountName(subject)}`;
}

/** Answers for one user, of whom these are the bindings, and place. */
export function authorizerFor(
  { roleOf }: RbacIndex,
  bindings: readonly RbacBinding[],
  place: RbacPlace,
): (request: RbacRequest) => boolean {
  const rules = bindings
    .filter(({ kind, namespace }) => kind === 'ClusterRoleBinding' || (place !== null && namespace === place))
    .flatMap((binding) => roleOf(binding)?.rules ?? []);
  return (request) => rules.some((rule) => matches(rule, request));
}

function matches(rule: RbacRule, { verb, apiGroup, resource }: RbacRequest): boolean {
  if (rule.resourceNames.length > 0) return false;
  if (!rule.verbs.includes('*') && !rule.verbs.includes(verb)) return false;
  if (!rule.apiGroups.includes('*') && !rule.apiGroups.includes(apiGroup)) return false;
  const slash = resource.indexOf('/');
  return (
    rule.resources.includes('*') ||
    rule.resources.includes(resource) ||
    (slash >= 0 && rule.resources.includes(`*${resource.slice(slash)}`))
  );
}
