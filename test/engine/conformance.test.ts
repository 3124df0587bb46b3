// The shared conformance cases. Their answers were computed by an evaluator that shares nothing with this project. Policies are written
// as policy files, then read, linked, compiled and loaded.
import { describe, expect, it } from '@jest/globals';
import { compilePolicy, readPolicy } from '../../engine/compiler.js';
import {
  canonicalize,
  decideRaw,
  instantOf,
  loadSnapshot,
  type Policy,
  type RawActor,
  type RawRequest,
  unrestrictedPolicy,
} from '../../engine/index.js';
import {
  type NeutralActor,
  type NeutralRequest,
  readConformance,
  readNeutralDecisions,
} from '../support/neutral-decisions.js';
import { type NeutralPolicy, toPolicyFiles } from '../support/neutral-policy.js';

interface CanonicalizationCase {
  readonly id: string;
  readonly input: unknown;
  readonly expect: { readonly canonical?: string; readonly error?: unknown };
}

const canonicalization = readConformance('canonicalization.json') as {
  readonly cases: readonly CanonicalizationCase[];
};
const decisions = readNeutralDecisions();

/** Null if the policy is refused. */
function loadNeutral(policy: NeutralPolicy | string): Policy | null {
  const { policy: set } = readPolicy(toPolicyFiles(policy));
  if (set === null) return null;
  const compiled = compilePolicy(set);
  if (!compiled.ok) return null;
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(`what was compiled does not load: ${loaded.fault.code}`);
  return loaded.policy;
}

const policies = new Map(
  Object.entries(decisions.policies).map(([key, policy]) => [
    key,
    policy.unrestricted === true ? unrestrictedPolicy() : loadNeutral(policy),
  ]),
);

function toRawActor(actor: NeutralActor): RawActor {
  if (actor.local === true) return { kind: 'local' };
  return {
    kind: 'request',
    identities: actor.identities,
    credentialScopes: actor.scopes === 'all' ? null : actor.scopes,
    namespaceRestrictions: actor.restrictions,
  };
}

function toRawRequest(request: NeutralRequest): RawRequest {
  switch (request.kind) {
    case 'copy':
      return { kind: 'copy', source: request.source, destination: request.destination };
    case 'namespace-create':
      return { kind: 'create-namespace', namespace: request.target };
    default:
      return { kind: 'access', scope: request.scope, context: request.context, target: request.target };
  }
}

describe('canonicalization', () => {
  it('has its cases', () => {
    expect(canonicalization.cases.length).toBeGreaterThanOrEqual(96);
  });

  it.each(canonicalization.cases.map((one) => [one.id, one] as const))('%s', (_, { input, expect: expected }) => {
    const result = canonicalize(input);
    expect(result.ok ? result.path : null).toBe(expected.canonical ?? null);
  });
});

describe('decisions', () => {
  it('has its cases, of which some are allowed and some denied at each step', () => {
    expect(decisions.cases.length).toBeGreaterThanOrEqual(419);
    expect(new Set(decisions.cases.map((one) => one.expect.step ?? one.expect.decision)).size).toBe(9);
  });

  it.each(decisions.cases.map((one) => [one.id, one] as const))('%s', (_, one) => {
    const policy = policies.get(one.policy);
    const actor = decisions.actors[one.actor];
    if (policy === undefined || policy === null || actor === undefined)
      throw new Error('the case names a policy and an actor');
    const decision = decideRaw(policy, {
      actor: toRawActor(actor),
      request: toRawRequest(one.request),
      at: instantOf(0),
    });
    const plain =
      decision.decision === 'allow' ? { ...decision, grants: decision.grants.map((grant) => grant.id) } : decision;
    expect(plain).toEqual(one.expect);
  });
});

describe('policy loading', () => {
  it.each(decisions.policy_loading.map((one) => [`${one.id} ${one.note}`, one] as const))('%s', (_, one) => {
    const policy = loadNeutral(one.policy ?? one.raw_json ?? '');
    expect(policy === null ? 'refuse' : 'load').toBe(one.expect);
  });
});
