// A policy as lint looks at it: principals and namespaces by number, who is in which role, and what is at each namespace.
// Built once, straight from the declarations, so that every finding has the place that was written.
import type { Identity } from '../model/identity.js';
import type { FileOutline, PolicySet, Principal } from '../model/policy-set.js';
import { makeNodes, type Nodes } from '../prove/cells/nodes.js';

/** Roles have the numbers of their order in the policy, identities those after. */
export interface LintWorld {
  readonly set: PolicySet;
  readonly outlines: readonly FileOutline[];
  readonly principalOf: (principal: Principal) => number;
  /** By principal: the roles that name it as a member. */
  readonly rolesOf: readonly (readonly number[] | undefined)[];
  /** By role: whether any identity is in it, however deep. */
  readonly populated: Uint8Array;
  /** Of each grant, in the order of the policy. */
  readonly principals: Int32Array;
  readonly nodes: Int32Array;
  /** The root and every namespace that a grant names. */
  readonly tree: Nodes;
}

export function makeLintWorld(set: PolicySet, outlines: readonly FileOutline[]): LintWorld {
  const { principalOf, count } = numberPrincipals(set);
  const rolesOf = new Array<number[] | undefined>(count);
  set.roles.forEach((role, number) => {
    for (const member of role.members) (rolesOf[principalOf(member)] ??= []).push(number);
  });
  const tree = makeNodes(new Set(set.grants.map((grant) => grant.namespace)));
  return {
    set,
    outlines,
    principalOf,
    rolesOf,
    populated: populate(set, rolesOf),
    principals: Int32Array.from(set.grants, (grant) => principalOf(grant.principal)),
    nodes: Int32Array.from(set.grants, (grant) => tree.rowOf.get(grant.namespace) ?? 0),
    tree,
  };
}

function numberPrincipals(set: PolicySet): {
  readonly principalOf: (principal: Principal) => number;
  readonly count: number;
} {
  const roles = new Map(set.roles.map((role, number) => [role.name, number]));
  const providers = new Map<string, Map<string, number>>();
  let count = set.roles.length;
  const numberOf = ({ provider, subject }: Identity): number => {
    let subjects = providers.get(provider);
    if (subjects === undefined) providers.set(provider, (subjects = new Map<string, number>()));
    const known = subjects.get(subject);
    if (known !== undefined) return known;
    subjects.set(subject, count);
    return count++;
  };
  const principalOf = (principal: Principal): number =>
    principal.kind === 'role' ? (roles.get(principal.role) ?? 0) : numberOf(principal.identity);
  for (const role of set.roles) for (const member of role.members) principalOf(member);
  for (const grant of set.grants) principalOf(grant.principal);
  return { principalOf, count };
}

function populate(set: PolicySet, rolesOf: readonly (readonly number[] | undefined)[]): Uint8Array {
  const populated = new Uint8Array(set.roles.length);
  const open: number[] = [];
  const mark = (role: number): void => {
    if (populated[role] === 1) return;
    populated[role] = 1;
    open.push(role);
  };
  set.roles.forEach((role, number) => {
    if (role.members.some((member) => member.kind === 'identity')) mark(number);
  });
  for (let role = open.pop(); role !== undefined; role = open.pop()) rolesOf[role]?.forEach(mark);
  return populated;
}

/** Whether the principal is an identity, or a role that somebody is in. */
export function isReachable(world: LintWorld, principal: number): boolean {
  return principal >= world.populated.length || world.populated[principal] === 1;
}

/** The principal and every role that it is in, however deep. */
export function withRoles(world: LintWorld, principal: number): readonly number[] {
  const reached = [principal];
  const seen = new Set(reached);
  for (const at of reached) {
    for (const role of world.rolesOf[at] ?? []) {
      if (seen.has(role)) continue;
      seen.add(role);
      reached.push(role);
    }
  }
  return reached;
}
