// Keys, keyrings and statements that cannot be used, with a stable code.

export type SigningErrorCode =
  | 'file.not_found'
  | 'file.unreadable'
  | 'file.too_large'
  | 'file.unwritable'
  | 'key.exists'
  | 'key.exposed'
  | 'key.invalid'
  | 'keyring.invalid'
  | 'statement.invalid';

export class SigningError extends Error {
  override readonly name = 'SigningError';
  readonly code: SigningErrorCode;
  /** How to fix it, in one line. */
  readonly help: string | undefined;
  /** Everything that is wrong, if it is more than one thing: one line each, with its place. */
  readonly faults: readonly string[];

  constructor(
    code: SigningErrorCode,
    message: string,
    detail: { readonly help?: string; readonly faults?: readonly string[]; readonly cause?: unknown } = {},
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.help = detail.help;
    this.faults = detail.faults ?? [];
  }
}
