// The trust boundary of policies: `verifyOffer` turns an offer, of which nothing is trusted, into a policy that may be
// served, or refuses it. The offer is opened on a thread, verified as a whole, and must be published by the required
// signers.
import type { Keyring, Policy, PublicationStatement } from '../../../engine/index.js';
import { patientReads } from '../../lib/patient-reads.js';
import type { Clock, Logger } from '../../lib/ports.js';
import { SIGNING_LIMITS } from '../../limits/policy.js';
import { readKeyring } from '../../signing/keyring-file.js';
import type { NamedFile } from '../../signing/named-file.js';
import { SigningError } from '../../signing/signing-error.js';
import { statementBeside, type StatementText } from '../../signing/statement-file.js';
import type { Labels } from '../active/active-policy.js';
import { oneLine, PolicyRefused, refusal } from '../policy-fault.js';
import { type FolderThread, openBeside, type TableFinder } from './snapshot-thread.js';
import type { Offer } from '../sources/source.js';
import { type SignedStatement, verifyPublication } from './verify-publication.js';

/**
 * Who must have published what is served, and for which environment. The keyring is read for each offer, so that keys
 * can be replaced.
 */
export interface PublicationRule {
  readonly keyring: NamedFile;
  readonly environment: string | null;
}

export interface OfferRule {
  /** Null if no signature is required. */
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  /** If set, its statement may have expired. Defaults to not. */
  readonly mayHaveExpired?: boolean;
  /** Tables that may save deriving one. Defaults to null: none are kept. */
  readonly tables?: TableFinder | null;
  /** Compiles folders that are followed. Defaults to null: each folder is compiled on a thread of its own. */
  readonly folders?: FolderThread | null;
  /** Defaults to none. */
  readonly log?: Pick<Logger, 'warn'>;
  /**
   * Throws `PolicyRefused` if the statement may not follow what is in force. Called before anything of the offer is
   * opened.
   */
  readonly checkSuccession?: (statement: PublicationStatement) => Promise<void> | void;
}

export interface Verified {
  readonly policy: Policy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly labels: Labels;
  /** Null if no signature is required. */
  readonly statement: SignedStatement | null;
}

/**
 * If a signature is required, nothing is opened before enough keys have signed. Throws `PolicyRefused`; rejects once
 * `signal` is aborted.
 */
export async function verifyOffer(offer: Offer, judge: OfferRule, signal: AbortSignal): Promise<Verified> {
  try {
    const statement = await statementOf(offer, judge, signal);
    if (statement !== null) await judge.checkSuccession?.(statement.says);
    const { tables = null, folders = null } = judge;
    const signed = statement?.says.snapshot ?? null;
    const { policy, bytes, labels } = await openBeside(offer.content, { signed, tables, folders, signal });
    if (statement !== null && statement.says.policy !== policy.name)
      throw refusal('statement.policy', 'the statement is about a policy with another name');
    return { policy, bytes, labels, statement };
  } finally {
    await releaseOffer(offer, judge.log);
  }
}

/** A failure says nothing about the offer, whose copy stays on the disk. So the offer is neither refused nor lost for it. */
export async function releaseOffer({ release }: Pick<Offer, 'release'>, log?: Pick<Logger, 'warn'>): Promise<void> {
  await release?.().catch((error: unknown) => log?.warn({ error }, 'what an offer occupied could not be removed'));
}

export function anotherPolicy({ policy }: PublicationStatement): PolicyRefused {
  return refusal('snapshot.policy', `it is another policy, called \`${policy}\``);
}

/** The keyrings and statements of this process are on one disk, as a rule. */
export const signingReads = patientReads(SIGNING_LIMITS.reading);

/** Throws `SigningError`, also if its disk does not answer in time; rejects once `signal` is aborted. */
export function keyringOf({ keyring: file }: PublicationRule, signal: AbortSignal): Promise<Keyring> {
  return signingReads.read(
    () => readKeyring(file),
    () => late(file, 'name a keyring on another one (`snapshot.keyringFile`)'),
    signal,
  );
}

/** The statement beside a snapshot, which is read in time, or reading it rejects with `SigningError`. */
export function statementInTime(snapshot: NamedFile, signal: AbortSignal): StatementText {
  const { shown, read } = statementBeside(snapshot);
  const faulty = (): SigningError => late({ shown }, 'serve a copy on another one (`--policy`)');
  return { shown, read: () => signingReads.read(read, faulty, signal) };
}

function late({ shown }: Pick<NamedFile, 'shown'>, instead: string): SigningError {
  const help = `see what the log of the system says about this disk, or ${instead}`;
  return new SigningError('file.unreadable', `\`${shown}\` was not read in time: its disk does not answer`, { help });
}

/**
 * The statement under which it was published, whatever it is about; null if no signature is required. Throws
 * `PolicyRefused`; rejects once `signal` is aborted.
 */
export async function statementOf(
  { content, statement: text }: Pick<Offer, 'content' | 'statement'>,
  { rule, clock, mayHaveExpired = false }: Pick<OfferRule, 'rule' | 'clock' | 'mayHaveExpired'>,
  signal: AbortSignal,
): Promise<SignedStatement | null> {
  if (rule === null) return null;
  if (content.kind === 'folder') throw refusal('signature.missing', 'a folder cannot be signed: serve a snapshot');
  try {
    const keyring = await keyringOf(rule, signal);
    const { environment } = rule;
    const expected = { keyring, at: clock.now(), environment, minimumGeneration: null, mayHaveExpired };
    const { signed, faults } = await verifyPublication('as stated', text, expected);
    if (signed !== null) return signed;
    const [{ code, message } = UNREAD, ...others] = faults;
    throw new PolicyRefused({ code, message, problems: others.map((other) => other.message) });
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    throw new PolicyRefused({ code: error.code, message: error.message, problems: error.faults });
  }
}

const UNREAD = oneLine('signature.missing', 'it has no statement that can be read');
