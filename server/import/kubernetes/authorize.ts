// How Kubernetes itself decides by these objects: cluster bindings first, then the bindings of the namespace, each with the rules of its role.
// A request names no object, as `list` and `create` do, so a rule with `resourceNames` does not match.
import type { RbacBinding, RbacObjects, RbacRule, RbacSubject } from './read-objects.js';

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

/** Answers for one user and place. What they are bound to is looked up once. */
export function authorizerFor(
  { roles, bindings }: RbacObjects,
  user: RbacUser,
  place: RbacPlace,
): (request: RbacRequest) => boolean {
  const rules = bindings
    .filter(({ kind, namespace }) => kind === 'ClusterRoleBinding' || (place !== null && namespace === place))
    .filter(({ subjects }) => subjects.some((subject) => isUser(subject, user)))
    .flatMap((binding) => roles.find((role) => names(binding, role))?.rules ?? []);
  return (request) => rules.some((rule) => matches(rule, request));
}

function names(binding: RbacBinding, role: RbacObjects['roles'][number]): boolean {
  if (binding.role.kind !== role.kind || binding.role.name !== role.name) return false;
  return role.kind === 'ClusterRole' || (binding.kind === 'RoleBinding' && binding.namespace === role.namespace);
}

function isUser(subject: RbacSubject, { name, groups }: RbacUser): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.name === name;
    case 'Group':
      return groups.includes(subject.name);
    case 'ServiceAccount':
      return serviceAccountName(subject) === name;
  }
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
