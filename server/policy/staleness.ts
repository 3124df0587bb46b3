// How old a policy may become without news from its source. After the soft age the log warns; after the hard age
// nothing is decided any more. The expiry of a statement is separate from this, and absolute (docs/serving.md "Age").
import type { Instant } from '../../engine/index.js';
import type { PolicyState } from './active-policy.js';

/** Milliseconds; null means no limit. */
export interface AgeLimits {
  readonly softAge: number | null;
  readonly hardAge: number | null;
}

export type Staleness = 'no' | 'soft' | 'hard';

export const NO_AGE_LIMITS: AgeLimits = Object.freeze({ softAge: null, hardAge: null });

export function stalenessOf(state: PolicyState, { softAge, hardAge }: AgeLimits, now: Instant): Staleness {
  const { statement } = state.active;
  if (statement !== null && statement.expires <= now) return 'hard';
  const age = ageOf(state, now);
  if (hardAge !== null && age >= hardAge) return 'hard';
  return softAge !== null && age >= softAge ? 'soft' : 'no';
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
