// What goes wrong with keys, keyrings and statements, as failures of a verb (design 5).
import { SigningError, type SigningErrorCode } from '../signing/signing-error.js';
import { EXIT, type ExitStatus } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { escapeText } from './render/escape.js';

const STATUSES: ReadonlyMap<SigningErrorCode, ExitStatus> = new Map<SigningErrorCode, ExitStatus>([
  ['key.exists', EXIT.precondition],
  ['key.exposed', EXIT.precondition],
  ['statement.invalid', EXIT.integrity],
]);

/** The answer of `work`; throws `CliFailure` where it throws `SigningError`. */
export async function asFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    const { code, message, help, faults } = error;
    const report = { faults: faults.map((fault) => ({ code, message: fault })) };
    const told = faults.length === 0 ? {} : { text: faults.map(escapeText).join('\n'), report };
    const detail = { cause: error, ...(help === undefined ? {} : { help }), ...told };
    throw new CliFailure(STATUSES.get(code) ?? EXIT.usage, { code, message }, detail);
  }
}
