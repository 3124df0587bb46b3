// Why the audit log cannot be used, with a stable code and what to do about it. Shown to operators, never to clients.

const ADVICE = {
  'audit.folder': 'name a folder that this user may read and write with `audit.folder`',
  'audit.full': 'free space on its disk: nothing that was recorded is lost',
  'audit.unreadable': 'let this user read the file, or put a copy of it in its place',
  'audit.damaged':
    'run `bailiwick audit verify`, then restore the folder or move it away: the next start begins a new log',
  'audit.truncated':
    'run `bailiwick audit verify`, then restore the folder or move it away: the next start begins a new log',
} as const;

export class AuditError extends Error {
  override readonly name = 'AuditError';
  readonly code: keyof typeof ADVICE;
  readonly help: string;

  constructor(code: keyof typeof ADVICE, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.help = ADVICE[code];
  }
}
