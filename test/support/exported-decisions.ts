// The same decisions for another engine and for ours: questions about generated policies, as texts that any engine can be given.
import fc from 'fast-check';
import {
  type Actor,
  ALL_SCOPES,
  canonicalize,
  carriedNames,
  decide,
  formatIdentity,
  formatInstant,
  type Instant,
  isScopeName,
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
  /** What the engine decides. */
  readonly allowed: boolean;
}

/** The local actor has no identities: there is no way to be it elsewhere. */
export const generatedQuestions: fc.Arbitrary<readonly Question[]> = fc.array(
  question.filter(({ actor }) => actor.kind !== 'local'),
  { minLength: 5, maxLength: 6 },
);

/** What the engine decides. A path that is not canonical is nowhere. */
export function mayIn(policy: Policy, actor: Actor, at: Instant): (scope: string, path: string) => boolean {
  return (scope, path) => {
    const target = canonicalize(path);
    if (!target.ok || target.path !== path || !isScopeName(scope)) return false;
    const request = { kind: 'access', scope, context: target.path, target: target.path } as const;
    return decide(policy, { actor, at, request }).decision === 'allow';
  };
}

export function askedOf(policy: Policy, { actor, at }: Question, paths: readonly string[]): readonly Asked[] {
  const { credentialScopes, identities, namespaceRestrictions: restrictions } = actor;
  const scopes = credentialScopes === ALL_SCOPES ? null : carriedNames(credentialScopes, policy);
  const who = { identities: identities.map(formatIdentity), scopes, restrictions, at: formatInstant(at) };
  const may = mayIn(policy, actor, at);
  return [...vocabularyOf(policy).scopes, 'invoice:burn'].flatMap((scope) =>
    paths.map((namespace) => ({ ...who, scope, namespace, allowed: may(scope, namespace) })),
  );
}
