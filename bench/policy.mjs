// A policy of grants to identities of one provider, compiled and loaded.
import { compilePolicy } from '../dist/engine/compiler.js';
import { canonicalize, loadSnapshot, scopeSetOf } from '../dist/engine/index.js';

export const PROVIDER = 'bench';

/** `grants` are `{subject, namespace, scopes}`. */
export function openPolicy(grants) {
  const rest = { families: [], roles: [], tests: [], people: [], guardrails: [], exclusive: [], folders: [] };
  const compiled = compilePolicy({
    name: 'bench',
    providers: [{ name: PROVIDER, description: null }],
    grants: Array.from(grants, ({ subject, namespace, scopes }, index) => ({
      id: `g${index}`,
      principal: { kind: 'identity', identity: { provider: PROVIDER, subject } },
      namespace: canonicalize(namespace).path,
      scopes: scopeSetOf(scopes),
      inherit: true,
      notBefore: null,
      expires: null,
      reason: null,
      place: null,
    })),
    ...rest,
  });
  if (!compiled.ok) throw new Error(compiled.diagnostics[0].message);
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
}
