// The same decisions for another engine and for ours: questions about generated policies, as texts that any engine can be given.
import fc from 'fast-check';
import {
  ALL_SCOPES,
  canonicalize,
  carriedNames,
  decide,
  formatIdentity,
  formatInstant,
  isScopeName,
  type NamespacePath,
  type Policy,
  vocabularyOf,
} from '../../engine/index.js';
import { type Question, question } from './generous-worlds.js';

export const FILES = {
  'policy.yaml':
    'bailiwick: 1\nname: shop\nproviders: { staff: {} }\nfamilies:\n  invoice: { actions: [approve] }\n' +
    'exclusive:\n  - ["staff:nia o\'hara", "staff:ben"]\n',
  'grants.yaml': `roles:
  clerks: { members: ["staff:nia o'hara", "staff:ben", { role: heads }] }
  heads: { members: ["staff:\\"q\\\\\\""] }
grants:
  - { id: north, role: clerks, namespace: /north, scopes: ["invoice:*"], expires: 2029-01-01T00:00:00Z }
  - { id: accra, identity: "staff:nia o'hara", namespace: /south/accra, scopes: [invoice:read], inherit: false }
`,
};

export interface Asked {
  readonly identities: readonly string[];
  /** Null for a credential that is not narrowed. */
  readonly scopes: readonly string[] | null;
  readonly restrictions: readonly string[] | null;
  readonly scope: string;
  readonly namespace: string;
  readonly at: string;
  /** What the engine decides. A path that is not canonical is nowhere. */
  readonly allowed: boolean;
}

/** The local actor has no identities: there is no way to be it elsewhere. */
export const generatedQuestions: fc.Arbitrary<readonly Question[]> = fc.array(
  question.filter(({ actor }) => actor.kind !== 'local'),
  { minLength: 5, maxLength: 6 },
);

export function askedOf(policy: Policy, { actor, at }: Question, paths: readonly string[]): readonly Asked[] {
  const { credentialScopes, identities, namespaceRestrictions: restrictions } = actor;
  const scopes = credentialScopes === ALL_SCOPES ? null : carriedNames(credentialScopes, policy);
  const who = { identities: identities.map(formatIdentity), scopes, restrictions, at: formatInstant(at) };
  return [...vocabularyOf(policy).scopes, 'invoice:burn'].flatMap((scope) =>
    paths.map((namespace) => {
      const target = canonicalize(namespace);
      const isAllowed = (path: NamespacePath): boolean =>
        isScopeName(scope) &&
        decide(policy, { actor, at, request: { kind: 'access', scope, context: path, target: path } }).decision ===
          'allow';
      return { ...who, scope, namespace, allowed: target.ok && target.path === namespace && isAllowed(target.path) };
    }),
  );
}
