// How old a policy may become without news from its source. After the soft age the log warns; after the hard age
// nothing is decided any more. The expiry of a statement is separate from this, and absolute (docs/serving.md "Age").
import { formatInstant, type Instant } from '../../engine/index.js';
import type { PolicyState } from './active-policy.js';

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
 * Whether the store has taken too long to say which activation is the newest, so that another one may have replaced
 * this one.
 */
export function isOverdue({ newsDue }: PolicyState): boolean {
  return newsDue !== null && performance.now() > newsDue;
}

/**
 * Milliseconds since the policy was last confirmed, by whichever clock has advanced further: one can be set, the other
 * stops during sleep.
 */
export function ageOf({ confirmedAt, confirmedTick }: PolicyState, now: Instant): number {
  return Math.max(0, now - confirmedAt, performance.now() - confirmedTick);
}
