// The conformance policies in their neutral form, rendered as the files of a policy folder: JSON is YAML, so they pass
// through the same reader as everybody's policy does. Identity keys become `provider:subject`; a key that nobody declared
// stays as it is, for the reader to refuse.
import { compilePolicy, readPolicy, type SourceFile } from '../../engine/compiler.js';
import { loadSnapshot, type Policy } from '../../engine/index.js';

/** The files of one neutral policy. What is not understood is passed on as it stands. */
export function policyFiles(neutral: unknown): readonly SourceFile[] {
  const { identities, roles, grants, ...rest } = asObject(neutral);
  const texts = new Map(Object.entries(asObject(identities ?? {})).map(([key, value]) => [key, identityText(value)]));
  const named = (key: unknown): unknown => (typeof key === 'string' ? (texts.get(key) ?? key) : key);
  const document = {
    ...rest,
    roles: Object.fromEntries(
      Object.entries(asObject(roles ?? {})).map(([name, members]) => [
        name,
        { members: Array.isArray(members) ? members.map(named) : members },
      ]),
    ),
    grants: Array.isArray(grants)
      ? grants.map((grant: unknown) => {
          const fields = asObject(grant);
          return 'identity' in fields ? { ...fields, identity: named(fields['identity']) } : fields;
        })
      : grants,
  };
  return [headFile(Object.values(asObject(identities ?? {}))), textFile('policy/all.yaml', JSON.stringify(document, null, 1))];
}

/** A folder whose one file is this text, well-formed or not. */
export function rawPolicyFiles(text: string): readonly SourceFile[] {
  return [headFile([]), textFile('policy/all.yaml', text)];
}

/** Reads, compiles and loads; throws with every diagnostic where the policy is refused. */
export function loadNeutralPolicy(neutral: unknown): Policy {
  const { policy, diagnostics } = readPolicy(policyFiles(neutral));
  const said = diagnostics.map(({ code, file, message }) => `${file}: ${code} ${message}`).join('\n');
  if (policy === null) throw new Error(said);
  const compiled = compilePolicy(policy);
  if (!compiled.ok) throw new Error(compiled.diagnostics.map(({ message }) => message).join('\n'));
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
}

function headFile(identities: readonly unknown[]): SourceFile {
  const providers = new Set(
    identities.flatMap((identity) => {
      const { provider } = asObject(identity);
      return typeof provider === 'string' ? [provider] : [];
    }),
  );
  const head = { bailiwick: 1, name: 'conformance', providers: Object.fromEntries([...providers].map((name) => [name, {}])) };
  return textFile('policy.yaml', JSON.stringify(head));
}

function identityText(value: unknown): string {
  const { provider, subject } = asObject(value);
  return `${typeof provider === 'string' ? provider : ''}:${typeof subject === 'string' ? subject : ''}`;
}

function textFile(path: string, text: string): SourceFile {
  return { path, bytes: new TextEncoder().encode(text) };
}

function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('not an object');
  return Object.fromEntries(Object.entries(value));
}
