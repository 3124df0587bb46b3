// Whether a policy was published: what its statement says, who has signed it, and what is wrong with either. Nothing in
// a statement is trusted without a keyring.
import {
  decodeStatement,
  type Instant,
  judgeStatement,
  type Keyring,
  type Policy,
  type PublicationStatement,
  type StatementFault,
  type StatementReport,
} from '../../../engine/index.js';
import { verifyEd25519 } from '../../signing/ed25519.js';
import { SigningError } from '../../signing/signing-error.js';
import { parseEnvelope, type StatementText } from '../../signing/statement-file.js';

/** What a publication must satisfy. A null member requires nothing. */
interface Expected {
  readonly keyring: Keyring;
  readonly at: Instant;
  readonly environment: string | null;
  readonly minimumGeneration: number | null;
  /** If set, the statement may have expired: nothing is decided under it then. */
  readonly mayHaveExpired?: boolean;
}

/** What is wrong with a statement, or that it is missing. */
export interface PublicationFault {
  readonly code: StatementFault['code'] | 'signature.missing' | 'statement.invalid' | 'statement.access';
  readonly message: string;
}

/** The policy is published if there are no faults. */
export type PublicationReport = Pick<StatementReport, 'signatures' | 'statement'> & {
  readonly faults: readonly PublicationFault[];
  /** Null exactly if there are faults. */
  readonly signed: SignedStatement | null;
};

/** A verified statement, and the envelope that holds it, as JSON. */
export interface SignedStatement {
  readonly says: PublicationStatement;
  readonly envelope: string;
  /** The keys that signed it, by their names in the keyring. */
  readonly signers: readonly string[];
}

/** What is remembered of a statement while its policy is in force. */
export function inForceBy(
  statement: SignedStatement | null,
): { readonly statement: PublicationStatement; readonly signers: readonly string[] } | null {
  return statement === null ? null : { statement: statement.says, signers: statement.signers };
}

/**
 * `subject` is the policy at hand. With `as stated` there is none yet, and the caller compares once it is open. Rejects
 * with `SigningError` if the statement cannot be read.
 */
export async function verifyPublication(
  subject: Pick<Policy, 'digest' | 'name'> | 'as stated',
  { shown, read }: StatementText,
  { keyring, at, environment, minimumGeneration, mayHaveExpired = false }: Expected,
): Promise<PublicationReport> {
  try {
    const bytes = await read();
    if (bytes === null)
      return refused('signature.missing', `there is not a signed statement: \`${shown}\` does not exist`);
    const envelope = parseEnvelope(bytes, shown);
    const stated = subject === 'as stated' ? decodeStatement(envelope.payload) : null;
    const expected = {
      ...(subject === 'as stated'
        ? { snapshot: stated?.snapshot ?? '', policy: stated?.policy ?? '' }
        : { snapshot: subject.digest, policy: subject.name }),
      at,
      ...(environment === null ? {} : { environment }),
      ...(minimumGeneration === null ? {} : { minimumGeneration }),
    };
    const report = judgeStatement(envelope, { keyring, verify: verifyEd25519 }, expected);
    const { statement: says } = report;
    const faults = report.faults.filter(({ code }) => !mayHaveExpired || code !== 'statement.expired');
    const signers = report.signatures.flatMap(({ ok, name, keyId }) => (ok ? [name ?? keyId ?? ''] : []));
    const isGood = says !== null && faults.length === 0;
    return {
      ...report,
      faults,
      signed: isGood ? { says, envelope: Buffer.from(bytes).toString('utf8'), signers } : null,
    };
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    if (error.code !== 'statement.invalid' && error.code !== 'file.too_large') throw error;
    return refused('statement.invalid', error.message);
  }
}

function refused(code: PublicationFault['code'], message: string): PublicationReport {
  return { signatures: [], statement: null, faults: [{ code, message }], signed: null };
}
