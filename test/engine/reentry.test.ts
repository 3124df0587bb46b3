// Reading what a caller passes may run the caller's code. If that asks the engine, the first question has no answer: it would be about
// somebody else.
import { RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';
import { expect, it, test } from '@jest/globals';
import { compilePolicy, openCompiled } from '../../engine/compiler.js';
import {
  ALL_SCOPES,
  citeAs,
  decide,
  decideAs,
  decideRaw,
  heldScopes,
  type Identity,
  instantOf,
  InvariantError,
  judgeAs,
  judgeRaw,
  LOCAL_ACTOR,
  type Policy,
  resolveActor,
  visibility,
} from '../../engine/index.js';
import { policyOf, pathOf, IDENTITIES } from './oracle/worlds.js';

const [ADMIN, GUEST] = IDENTITIES;
const AT = instantOf(0);
const SECRET = pathOf('/secret');

function load(): Policy {
  if (ADMIN === undefined) throw new Error('there are identities');
  const everything = {
    principal: { kind: 'identity' as const, identity: ADMIN },
    ...{ namespace: pathOf('/'), scopes: RECORD_SCOPE_SET, inherit: true },
    ...{ notBefore: null, expires: null, reason: null, place: null },
  };
  const compiled = compilePolicy(policyOf([], [everything]));
  if (!compiled.ok) throw new Error('it compiles');
  const opened = openCompiled(compiled.snapshot);
  if (!opened.ok) throw new Error(opened.fault.message);
  return opened.policy;
}

const policy = load();
const request = { kind: 'access', scope: 'resource:write', context: SECRET, target: SECRET } as const;

/** What a question in between may be. */
const INNER: Readonly<Record<string, () => unknown>> = {
  'as the local actor': () => decide(policy, { actor: LOCAL_ACTOR, request, at: AT }),
  'as somebody who may': () =>
    judgeRaw(policy, {
      actor: { kind: 'request', identities: [ADMIN as Identity], credentialScopes: null, namespaceRestrictions: null },
      request,
      at: AT,
    }),
  'that throws': () => {
    try {
      decideRaw(policy, { actor: null as never, request, at: AT });
    } catch {
      // The caller's code goes on.
    }
  },
};

function lazy(ask: () => unknown): Identity {
  return {
    provider: 'orcid',
    get subject(): string {
      ask();
      return GUEST?.subject ?? '';
    },
  };
}

test.each(Object.entries(INNER))(
  'a question %s, asked by what a question passes, gives that one no answer',
  (_, ask) => {
    const actor = {
      kind: 'request',
      identities: [lazy(ask)],
      credentialScopes: ALL_SCOPES,
      namespaceRestrictions: [pathOf('/a')],
    } as const;
    const raw = { ...actor, credentialScopes: null };
    const late = {
      kind: 'access',
      scope: 'resource:write',
      get target(): string {
        ask();
        return SECRET;
      },
    } as const;
    const own = { ...actor, identities: [GUEST as Identity] };
    const resolved = resolveActor(policy, own);
    const doors: readonly (() => unknown)[] = [
      () => decide(policy, { actor, request, at: AT }),
      () => decideRaw(policy, { actor: raw, request, at: AT }),
      () => judgeRaw(policy, { actor: raw, request, at: AT }),
      () => resolveActor(policy, actor),
      () => heldScopes(policy, { actor, namespace: SECRET, at: AT }),
      () => visibility(policy, { actor, request: { family: 'resource', context: SECRET, reach: 'exact' }, at: AT }),
      () => decideRaw(policy, { actor: { ...raw, identities: own.identities }, request: late, at: AT }),
      () => decideAs(resolved, { request: late, at: AT }),
      () => judgeAs(resolved, { request: late, at: AT }),
      () => citeAs(resolved, { accesses: [late as never], at: AT, most: 1, steps: 1 }),
    ];
    for (const door of doors) expect(door).toThrow(InvariantError);
  },
);

it('has an answer where nothing is asked in between', () => {
  const actor = {
    kind: 'request',
    identities: [lazy(() => 0)],
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  } as const;
  expect(decide(policy, { actor, request, at: AT })).toEqual({ decision: 'deny', step: 'no_matching_grant' });
});
