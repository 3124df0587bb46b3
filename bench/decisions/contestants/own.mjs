// Bailiwick itself, called in two ways: from raw texts with the whole answer, as a library user does, and for a resolved actor, as the
// gateway does.
import {
  adopt,
  canonicalize,
  decideAs,
  decideRaw,
  judgeAs,
  judgeRaw,
  packSnapshot,
  parseInstant,
  resolveActor,
  scopeSetOf,
} from '../../../dist/engine/index.js';
import { compilePolicy } from '../../../dist/engine/compiler.js';
import { keptScopes, keyOfScopes } from '../own-scopes.mjs';

const AT = parseInstant('2027-01-01T00:00:00Z');

/** The bytes of the snapshot that the policy compiles to. */
export function compile(policy) {
  const compiled = compilePolicy(toPolicySet(policy));
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  return compiled.snapshot.bytes;
}

function toPolicySet({ families = [], roles, grants }) {
  const place = null;
  const member = (identity) => ({ kind: 'identity', identity, place });
  return {
    name: 'bench',
    exclusive: [],
    folders: [],
    families,
    providers: [],
    people: [],
    roles: roles.map(({ name, identities, roles: inner }) => ({
      name,
      description: null,
      place,
      members: [...identities.map(member), ...inner.map((role) => ({ kind: 'role', role, place }))],
    })),
    grants: grants.map(({ identity, role, namespace, scopes }, row) => ({
      id: `g-${String(row).padStart(7, '0')}`,
      principal: role === undefined ? { kind: 'identity', identity } : { kind: 'role', role },
      namespace: canonicalize(namespace).path,
      scopes: scopeSetOf(scopes),
      inherit: true,
      notBefore: null,
      expires: null,
      reason: null,
      place,
    })),
    tests: [],
    guardrails: [],
  };
}

/** The policy as the gateway holds it: only what decides. */
function open(bytes) {
  const { ok, packed, fault } = packSnapshot(bytes);
  if (!ok) throw new Error(fault.message);
  return adopt(packed);
}

const rawInput = ({ identities, scopes, restrictions, scope, target }) => ({
  actor: { kind: 'request', identities, credentialScopes: scopes, namespaceRestrictions: restrictions },
  request: { kind: 'access', scope, target },
  at: AT,
});

export function loadWhole(bytes) {
  const policy = open(bytes);
  return { shape: rawInput, decide: (input) => decideRaw(policy, input).decision === 'allow' };
}

export function loadStep(bytes) {
  const policy = open(bytes);
  return { shape: rawInput, decide: (input) => judgeRaw(policy, input) === 'allow' };
}

const loadResolved = (isAllowed) => (bytes) => {
  const policy = open(bytes);
  const actors = new Map();
  const shape = ({ actor, identities, scopes, restrictions, scope, target }) => {
    const credential = `${actor} ${keyOfScopes(scopes)} ${restrictions === null ? 'anywhere' : JSON.stringify(restrictions)}`;
    let resolved = actors.get(credential);
    if (resolved === undefined) {
      resolved = resolveActor(policy, {
        kind: 'request',
        identities,
        credentialScopes: scopeSetOf(keptScopes(scopes)),
        namespaceRestrictions: restrictions?.map((path) => canonicalize(path).path) ?? null,
      });
      actors.set(credential, resolved);
    }
    return { actor: resolved, input: { request: { kind: 'access', scope, target }, at: AT } };
  };
  return { shape, decide: ({ actor, input }) => isAllowed(actor, input) };
};

export const loadResolvedStep = loadResolved((actor, input) => judgeAs(actor, input) === 'allow');
export const loadResolvedWhole = loadResolved((actor, input) => decideAs(actor, input).decision === 'allow');
