// Turns a snapshot of the store into a policy that may be served, or refuses it. Nothing in the store is trusted until its bytes, its digest and, if a signature is required, its statement are verified here.
import type { Policy, PublicationStatement } from '../../../engine/index.js';
import type { Clock } from '../../lib/ports.js';
import type { Labels } from '../active/active-policy.js';
import { PolicyRefused, refusal } from '../policy-fault.js';
import type { Snapshots } from '../store/stored-snapshots.js';
import type { TableFinder } from './snapshot-thread.js';
import type { SignedStatement } from './verify-publication.js';
import { anotherPolicy, type PublicationRule, statementOf, verifyOffer } from './verify-offer.js';

export interface OpenStoredOptions {
  readonly snapshots: Pick<Snapshots, 'find' | 'read'>;
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  /** The statement under which it was activated. Null means the statement that is stored with the snapshot. */
  readonly envelope: string | null;
  /**
   * The policy in force; null if there is none yet. It is not opened again, and a signature only counts for a policy
   * with its name.
   */
  readonly inForce: Policy | null;
  /** Tables that may save deriving one. Null if none are kept. */
  readonly tables: TableFinder | null;
  /** If set, the statement may have expired. Defaults to not. */
  readonly mayHaveExpired?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface OpenedStored {
  readonly policy: Policy;
  /** Null if it was not opened again. */
  readonly bytes: Uint8Array | null;
  readonly statement: SignedStatement | null;
  readonly labels: Labels;
}

/** Throws `PolicyRefused`; rejects if the store fails, and once the signal is aborted. */
export async function openStored(snapshot: string, options: OpenStoredOptions): Promise<OpenedStored> {
  const { snapshots, inForce, tables, signal = new AbortController().signal } = options;
  const { rule, clock, mayHaveExpired = false } = options;
  const stored = await snapshots.find(snapshot);
  if (stored === null) throw refusal('snapshot.not_found', 'the store does not have it');
  const text = options.envelope ?? stored.statement;
  const statement = {
    shown: 'the stored statement',
    read: () => Promise.resolve(text === null ? null : Buffer.from(text)),
  };
  const { labels } = stored;
  const checkSuccession = (says: PublicationStatement): void => {
    if (inForce !== null && says.policy !== inForce.name) throw anotherPolicy(says);
  };
  if (inForce?.digest === snapshot) {
    const content = { kind: 'file', path: '', digest: snapshot } as const;
    const published = await statementOf({ content, statement }, { rule, clock, mayHaveExpired }, signal);
    if (published !== null && published.says.snapshot !== snapshot)
      throw refusal('statement.subject', 'the statement is about another snapshot');
    return { policy: inForce, bytes: null, statement: published, labels };
  }
  const parts = await snapshots.read(stored);
  if (parts === null) throw damaged();
  const content = { kind: 'parts', parts, digest: snapshot } as const;
  const offer = { content, statement, from: { kind: 'store' } } as const;
  try {
    const judge = { rule, clock, mayHaveExpired, tables, checkSuccession };
    return { ...(await verifyOffer(offer, judge, signal)), labels };
  } catch (error) {
    throw error instanceof PolicyRefused && error.fault.code === 'snapshot.digest' ? damaged() : error;
  }
}

const damaged = (): PolicyRefused =>
  refusal('snapshot.damaged', 'its bytes in the store are not intact: publish it again');
