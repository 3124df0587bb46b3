// Turns an offer into a policy that may be served, or into one line that says why not. The offer is opened on a thread,
// verified as a whole, and must be published by the required signers.
import type { Policy, PublicationStatement } from '../../engine/index.js';
import type { Clock } from '../ports.js';
import { readKeyring } from '../signing/keyring-file.js';
import type { NamedFile } from '../signing/named-file.js';
import { SigningError } from '../signing/signing-error.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import { openBeside } from './snapshot-thread.js';
import type { Offer } from './sources/source.js';
import { type SignedStatement, verifyPublication } from './verify-publication.js';

/**
 * Who must have published what is served, and for which environment. The keyring is read for each offer, so that keys
 * can be replaced.
 */
export interface PublicationRule {
  readonly keyring: NamedFile;
  readonly environment: string | null;
}

export interface Judge {
  /** Null if no signature is required. */
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  /** Why the statement may not follow what is in force. Called before anything of the offer is opened. */
  readonly refuseToFollow?: (statement: PublicationStatement) => Promise<PolicyFault | null>;
}

export interface Verified {
  readonly kind: 'verified';
  readonly policy: Policy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  /** Null if no signature is required. */
  readonly statement: SignedStatement | null;
}

interface Refused {
  readonly kind: 'refused';
  readonly fault: PolicyFault;
}

/** If a signature is required, nothing is opened before enough keys have signed. Rejects once `signal` is aborted. */
export async function verifyOffer(offer: Offer, judge: Judge, signal: AbortSignal): Promise<Verified | Refused> {
  try {
    return await verify(offer, judge, signal);
  } finally {
    await offer.release?.();
  }
}

async function verify(offer: Offer, judge: Judge, signal: AbortSignal): Promise<Verified | Refused> {
  const { rule, clock, refuseToFollow } = judge;
  const statement = await statementOf(offer, { rule, clock });
  if (statement !== null && 'kind' in statement) return statement;
  const fault = statement === null ? null : await refuseToFollow?.(statement.says);
  if (fault !== null && fault !== undefined) return refused(fault);
  const opened = await openBeside(offer.content, { signed: statement?.says.snapshot ?? null, signal });
  if (opened.kind === 'refused') return opened;
  const { policy, bytes } = opened;
  if (statement === null || statement.says.policy === policy.name)
    return { kind: 'verified', policy, bytes, statement };
  return refused(oneLine('statement.policy', 'the statement is about a policy with another name'));
}

/** The statement under which it was published, whatever it is about; null if no signature is required. */
export async function statementOf(
  { content, statement: text }: Pick<Offer, 'content' | 'statement'>,
  { rule, clock }: Pick<Judge, 'rule' | 'clock'>,
): Promise<SignedStatement | Refused | null> {
  if (rule === null) return null;
  if (content.kind === 'folder')
    return refused(oneLine('signature.missing', 'a folder cannot be signed: serve a snapshot'));
  try {
    const keyring = await readKeyring(rule.keyring);
    const expected = { keyring, at: clock.now(), environment: rule.environment, minimumGeneration: null };
    const { signed, faults } = await verifyPublication('as stated', text, expected);
    if (signed !== null) return signed;
    const [{ code, message } = UNREAD, ...others] = faults;
    return refused({ code, message, problems: others.map((other) => other.message) });
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    return refused({ code: error.code, message: error.message, problems: error.faults });
  }
}

const UNREAD = oneLine('signature.missing', 'it has no statement that can be read');

function refused(fault: PolicyFault): Refused {
  return { kind: 'refused', fault };
}
