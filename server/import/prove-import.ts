// The proof of an import: the files that were written are compiled and loaded as a gateway would load them, and every question about what the
// source names gets the answer of both sides.
import { compilePolicy, type Diagnostic, openCompiled, readPolicy } from '../../engine/compiler.js';
import {
  ALL_SCOPES,
  formatIdentity,
  instantOf,
  InvariantError,
  judgeAs,
  type Policy,
  type ResolvedActor,
  resolveActor,
} from '../../engine/index.js';
import type { ImportedPolicy, ImportQuestion } from './imported-policy.js';
import type { PolicyFiles } from './write-policy.js';

export type Proof =
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] }
  | {
      readonly kind: 'compared';
      readonly policy: Policy;
      readonly questions: number;
      readonly allowed: number;
      readonly disagreements: number;
      /** The first of them. */
      readonly examples: readonly ImportQuestion[];
    };

const EXAMPLES = 20;
/** Nothing that is imported begins or ends. */
const AT = instantOf(0);
const CREDENTIAL = { kind: 'request', credentialScopes: ALL_SCOPES, namespaceRestrictions: null } as const;

export function proveImport(files: PolicyFiles, imported: ImportedPolicy): Proof {
  const read = readPolicy([...files].map(([path, text]) => ({ path, bytes: Buffer.from(text) })));
  const errors = read.diagnostics.filter(({ severity }) => severity === 'error');
  if (read.policy === null || errors.length > 0) return { kind: 'invalid', diagnostics: errors };
  const compiled = compilePolicy(read.policy);
  if (!compiled.ok) return { kind: 'invalid', diagnostics: compiled.diagnostics };
  const opened = openCompiled(compiled.snapshot);
  if (!opened.ok) throw new InvariantError(`the imported policy does not load: ${opened.fault.message}`);
  const { policy } = opened;
  const actors = new Map<string, ResolvedActor>();
  const actorOf = ({ identities }: ImportQuestion): ResolvedActor => {
    const key = JSON.stringify(identities.map(formatIdentity));
    const known = actors.get(key);
    if (known !== undefined) return known;
    const actor = resolveActor(policy, { ...CREDENTIAL, identities });
    actors.set(key, actor);
    return actor;
  };
  let [questions, allowed] = [0, 0];
  const wrong: ImportQuestion[] = [];
  let disagreements = 0;
  for (const question of imported.questions()) {
    const { scope, namespace } = question;
    const verdict = judgeAs(actorOf(question), { request: { kind: 'access', scope, target: namespace }, at: AT });
    questions += 1;
    if (question.allowed) allowed += 1;
    if ((verdict === 'allow') === question.allowed) continue;
    disagreements += 1;
    if (wrong.length < EXAMPLES) wrong.push(question);
  }
  return { kind: 'compared', policy, questions, allowed, disagreements, examples: wrong };
}
