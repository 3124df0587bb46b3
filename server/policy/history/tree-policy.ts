// The policy of a folder as `compile` makes it, without running tests and guardrails, which change no right.
import { type Diagnostic, type DocumentReader, type PolicySet, sortDiagnostics } from '../../../engine/compiler.js';
import { InvariantError, type Policy } from '../../../engine/index.js';
import { checkFiles, NO_TESTS } from '../open/check-policy.js';
import type { FolderReading } from '../open/read-folder.js';

/** Why a folder does not compile. */
export interface TreeFault {
  readonly code: string;
  readonly message: string;
  /** Where its first mistake is; absent if none of it is read. */
  readonly at?: {
    readonly file: string;
    readonly line: number;
    readonly column: number;
    /** How many more there are. */
    readonly more: number;
  };
}

export type TreePolicy =
  | { readonly kind: 'policy'; readonly policy: Policy; readonly set: PolicySet }
  | { readonly kind: 'fault'; readonly fault: TreeFault };

export async function policyOfTree(folder: FolderReading, reader: DocumentReader): Promise<TreePolicy> {
  const report = await checkFiles(folder, { onlyTests: NO_TESTS, memory: { reader, known: null } });
  const { compiled, invalidating } = report;
  return compiled === null ? refused(invalidating) : { kind: 'policy', policy: compiled.handle, set: compiled.set };
}

function refused(errors: readonly Diagnostic[]): TreePolicy {
  const sorted = sortDiagnostics(errors);
  const [first] = sorted;
  if (first === undefined) throw new InvariantError('a policy that does not compile has a mistake');
  const { code, message, file, range } = first;
  const { line, column } = range.start;
  return { kind: 'fault', fault: { code, message, at: { file, line, column, more: sorted.length - 1 } } };
}
