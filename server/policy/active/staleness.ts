// How old a policy may become without news from its source. After the soft age the log warns; after the hard age
// nothing is decided any more. The expiry of a statement is separate from this, and absolute (docs/serving.md "Age").
import { formatInstant, type Instant } from '../../../engine/index.js';
import { type ActivePolicy, type PolicyState, wasPaused } from './active-policy.js';
import { AGE_LIMITS } from '../../limits/policy.js';
import type { Clock, Logger } from '../../lib/ports.js';
import { elapsedBetween, momentNow } from '../../lib/moment.js';
import { type Poller, makePoller } from '../../lib/poller.js';

/** Milliseconds; null means no limit. */
export interface AgeLimits {
  readonly softAge: number | null;
  readonly hardAge: number | null;
}

/** By age alone. */
export type Staleness = 'no' | 'soft' | 'hard';

export const NO_AGE_LIMITS: AgeLimits = Object.freeze({ softAge: null, hardAge: null });

export function stalenessOf(state: PolicyState, { softAge, hardAge }: AgeLimits, now: Instant): Staleness {
  const age = ageOf(state, now);
  if (hardAge !== null && age >= hardAge) return 'hard';
  return softAge !== null && age >= softAge ? 'soft' : 'no';
}

/** When the statement in force expired; null if it has not. */
export function expiredAt({ active: { statement } }: Pick<PolicyState, 'active'>, now: Instant): Instant | null {
  return statement !== null && statement.expires <= now ? statement.expires : null;
}

/** Why the policy in force must not decide, as a sentence without an end; null if it may. */
export function undecidedBecause(state: PolicyState, ages: AgeLimits, now: Instant): string | null {
  const expired = expiredAt(state, now);
  if (expired !== null) return `the signed statement of the policy expired at ${formatInstant(expired)}`;
  return stalenessOf(state, ages, now) === 'hard' ? 'the policy is too old to decide' : null;
}

/**
 * Whether the store has taken too long to say which activation is the newest, or this process was paused since it said
 * so. Another one may have replaced this one.
 */
export function isLeaseExpired(state: PolicyState, now = momentNow()): boolean {
  return (state.leaseExpires !== null && now.tick > state.leaseExpires) || wasPaused(state, now);
}

/** Milliseconds since the policy was last confirmed. */
export function ageOf({ confirmedAt, confirmedTick }: PolicyState, now: Instant): number {
  const confirmed = { time: confirmedAt, tick: confirmedTick };
  return Math.max(0, elapsedBetween(confirmed, { time: now, tick: performance.now() }));
}

export interface WatchAgeOptions {
  readonly policies: Pick<ActivePolicy, 'state'>;
  readonly ages: AgeLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** Fields of the lines about the source. */
  readonly facts?: Readonly<Record<string, string>>;
  /** Milliseconds between two looks at the clock. */
  readonly interval?: number;
}

/**
 * Says in the log when the policy in force has become too old, or its statement has expired, and when that is over. This
 * has a timer of its own, so that nothing that hangs delays it.
 */
export function watchAge(options: WatchAgeOptions): Poller {
  const { policies, ages, clock, log, facts = {}, interval = AGE_LIMITS.interval } = options;
  let toldAge: Staleness = 'no';
  let toldExpired: number | null = null;
  const tellAge = (): void => {
    const [state, now] = [policies.state(), clock.now()];
    const stale = stalenessOf(state, ages, now);
    if (stale === toldAge) return;
    toldAge = stale;
    const ageSeconds = Math.floor(ageOf(state, now) / 1000);
    const fields = { ...facts, snapshot: state.active.policy.digest, ageSeconds };
    if (stale === 'no') log.info(fields, 'the policy is fresh again');
    else if (stale === 'soft') log.warn(fields, 'the policy is older than `snapshot.softAge`');
    else log.error(fields, 'the policy is older than `snapshot.hardAge`: nothing is decided by it any more');
  };
  const tellExpiry = (): void => {
    const state = policies.state();
    const expired = expiredAt(state, clock.now());
    if (expired === toldExpired) return;
    toldExpired = expired;
    const { policy, statement } = state.active;
    const fields = { ...facts, snapshot: policy.digest, statementGeneration: statement?.generation ?? null };
    if (expired === null) log.info(fields, 'the statement of the policy in force is valid');
    else {
      const when = { ...fields, expired: formatInstant(expired) };
      log.error(when, 'the statement of the policy has expired: nothing is decided until the snapshot is signed again');
    }
  };
  let toldOverdue = false;
  const tellOverdue = (): void => {
    const overdue = isLeaseExpired(policies.state());
    if (overdue === toldOverdue) return;
    toldOverdue = overdue;
    const fields = { ...facts, snapshot: policies.state().active.policy.digest };
    if (overdue) {
      log.error(fields, 'nothing is decided: the store does not say which activation is the newest');
    } else log.info(fields, 'the store says again which activation is the newest');
  };
  return makePoller(interval, () => {
    tellOverdue();
    tellAge();
    tellExpiry();
    return Promise.resolve();
  });
}
