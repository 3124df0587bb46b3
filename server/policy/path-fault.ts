// Why a path cannot be used, as a value. Whoever named the path phrases it for that place.

export type PathFault =
  | { readonly kind: 'missing' }
  | { readonly kind: 'not_a_folder' }
  | { readonly kind: 'unreadable'; readonly code: string; readonly cause: unknown };

/** The fault of a file operation that failed. */
export function pathFaultOf(error: unknown): PathFault {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'missing' } : { kind: 'unreadable', code, cause: error };
}

/** The system's code of an error, such as `EACCES`. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown reason';
}
