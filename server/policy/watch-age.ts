// Says in the log when the policy in force has become too old, or its statement has expired, and when that is over. This
// has a timer of its own, so that nothing that hangs delays it.
import { formatInstant } from '../../engine/index.js';
import { AGE_LIMITS } from '../limits/policy.js';
import type { Clock, Logger } from '../ports.js';
import { type Watch, watchEvery } from '../watch.js';
import type { ActivePolicy } from './active-policy.js';
import { ageOf, type AgeLimits, expiredAt, isOverdue, type Staleness, stalenessOf } from './staleness.js';

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

export function watchAge(options: WatchAgeOptions): Watch {
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
    const overdue = isOverdue(policies.state());
    if (overdue === toldOverdue) return;
    toldOverdue = overdue;
    const fields = { ...facts, snapshot: policies.state().active.policy.digest };
    if (overdue) {
      log.error(fields, 'nothing is decided: the store does not say which activation is the newest');
    } else log.info(fields, 'the store says again which activation is the newest');
  };
  return watchEvery(interval, () => {
    tellOverdue();
    tellAge();
    tellExpiry();
    return Promise.resolve();
  });
}
