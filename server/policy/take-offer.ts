// An offer that was found to be good takes the place of the policy in force, as one reference; what says something false of itself
// is put out again.
import type { PublicationStatement } from '../../engine/index.js';
import { storeFailure } from '../db/failures.js';
import type { Logger } from '../ports.js';
import type { Active, ActivePolicy, Candidate } from './active-policy.js';
import { type Activations, isRollback, rollbackText } from './activations.js';
import { checkLabels } from './check-labels.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import type { Offer, Source } from './sources/source.js';
import { type Judge, type Verified, verifyOffer } from './verify-offer.js';

export interface TakeOptions extends Pick<Judge, 'rule' | 'clock'> {
  readonly source: Pick<Source, 'facts'>;
  readonly policies: ActivePolicy;
  readonly activations: Activations;
  readonly log: Logger;
  /** Keeps the bytes of what is about to decide, for whoever asks later what it decided by. Nothing is kept unless given. */
  readonly keep?: (digest: string, bytes: Uint8Array) => Promise<void>;
  /** Told why what was taken does not serve any more. */
  readonly onReturned: (fault: PolicyFault) => void;
}

/** The store may be back soon, while the source has nothing new then. */
export const STORE_FAULT = 'store.unavailable';

/** Makes the offer the policy in force, unless it is that already. Says why it cannot be; null if it is. */
export async function takeOffer(offer: Offer, options: TakeOptions, signal: AbortSignal): Promise<PolicyFault | null> {
  const { source, policies, log } = options;
  try {
    const { rule, clock } = options;
    const refuseToFollow = (statement: PublicationStatement): Promise<PolicyFault | null> =>
      faultOfSuccession(statement, options);
    const verified = await verifyOffer(offer, { rule, clock, refuseToFollow }, signal);
    if (verified.kind === 'refused') return verified.fault;
    const active = policies.current();
    const { policy, bytes, statement } = verified;
    if (policy.digest === active.policy.digest && isSame(statement, active.statement)) return null;
    await options.keep?.(policy.digest, bytes);
    await replace(verified, offer, options);
    return null;
  } catch (error) {
    // What is not written down is not done: after a restart something older could take its place.
    const failure = storeFailure(error);
    if (failure !== null) return oneLine(STORE_FAULT, 'the store, which has to note its generation, cannot be reached');
    if (!signal.aborted) log.error({ ...source.facts, error }, 'the policy that is offered could not be opened');
    return oneLine('internal', 'it could not be opened; the log has the error');
  }
}

/** Whoever signed for another policy, or before, has said nothing about what is to follow this one. */
async function faultOfSuccession(
  statement: PublicationStatement,
  { policies, activations }: TakeOptions,
): Promise<PolicyFault | null> {
  const { policy, environment } = statement;
  if (policy !== policies.current().policy.name) {
    return oneLine('snapshot.policy', `it is another policy, called \`${policy}\``);
  }
  const accepted = await activations.accepted(policy, environment);
  if (!isRollback(statement, accepted)) return null;
  return oneLine('snapshot.rollback_refused', rollbackText(statement, accepted));
}

function isSame(a: PublicationStatement | null, b: PublicationStatement | null): boolean {
  if (a === null || b === null) return a === b;
  return a.generation === b.generation && a.issued === b.issued && a.expires === b.expires;
}

async function replace(
  { policy, bytes, statement }: Verified,
  { content, from }: Offer,
  options: TakeOptions,
): Promise<void> {
  const { source, policies, activations, clock, log } = options;
  const before = policies.current();
  // Signed again, it stays the same handle, and all that is remembered of it.
  const isRenewal = policy.digest === before.policy.digest;
  const candidate: Candidate = {
    policy: isRenewal ? before.policy : policy,
    source: from,
    labels: isRenewal ? before.labels : content.kind === 'folder' ? 'verified' : 'unverified',
    ...(statement === null ? {} : { statement }),
  };
  const reason = isRenewal ? 'published anew' : 'changed at its source';
  const generation = await activations.record({ policy: candidate.policy, statement, reason, at: clock.now() });
  const after = policies.activate(candidate, reason, generation);
  const { digest: snapshot, decisions } = after.policy;
  const facts = { ...source.facts, snapshot, decisions, generation, before: before.policy.digest };
  log.info(facts, 'the policy was replaced');
  if (after.labels === 'unverified') void confirmLabels(after, bytes, { ...options, before });
}

/** A snapshot that says something false of itself is an alarm, and what was in force before it returns. */
async function confirmLabels(
  after: Active,
  bytes: Uint8Array,
  { before, policies, activations, clock, log, onReturned }: TakeOptions & { readonly before: Active },
): Promise<void> {
  await checkLabels(after, bytes, { policies, log });
  const active = policies.current();
  if (active.generation !== after.generation || active.labels !== 'false') return;
  const { policy, source, statement, labels } = before;
  const candidate = { policy, source, labels, ...(statement === null ? {} : { statement }) };
  const reason = 'the snapshot that took its place carries a false label';
  // It returns whether the store can be told or not.
  const recorded = await activations.record({ policy, statement, reason, at: clock.now() }).catch(() => undefined);
  const { generation } = policies.activate(candidate, reason, recorded);
  onReturned(oneLine('snapshot.label', 'it carries a false label'));
  log.error({ snapshot: policy.digest, generation }, 'the policy from before is in force again');
}
