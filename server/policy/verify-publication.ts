// Whether a policy was published: what its statement says, who has signed it, and what is wrong with either. Nothing of a statement is
// believed without a keyring.
import {
  type Instant,
  judgeStatement,
  type Keyring,
  type Policy,
  type StatementFault,
  type StatementReport,
} from '../../engine/index.js';
import { verifyEd25519 } from '../signing/ed25519.js';
import { SigningError } from '../signing/signing-error.js';
import type { NamedFile } from '../signing/named-file.js';
import { readStatementFile } from '../signing/statement-file.js';

export interface StatementFile extends NamedFile {
  /** Of an optional one it is no failure of the reader that it is not there, but a fault of the publication. */
  readonly need: 'optional' | 'required';
}

/** What a publication has to be. Null: nothing is asked. */
export interface Expected {
  readonly keyring: Keyring;
  readonly at: Instant;
  readonly environment: string | null;
  readonly minimumGeneration: number | null;
}

/** What is wrong with a statement, or that there is none. */
export interface PublicationFault {
  readonly code: StatementFault['code'] | 'signature.missing' | 'statement.invalid';
  readonly message: string;
}

/** It is published where there are no faults. */
export type Publication = Pick<StatementReport, 'signatures' | 'statement'> & {
  readonly faults: readonly PublicationFault[];
};

/** Throws `SigningError` where the statement cannot be read. */
export async function verifyPublication(
  policy: Policy,
  file: StatementFile,
  { keyring, at, environment, minimumGeneration }: Expected,
): Promise<Publication> {
  try {
    const envelope = await readStatementFile(file);
    const expected = {
      snapshot: policy.digest,
      policy: policy.name,
      at,
      ...(environment === null ? {} : { environment }),
      ...(minimumGeneration === null ? {} : { minimumGeneration }),
    };
    return judgeStatement(envelope, { keyring, verify: verifyEd25519 }, expected);
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    const none = { signatures: [], statement: null };
    if (error.code === 'statement.invalid' || error.code === 'file.too_large') {
      return { ...none, faults: [{ code: 'statement.invalid', message: error.message }] };
    }
    if (error.code !== 'file.not_found' || file.need === 'required') throw error;
    const message = `there is not a signed statement: \`${file.shown}\` does not exist`;
    return { ...none, faults: [{ code: 'signature.missing', message }] };
  }
}
