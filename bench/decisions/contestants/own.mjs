// Bailiwick itself, as a library user calls it: from raw texts with the whole answer, and for an actor that is kept, as the gateway does.
import { canonicalize, decideRaw, loadSnapshot, parseInstant, scopeSetOf } from '../../../dist/engine/index.js';
import { compilePolicy } from '../../../dist/engine/compiler.js';

const AT = parseInstant('2027-01-01T00:00:00Z');

/** The bytes of the snapshot that the policy compiles to. */
export function compile(policy) {
  const compiled = compilePolicy(toPolicySet(policy));
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  return compiled.snapshot.bytes;
}

function toPolicySet({ roles, grants }) {
  const place = null;
  const member = (identity) => ({ kind: 'identity', identity, place });
  return {
    name: 'bench',
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

function open(bytes) {
  const loaded = loadSnapshot(bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
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
