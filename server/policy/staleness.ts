// How old a policy may become without news from where it comes: then the log warns, and later nothing is decided any more. A
// statement's own end is apart from that, and absolute (docs/serving.md "Age").
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

/** Whether the store has not said for too long which activation is the newest, so that another may have taken the place of this one. */
export function isOverdue({ newsDue }: PolicyState): boolean {
  return newsDue !== null && performance.now() > newsDue;
}

/** Milliseconds since the policy was found in its place, by the clock that has gone further: one is set, the other sleeps. */
export function ageOf({ confirmedAt, confirmedTick }: PolicyState, now: Instant): number {
  return Math.max(0, now - confirmedAt, performance.now() - confirmedTick);
}
