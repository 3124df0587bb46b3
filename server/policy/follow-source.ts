// A gateway follows the source of its policy (docs/serving.md). It looks from time to time, takes what is offered, and
// keeps the last good policy in force whatever is wrong with the source or with its offer.
import { type Watch, watchEvery } from '../watch.js';
import type { ActivePolicy } from './active-policy.js';
import type { Activator } from './activator.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import type { Found, Source, Why } from './sources/source.js';
import { ageOf, type AgeLimits, type Staleness, stalenessOf } from './staleness.js';
import { STORE_FAULT, takeOffer, type TakeOptions } from './take-offer.js';

export interface FollowOptions extends Omit<TakeOptions, 'after' | 'onReturned' | 'source' | 'policies' | 'activator'> {
  readonly source: Source;
  readonly policies: ActivePolicy;
  readonly activator: Pick<Activator, 'activations' | 'newest' | 'offer'>;
  readonly ages: AgeLimits;
  /** Milliseconds between two looks at the source. */
  readonly interval: number;
}

export function followSource(options: FollowOptions): Watch {
  const { source, policies, activator, log } = options;
  // Why the last offer is not served, and why the source could not be asked.
  let refused: PolicyFault | null = null;
  let outage: PolicyFault | null = null;
  // Whether the last offer must be offered again.
  let again = false;
  const tell = (fault: PolicyFault): void => {
    policies.refuse(fault);
    log.error(
      { ...source.facts, snapshot: policies.current().policy.digest, ...fault },
      'what the source offers is not taken, and the policy in force stays',
    );
  };
  /** The last fault of the source still holds, whatever somebody else has activated since. */
  const recall = (fault: PolicyFault): void => {
    if (!isSame(fault, policies.state().refusal)) policies.refuse(fault);
  };
  const onReturned = (fault: PolicyFault): void => {
    refused = fault;
    policies.refuse(fault);
  };
  const use = async (found: Found, after: number, signal: AbortSignal): Promise<void> => {
    if (found.kind === 'unsettled') return;
    const before = outage;
    outage = found.kind === 'fault' ? found.fault : null;
    if (outage !== null) {
      // Logged once, however long it lasts.
      if (!isSame(outage, before)) tell(outage);
      else recall(outage);
      return;
    }
    if (found.kind === 'offer') {
      const taken = await takeOffer(found.offer, { ...options, after, onReturned }, signal);
      if (signal.aborted) return;
      refused = taken.kind === 'refused' ? taken.fault : null;
      again = taken.kind === 'again' || refused?.code === STORE_FAULT;
      if (taken.kind === 'again') return;
      if (refused === null) found.offer.onTaken?.();
      else tell(refused);
    } else if (refused !== null) recall(refused);
    if (refused === null) policies.confirm();
  };
  const ask = async (why: Why, signal: AbortSignal): Promise<Found> => {
    try {
      return await source.look(why, signal);
    } catch (error) {
      if (!signal.aborted) log.error({ ...source.facts, error }, 'looking for a policy failed');
      return { kind: 'fault', fault: oneLine('internal', 'looking for it failed; the log has the error') };
    }
  };
  const tellAge = makeAgeTeller(options);
  return watchEvery(options.interval, async (why, signal) => {
    const after = activator.newest();
    // `hurry` asks for the offer again even though nothing has changed at the source: the store is back, or somebody
    // else was first.
    const found = await ask(again ? 'hurry' : why, signal);
    if (signal.aborted) return;
    if (why === 'hurry') outage = null;
    await use(found, after, signal);
    tellAge();
  });
}

function isSame(a: PolicyFault, b: PolicyFault | null): boolean {
  return a.code === b?.code && a.message === b.message;
}

/** Logs once when a policy has become too old, and once when it is no longer too old. */
function makeAgeTeller({ source, policies, ages, clock, log }: FollowOptions): () => void {
  let told: Staleness = 'no';
  return () => {
    const state = policies.state();
    const stale = stalenessOf(state, ages, clock.now());
    if (stale === told) return;
    told = stale;
    const facts = {
      ...source.facts,
      snapshot: state.active.policy.digest,
      ageSeconds: Math.floor(ageOf(state, clock.now()) / 1000),
    };
    if (stale === 'no') log.info(facts, 'the policy is fresh again');
    else if (stale === 'soft') log.warn(facts, 'the policy is older than `snapshot.softAge`');
    else log.error(facts, 'the policy is too old or its statement has expired: nothing is decided by it any more');
  };
}
