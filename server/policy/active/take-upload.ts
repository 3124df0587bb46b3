// A snapshot that an admin sends is verified like any offer, and stored. This does not put it in force, but makes that
// possible.
import { type Policy, STATEMENT_LIMITS } from '../../../engine/index.js';
import type { Writing } from '../../db/writing.js';
import type { Clock } from '../../lib/ports.js';
import { parseEnvelope, type StatementText } from '../../signing/statement-file.js';
import { SigningError } from '../../signing/signing-error.js';
import { refusal } from '../policy-fault.js';
import { unwrapInThread } from '../open/snapshot-thread.js';
import type { KeptTables } from '../store/kept-tables.js';
import type { Snapshots } from '../store/stored-snapshots.js';
import { type Succession, successionCheck } from './follow-source.js';
import { verifyOffer, type PublicationRule } from '../open/verify-offer.js';

export type UploadParts = readonly Uint8Array<ArrayBuffer>[];

export interface UploadOptions extends Succession {
  readonly snapshots: Pick<Snapshots, 'put'>;
  readonly clock: Clock;
  readonly rule: PublicationRule | null;
  /** Where the table of the policy is kept. Null if none are. */
  readonly tables: KeptTables | null;
  /** Runs in the transaction that stores the snapshot. */
  readonly beside: (writing: Writing, stored: { readonly snapshot: string; readonly isNew: boolean }) => Promise<void>;
  readonly signal: AbortSignal;
}

/** The parts are transferred. Throws `PolicyRefused`; rejects if the store fails, and once the signal is aborted. */
export async function takeUpload(sent: UploadParts, options: UploadOptions): Promise<Policy> {
  const { rule, clock, tables, snapshots, beside, signal } = options;
  const { parts, statement } = isWrapped(sent) ? await unwrapInThread(sent, signal) : { parts: sent, statement: null };
  if (statement !== null) checkStatement(statement);
  const { policy, bytes } = await verifyOffer(
    { content: { kind: 'parts', parts }, statement: textOf(statement), from: { kind: 'memory' } },
    { rule, clock, tables, checkSuccession: successionCheck(options) },
    signal,
  );
  await snapshots.put({ policy, bytes, labels: 'unverified', statement, at: clock.now() }, (writing, isNew) =>
    beside(writing, { snapshot: policy.digest, isNew }),
  );
  // The upload is answered meanwhile.
  void tables?.keep(policy);
  return policy;
}

/**
 * A snapshot begins with its seal. An object with a snapshot as a string and its statement begins with either of their
 * names.
 */
function isWrapped([first]: UploadParts): boolean {
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
function checkStatement(statement: string): void {
  if (Buffer.byteLength(statement) > STATEMENT_LIMITS.fileBytes) {
    const most = String(STATEMENT_LIMITS.fileBytes);
    throw refusal('statement.invalid', `\`${SHOWN}\` is not a signed statement: it is larger than ${most} bytes`);
  }
  try {
    parseEnvelope(Buffer.from(statement), SHOWN);
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    throw refusal(error.code, error.message);
  }
}
