// What a test asks of an importer: the proof of its policy, and that there was something to prove.
import type { ImportedPolicy } from '../../server/import/imported-policy.js';
import { type Proof, proveImport } from '../../server/import/prove-import.js';
import { writePolicy } from '../../server/import/write-policy.js';

export type Compared = Extract<Proof, { readonly kind: 'compared' }>;

/** `meant` is what the source says, if the policy is not what was made of it. */
export function comparedOf(policy: ImportedPolicy, meant: ImportedPolicy = policy): Compared {
  const proof = proveImport(writePolicy('made', policy), meant);
  if (proof.kind === 'invalid') throw new Error(proof.diagnostics.map(({ message }) => message).join('\n'));
  return proof;
}
