// Exact answers judged one by one: whoever holds what, at every path of the small worlds and at every instant, by the slow
// evaluator. What the proofs fold into regions is spelled out again here.
import { expect } from '@jest/globals';
import { checkGuardrails, type GuardrailViolation } from '../../../engine/prove/guardrails/check-guardrails.js';
import { compilePolicy, type SourceFile } from '../../../engine/compiler.js';
import {
  formatIdentity,
  formatInstant,
  type Identity,
  loadSnapshot,
  type NamespacePath,
  type Policy,
  scopeNames,
  type ScopeName,
} from '../../../engine/index.js';
import type { GuardrailRule, Parties, PolicyGrant, PolicyMember, PolicySet } from '../../../engine/model/policy-set.js';
import { isAtOrBelow } from '../oracle/oracle.js';
import { INSTANTS } from '../oracle/worlds.js';

/** What a rule says that has neither `to` nor `except`. */
export const EVERYONE: Parties = { to: null, except: { roles: [], identities: [] } };

export function load(set: PolicySet): Policy {
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error('a generated world compiles');
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(`${loaded.fault.code}: ${loaded.fault.message}`);
  return loaded.policy;
}

/** The files that an author would write for it. */
export function filesOf({ name, providers, families = [], roles, grants }: PolicySet): readonly SourceFile[] {
  const file = (path: string, value: unknown): SourceFile => ({
    path,
    bytes: new TextEncoder().encode(`${JSON.stringify(value)}\n`),
  });
  const memberOf = (member: PolicyMember): unknown => {
    const { notBefore = null, expires = null } = member;
    const window = {
      ...(notBefore === null ? {} : { notBefore: formatInstant(notBefore) }),
      ...(expires === null ? {} : { expires: formatInstant(expires) }),
    };
    if (member.kind === 'role') return { role: member.role, ...window };
    const identity = formatIdentity(member.identity);
    return notBefore === null && expires === null ? identity : { identity, ...window };
  };
  const grantOf = ({ id, principal, namespace, scopes, inherit, notBefore, expires }: PolicyGrant): object => ({
    id,
    ...(principal.kind === 'role' ? { role: principal.role } : { identity: formatIdentity(principal.identity) }),
    namespace,
    scopes: scopeNames(scopes),
    inherit,
    ...(notBefore === null ? {} : { notBefore: formatInstant(notBefore) }),
    ...(expires === null ? {} : { expires: formatInstant(expires) }),
  });
  const named = roles.map((role) => [role.name, { members: role.members.map(memberOf) }] as const);
  return [
    file('policy.yaml', {
      bailiwick: 1,
      name,
      providers: Object.fromEntries(providers.map((p) => [p.name, {}])),
      families: Object.fromEntries(families.map((one) => [one.name, { actions: one.actions }])),
    }),
    file('all.yaml', { roles: Object.fromEntries(named), grants: grants.map(grantOf) }),
  ];
}

/** One stretch of time between two neighbouring instants at which windows of the small worlds are cut. */
export const TIMES = INSTANTS;

/** The ids of the grants by which an identity holds a scope; a table over all cells, made once for a world. */
export type Held = (identity: Identity, path: NamespacePath, at: number) => ReadonlyMap<ScopeName, readonly string[]>;

export function holds(set: PolicySet): Held {
  const members = new Map(set.roles.map((role) => [role.name, role.members]));
  const isIn = (principal: PolicyGrant['principal'], identity: Identity, at: number): boolean =>
    principal.kind === 'identity'
      ? formatIdentity(principal.identity) === formatIdentity(identity)
      : (members.get(principal.role) ?? []).some(
          (member) =>
            (member.notBefore ?? -Infinity) <= at && at < (member.expires ?? Infinity) && isIn(member, identity, at),
        );
  return (identity, path, at) => {
    const held = new Map<ScopeName, string[]>();
    for (const grant of set.grants) {
      const counts = grant.namespace === path || (grant.inherit && isAtOrBelow(path, grant.namespace));
      const inForce = (grant.notBefore ?? -Infinity) <= at && at < (grant.expires ?? Infinity);
      if (!counts || !inForce || !isIn(grant.principal, identity, at)) continue;
      for (const scope of scopeNames(grant.scopes)) held.set(scope, [...(held.get(scope) ?? []), grant.id]);
    }
    return held;
  };
}

/** What a region of an answer stands for. */
export function isInRegion(
  region: {
    readonly namespace: NamespacePath;
    readonly extent: 'exact' | 'subtree' | 'below';
    readonly except?: readonly NamespacePath[];
  },
  path: NamespacePath,
): boolean {
  if (region.except?.some((left) => isAtOrBelow(path, left)) === true) return false;
  if (path === region.namespace) return region.extent !== 'below';
  return region.extent !== 'exact' && isAtOrBelow(path, region.namespace);
}

export interface Stretch {
  readonly from: number | null;
  readonly until: number | null;
}

export function isDuring({ from, until }: Stretch, at: number): boolean {
  return (from ?? -Infinity) <= at && at < (until ?? Infinity);
}

export function withRule(set: PolicySet, rule: GuardrailRule): PolicySet {
  return { ...set, guardrails: [{ id: 'rule', description: null, rule, place: null }] };
}

/** What breaks the one rule; the report counts as it should. */
export function checkOne(set: PolicySet, rule: GuardrailRule): GuardrailViolation | null {
  const guarded = withRule(set, rule);
  const report = checkGuardrails(guarded, load(guarded));
  expect([report.held, report.violated]).toEqual(report.violations.length === 0 ? [1, 0] : [0, 1]);
  return report.violations[0] ?? null;
}
