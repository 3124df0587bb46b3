// The policy of a folder as `compile` makes it, without running tests and guardrails, which change no right.
import {
  compilePolicy,
  costOfTests,
  type Diagnostic,
  type DocumentReader,
  ENGINE_LIMITS,
  openCompiled,
  type PolicySet,
  readPolicy,
  sortDiagnostics,
} from '../../../engine/compiler.js';
import { InvariantError, type Policy } from '../../../engine/index.js';
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

export function policyOfTree(reading: FolderReading, read: DocumentReader): TreePolicy {
  const files = [...reading.files, ...reading.unread.map((path) => ({ path, bytes: null }))];
  const { diagnostics, policy: set } = readPolicy(files, ENGINE_LIMITS, read);
  const errors = [...reading.diagnostics, ...diagnostics].filter(isError);
  if (set === null || errors.length > 0) return refused(errors);
  const compiled = compilePolicy(set);
  if (!compiled.ok) return refused(compiled.diagnostics.filter(isError));
  const loaded = openCompiled(compiled.snapshot);
  if (!loaded.ok) throw new InvariantError(`the compiled snapshot does not load: ${loaded.fault.code}`);
  const tooLong = costOfTests(set, loaded.policy);
  return tooLong === null ? { kind: 'policy', policy: loaded.policy, set } : refused([tooLong]);
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}

function refused(errors: readonly Diagnostic[]): TreePolicy {
  const sorted = sortDiagnostics(errors);
  const [first] = sorted;
  if (first === undefined) throw new InvariantError('a policy that does not compile has a mistake');
  const { code, message, file, range } = first;
  const { line, column } = range.start;
  return { kind: 'fault', fault: { code, message, at: { file, line, column, more: sorted.length - 1 } } };
}
