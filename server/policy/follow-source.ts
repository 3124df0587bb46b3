// A gateway follows the source of its policy (docs/serving.md): it looks from time to time, takes what is offered, and keeps the last
// good policy in force whatever is wrong with the source or with what it offers.
import { type Watch, watchEvery } from '../watch.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import type { Found, Source, Why } from './sources/source.js';
import { ageOf, type AgeLimits, type Staleness, stalenessOf } from './staleness.js';
import { STORE_FAULT, takeOffer, type TakeOptions } from './take-offer.js';

export interface FollowOptions extends Omit<TakeOptions, 'onReturned' | 'source'> {
  readonly source: Source;
  readonly ages: AgeLimits;
  /** Milliseconds between two looks. */
  readonly interval: number;
}

export function followSource(options: FollowOptions): Watch {
  const { source, policies, log } = options;
  // Why what was offered last is not served, and why the source could not be asked.
  let refused: PolicyFault | null = null;
  let outage: PolicyFault | null = null;
  const tell = (fault: PolicyFault): void => {
    policies.refuse(fault);
    log.error(
      { ...source.facts, snapshot: policies.current().policy.digest, ...fault },
      'what the source offers is not taken, and the policy in force stays',
    );
  };
  const onReturned = (fault: PolicyFault): void => {
    refused = fault;
    policies.refuse(fault);
  };
  const use = async (found: Found, signal: AbortSignal): Promise<void> => {
    if (found.kind === 'unsettled') return;
    const before = outage;
    outage = found.kind === 'fault' ? found.fault : null;
    if (outage !== null) {
      // Said once, however long it lasts.
      if (!isSame(outage, before)) tell(outage);
      return;
    }
    if (found.kind === 'offer') {
      refused = await takeOffer(found.offer, { ...options, onReturned }, signal);
      if (signal.aborted) return;
      if (refused !== null) tell(refused);
    } else if (before !== null && refused !== null) policies.refuse(refused);
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
    // Nothing has changed at the source when the store is back.
    const found = await ask(refused?.code === STORE_FAULT ? 'hurry' : why, signal);
    if (signal.aborted) return;
    if (why === 'hurry') outage = null;
    await use(found, signal);
    tellAge();
  });
}

function isSame(a: PolicyFault, b: PolicyFault | null): boolean {
  return a.code === b?.code && a.message === b.message;
}

/** Says once when a policy has become too old, and once when it is not any more. */
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
