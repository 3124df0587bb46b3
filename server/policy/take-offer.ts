// Opens and verifies an offer of a source, and hands it on to become the policy in force.
import type { PublicationStatement } from '../../engine/index.js';
import { storeFailure } from '../db/failures.js';
import type { Clock, Logger } from '../ports.js';
import type { ActivePolicy } from './active-policy.js';
import { isRollback, rollbackText } from './activations.js';
import type { Activator, Offered, Taken } from './activator.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import type { Offer, Source } from './sources/source.js';
import { type PublicationRule, verifyOffer } from './verify-offer.js';

export interface TakeOptions extends Pick<Offered, 'after' | 'onReturned'> {
  readonly source: Pick<Source, 'facts'>;
  readonly policies: Pick<ActivePolicy, 'current'>;
  readonly activator: Pick<Activator, 'activations' | 'offer'>;
  /** Null: nobody has to have signed. */
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A fault of the store may pass soon, without anything new at the source. */
export const STORE_FAULT = 'store.unavailable';

/** Puts the offer in force, unless it already is. */
export async function takeOffer(offer: Offer, options: TakeOptions, signal: AbortSignal): Promise<Taken> {
  const { source, activator, after, onReturned, log } = options;
  const { content, from } = offer;
  try {
    const { rule, clock } = options;
    const refuseToFollow = (statement: PublicationStatement): Promise<PolicyFault | null> =>
      faultOfSuccession(statement, options);
    const verified = await verifyOffer(offer, { rule, clock, refuseToFollow }, signal);
    if (verified.kind === 'refused') return verified;
    // A policy that was compiled just now states what was computed just now.
    const labels = content.kind === 'folder' ? 'verified' : 'unverified';
    return await activator.offer({ verified, labels, from, after, onReturned });
  } catch (error) {
    // Nothing is done that is not written down. Otherwise something older could take its place after a restart.
    const text = 'the store, which has to note its generation, cannot be reached';
    if (storeFailure(error) !== null) return { kind: 'refused', fault: oneLine(STORE_FAULT, text) };
    if (!signal.aborted) log.error({ ...source.facts, error }, 'the policy that is offered could not be opened');
    return { kind: 'refused', fault: oneLine('internal', 'it could not be opened; the log has the error') };
  }
}

/** What a statement must follow. */
export interface Succession extends Pick<TakeOptions, 'policies'> {
  readonly activator: Pick<Activator, 'activations'>;
}

/** A signature for a different policy, or an earlier signature, says nothing about what may follow this policy. */
export async function faultOfSuccession(
  statement: PublicationStatement,
  { policies, activator }: Succession,
): Promise<PolicyFault | null> {
  const { policy, environment } = statement;
  if (policy !== policies.current().policy.name) {
    return oneLine('snapshot.policy', `it is another policy, called \`${policy}\``);
  }
  const accepted = await activator.activations.accepted(policy, environment);
  if (!isRollback(statement, accepted)) return null;
  return oneLine('snapshot.rollback_refused', rollbackText(statement, accepted));
}
