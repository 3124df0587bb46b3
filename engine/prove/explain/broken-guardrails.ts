// Which guardrails an edit would break. The edit is made in the declared policy, and each guardrail that holds now is proved again.
// So all effects of an edit count: a new member of a role may also become someone whom a guardrail exempts.
import { compileTables } from '../../compile/compile-tables.js';
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import { preparePolicy } from '../../evaluate/prepare.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { formatIdentity, parseIdentity, type Identity } from '../../model/identity.js';
import { invariant } from '../../model/invariant.js';
import type { PolicyGrant, PolicyGuardrail, PolicyMember, PolicySet } from '../../model/policy-set.js';
import { scopeSetOf } from '../../model/scope-set.js';
import { proveGuardrails } from '../guardrails/check-guardrails.js';
import { makeProofBudget, type ProofBounds } from '../guardrails/proof-budget.js';
import type { GrantAmendment } from './amendments.js';
import type { Edit, PolicyChange } from './edits.js';

export interface ProvedEdit extends Edit {
  /** The sorted ids of the guardrails that hold now and would no longer hold. Null if this was not computed. */
  readonly breaks: readonly string[] | null;
}

/** `set` is what `policy` was compiled from. It is null for a snapshot, which does not contain its guardrails. */
export interface Guarded {
  readonly policy: Policy;
  readonly set: PolicySet | null;
}

/** The edits in the same order. Past the limits `editedEntries` and `proofSteps`, `breaks` is null. */
export function proveEdits(
  edits: readonly Edit[],
  { policy, set }: Guarded,
  limits: EngineLimits = ENGINE_LIMITS,
): readonly ProvedEdit[] {
  if (edits.length === 0) return [];
  const budget = makeProofBudget(limits.proofSteps);
  const guardrails = set === null ? [] : heldGuardrails(set, policy, { limits, budget });
  const isFree = set === null ? policy.checks?.guardrails.count === 0 : guardrails.length === 0;
  let left = limits.editedEntries;
  return edits.map((edit) => {
    if (isFree || edit.change.kind === 'credential') return { ...edit, breaks: [] };
    left -= set === null ? 0 : entriesOf(set);
    if (set === null || left < 0) return { ...edit, breaks: null };
    return { ...edit, breaks: brokenIn({ ...editedSet(set, edit.change), guardrails }, { limits, budget }) };
  });
}

function heldGuardrails(set: PolicySet, policy: Policy, bounds: ProofBounds): readonly PolicyGuardrail[] {
  const prepared = preparedOf(policy);
  invariant(prepared !== null, 'guardrails are checked against a compiled policy');
  const { violations } = proveGuardrails(set, prepared, bounds);
  const broken = new Set(violations.map(({ guardrail }) => guardrail));
  return set.guardrails.filter(({ id }) => !broken.has(id));
}

/** The number of entries that a proof reads at least once. */
function entriesOf({ grants, roles }: PolicySet): number {
  return roles.reduce((sum, { members }) => sum + members.length, grants.length);
}

function brokenIn(set: PolicySet, bounds: ProofBounds): readonly string[] | null {
  const { tables, holders: holdersWithin } = compileTables(set);
  const holders = holdersWithin(bounds.limits.expandedRows);
  if (holders === null) return null;
  const { violations } = proveGuardrails(set, preparePolicy({ tables, holders }), bounds);
  if (violations.some(({ unproved }) => unproved === true)) return null;
  return violations.map(({ guardrail }) => guardrail).sort();
}

function editedSet(set: PolicySet, change: PolicyChange): PolicySet {
  switch (change.kind) {
    case 'grant': {
      const { namespace, inherit, scopes } = change;
      const principal = { kind: 'identity', identity: identityOf(change.identity) } as const;
      const window = { notBefore: null, expires: null };
      // An empty id cannot collide with the id of a grant that was read.
      const about = { id: '', reason: null, place: null };
      const grant: PolicyGrant = { principal, namespace, scopes: scopeSetOf(scopes), inherit, ...window, ...about };
      return { ...set, providers: declared(set, change), grants: [...set.grants, grant] };
    }
    case 'member': {
      const member: PolicyMember = { kind: 'identity', identity: identityOf(change.identity), place: null };
      const roles = set.roles.map((role) =>
        role.name === change.role
          ? { ...role, members: [...role.members.filter((one) => !isSame(one, change.identity)), member] }
          : role,
      );
      return { ...set, providers: declared(set, change), roles };
    }
    default:
      return {
        ...set,
        grants: set.grants.map((grant) => (grant.id === change.grant.id ? amended(grant, change) : grant)),
      };
  }
}

function amended(grant: PolicyGrant, { scopes, notBefore, expires, inherit }: GrantAmendment): PolicyGrant {
  return {
    ...grant,
    ...(scopes === undefined ? {} : { scopes: scopeSetOf(scopes) }),
    ...(notBefore === undefined || expires === undefined ? {} : { notBefore, expires }),
    ...(inherit === undefined ? {} : { inherit }),
  };
}

function declared({ providers }: PolicySet, { provider }: { readonly provider?: string }): PolicySet['providers'] {
  return provider === undefined ? providers : [...providers, { name: provider, description: null }];
}

function isSame(member: PolicyMember, identity: string): boolean {
  return member.kind === 'identity' && formatIdentity(member.identity) === identity;
}

function identityOf(text: string): Identity {
  const read = parseIdentity(text);
  invariant(read.ok, 'edits name identities that were asked about');
  return read.identity;
}
