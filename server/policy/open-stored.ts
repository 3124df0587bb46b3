// Turns a snapshot of the store into a policy that may be served, or into one line that says why not. Nothing in the
// store is trusted until its bytes, its digest and, if a signature is required, its statement are verified here.
import type { Policy, PublicationStatement } from '../../engine/index.js';
import type { Clock } from '../ports.js';
import type { Labels } from './active-policy.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import type { Snapshots } from './stored-snapshots.js';
import type { SignedStatement } from './verify-publication.js';
import { type PublicationRule, statementOf, verifyOffer } from './verify-offer.js';

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
  readonly signal?: AbortSignal | undefined;
}

export type OpenedStored =
  | {
      readonly kind: 'opened';
      readonly policy: Policy;
      /** Null if it was not opened again. */
      readonly bytes: Uint8Array | null;
      readonly statement: SignedStatement | null;
      readonly labels: Labels;
    }
  | { readonly kind: 'refused'; readonly fault: PolicyFault };

/** Rejects if the store fails, and once the signal is aborted. */
export async function openStored(snapshot: string, options: OpenStoredOptions): Promise<OpenedStored> {
  const { snapshots, rule, clock, inForce, signal = new AbortController().signal } = options;
  const stored = await snapshots.find(snapshot);
  if (stored === null) return refused('snapshot.not_found', 'the store does not have it');
  const text = options.envelope ?? stored.statement;
  const statement = {
    shown: 'the stored statement',
    read: () => Promise.resolve(text === null ? null : Buffer.from(text)),
  };
  const { labels } = stored;
  const refuseToFollow = (says: PublicationStatement): Promise<PolicyFault | null> =>
    Promise.resolve(
      inForce === null || says.policy === inForce.name
        ? null
        : oneLine('snapshot.policy', `it is another policy, called \`${says.policy}\``),
    );
  if (inForce?.digest === snapshot) {
    const content = { kind: 'file', path: '', digest: snapshot } as const;
    const published = await statementOf({ content, statement }, { rule, clock });
    if (published !== null && 'kind' in published) return published;
    if (published !== null && published.says.snapshot !== snapshot)
      return refused('statement.subject', 'the statement is about another snapshot');
    return { kind: 'opened', policy: inForce, bytes: null, statement: published, labels };
  }
  const parts = await snapshots.read(stored);
  if (parts === null) return damaged();
  const content = { kind: 'parts', parts, digest: snapshot } as const;
  const offer = { content, statement, from: { kind: 'store' } } as const;
  const verified = await verifyOffer(offer, { rule, clock, refuseToFollow }, signal);
  if (verified.kind === 'refused') return verified.fault.code === 'snapshot.digest' ? damaged() : verified;
  return { ...verified, kind: 'opened', labels };
}

const damaged = (): OpenedStored =>
  refused('snapshot.damaged', 'its bytes in the store are not intact: publish it again');

function refused(code: string, message: string): OpenedStored {
  return { kind: 'refused', fault: oneLine(code, message) };
}
