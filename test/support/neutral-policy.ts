// The neutral policies of the conformance cases as the files of a policy folder. JSON is YAML, so the JSON of a case is
// read by the same reader as people's files.
import { compilePolicy, readPolicy, type SourceFile } from '../../engine/compiler.js';
import { loadSnapshot, type Policy } from '../../engine/index.js';

export interface NeutralPolicy {
  /** By a key of the case's own, which roles and grants refer to. */
  readonly identities: Readonly<Record<string, { readonly provider?: string; readonly subject?: string }>>;
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly grants: readonly (Readonly<Record<string, unknown>> & { readonly identity?: string })[];
}

/** A text stands for JSON that is not to be touched. */
export function toPolicyFiles(policy: NeutralPolicy | string): readonly SourceFile[] {
  const encoder = new TextEncoder();
  const providers = typeof policy === 'string' ? [] : providersOf(policy);
  const header = `bailiwick: 1\nname: conformance\nproviders: {${providers.map((name) => `${name}: {}`).join(', ')}}\n`;
  const body = typeof policy === 'string' ? policy : JSON.stringify(toFile(policy));
  return [
    { path: 'policy.yaml', bytes: encoder.encode(header) },
    { path: 'policy/all.yaml', bytes: encoder.encode(body) },
  ];
}

/** Reads, compiles and loads; throws with every diagnostic where the policy is refused. */
export function loadNeutralPolicy(neutral: NeutralPolicy): Policy {
  const { policy, diagnostics } = readPolicy(toPolicyFiles(neutral));
  if (policy === null) throw new Error(diagnostics.map(({ code, message }) => `${code} ${message}`).join('\n'));
  const compiled = compilePolicy(policy);
  if (!compiled.ok) throw new Error(compiled.diagnostics.map(({ message }) => message).join('\n'));
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
}

function providersOf(policy: NeutralPolicy): readonly string[] {
  return [
    ...new Set(Object.values(policy.identities).flatMap(({ provider }) => (provider === undefined ? [] : [provider]))),
  ].sort();
}

/** Sections that have nothing in them are left out; whatever else a case says stays as it is, to be refused. */
function toFile({ identities, roles, grants, ...others }: NeutralPolicy): object {
  const keys = new Map(
    Object.entries(identities).map(([key, { provider, subject }]) => [key, `${provider ?? ''}:${subject ?? ''}`]),
  );
  // A key that the case does not declare stays as it is: no identity can be spelled like that.
  const spelled = (key: string): string => keys.get(key) ?? key;
  const named = Object.entries(roles).map(([name, members]) => [name, { members: members.map(spelled) }]);
  const granted = grants.map((grant) =>
    grant.identity === undefined ? grant : { ...grant, identity: spelled(grant.identity) },
  );
  return {
    ...others,
    ...(named.length === 0 ? {} : { roles: Object.fromEntries(named) as object }),
    ...(granted.length === 0 ? {} : { grants: granted }),
  };
}
