// Why a policy is refused: plain data for log and status, which names the place and what to do. It is thrown, and
// caught where it is reported: by what follows a source or the store, at the start, by the shadow, and by the
// routes of admins. This file imports nothing of the folder.
import type { SnapshotFault } from '../../engine/index.js';

export interface PolicyFault {
  readonly code: string;
  /** One line. */
  readonly message: string;
  /** `file:line:column: message` for the first mistakes in a folder. */
  readonly problems: readonly string[];
}

export class PolicyRefused extends Error {
  override readonly name = 'PolicyRefused';
  readonly fault: PolicyFault;

  constructor(fault: PolicyFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** The source cannot be reached or read, or has nothing: no policy was refused. */
export function isSourceAway({ code }: PolicyFault): boolean {
  return SOURCE_AWAY.includes(code);
}

const SOURCE_AWAY: readonly string[] = [
  ...['source.unreachable', 'source.unreadable', 'source.missing', 'source.unsettled'],
];

/** To be thrown. */
export function refusal(code: string, message: string): PolicyRefused {
  return new PolicyRefused(oneLine(code, message));
}

/** The fault of a refusal; any other error is thrown on. */
export function faultOfRefusal(error: unknown): PolicyFault {
  if (error instanceof PolicyRefused) return error.fault;
  throw error;
}

export function oneLine(code: string, message: string): PolicyFault {
  return { code, message, problems: [] };
}

export function snapshotRefused({ code, message }: SnapshotFault, sha256: string): PolicyRefused {
  return refusal(code, `not an intact snapshot (${sha256}): ${message}`);
}

/** Why a path cannot be used. Whoever named the path phrases it for that place. */
export type FileFault =
  | { readonly kind: 'missing' }
  | { readonly kind: 'not_a_folder' }
  | { readonly kind: 'unreadable'; readonly code: string; readonly cause: unknown };

/** Why there are no bytes at a path. */
export type NoBytes = { readonly kind: 'path'; readonly fault: FileFault } | { readonly kind: 'too_large' };

export function pathRefused({ kind }: FileFault): PolicyRefused {
  return kind === 'missing'
    ? refusal('source.missing', 'there is nothing at the path')
    : refusal('source.unreadable', 'the path cannot be read');
}

/** The fault of a file operation that failed. */
export function pathFaultOf(error: unknown): FileFault {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'missing' } : { kind: 'unreadable', code, cause: error };
}

/** The system's code of an error, such as `EACCES`. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown reason';
}
