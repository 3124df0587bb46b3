// A snapshot that an admin sends is verified like any offer, and stored. This does not put it in force, but makes that
// possible.
import { type Policy, STATEMENT_LIMITS } from '../../engine/index.js';
import type { Transaction } from '../db/transaction.js';
import type { Clock } from '../ports.js';
import { parseEnvelope, type StatementText } from '../signing/statement-file.js';
import { SigningError } from '../signing/signing-error.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import { unwrapInThread } from './snapshot-thread.js';
import type { Snapshots } from './stored-snapshots.js';
import { faultOfSuccession, type Succession } from './take-offer.js';
import { verifyOffer, type PublicationRule } from './verify-offer.js';

export type Parts = readonly Uint8Array<ArrayBuffer>[];

export interface UploadOptions extends Succession {
  readonly snapshots: Pick<Snapshots, 'put'>;
  readonly clock: Clock;
  readonly rule: PublicationRule | null;
  /** Runs in the transaction that stores the snapshot. */
  readonly beside: (transaction: Transaction, snapshot: string) => Promise<void>;
  readonly signal: AbortSignal;
}

export type Uploaded =
  { readonly kind: 'stored'; readonly policy: Policy } | { readonly kind: 'refused'; readonly fault: PolicyFault };

/** The parts are transferred. Rejects if the store fails, and once the signal is aborted. */
export async function takeUpload(sent: Parts, options: UploadOptions): Promise<Uploaded> {
  const { rule, clock, snapshots, beside, signal } = options;
  const unwrapped = isWrapped(sent) ? await unwrapInThread(sent, signal) : { parts: sent, statement: null };
  if ('fault' in unwrapped) return { kind: 'refused', fault: unwrapped.fault };
  const { parts, statement } = unwrapped;
  const fault = statement === null ? null : faultOfStatement(statement);
  if (fault !== null) return { kind: 'refused', fault };
  const verified = await verifyOffer(
    { content: { kind: 'parts', parts }, statement: textOf(statement), from: { kind: 'memory' } },
    { rule, clock, refuseToFollow: (says) => faultOfSuccession(says, options) },
    signal,
  );
  if (verified.kind === 'refused') return verified;
  const { policy, bytes } = verified;
  await snapshots.put({ policy, bytes, labels: 'unverified', statement, at: clock.now() }, (transaction) =>
    beside(transaction, policy.digest),
  );
  return { kind: 'stored', policy };
}

/**
 * A snapshot begins with its seal. An object with a snapshot as a string and its statement begins with either of their
 * names.
 */
function isWrapped([first]: Parts): boolean {
  return /^[ \t\r\n]*\{[ \t\r\n]*"(?:snapshot|statement)"/.test(
    Buffer.from((first ?? NOTHING).subarray(0, 256)).toString('latin1'),
  );
}

const NOTHING = new Uint8Array(0);

const SHOWN = 'statement';

function textOf(statement: string | null): StatementText {
  return { shown: SHOWN, read: () => Promise.resolve(statement === null ? null : Buffer.from(statement)) };
}

/** Checked even if no signature is required: what is stored as a statement must be one. */
function faultOfStatement(statement: string): PolicyFault | null {
  if (Buffer.byteLength(statement) > STATEMENT_LIMITS.fileBytes) {
    const most = String(STATEMENT_LIMITS.fileBytes);
    return oneLine('statement.invalid', `\`${SHOWN}\` is not a signed statement: it is larger than ${most} bytes`);
  }
  try {
    parseEnvelope(Buffer.from(statement), SHOWN);
    return null;
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    return oneLine(error.code, error.message);
  }
}
