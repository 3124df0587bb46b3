// What an event says of a query: not only that something was visible, but what, as a digest, and by which grants. Replaying a decision
// goes by the same function, so the two agree to the byte.
import {
  decideAs,
  type Decision,
  type GrantRef,
  type Instant,
  type ResolvedActor,
  ROOT,
  type Visibility,
  visibilityDigest,
  type VisibilityRequest,
} from '../../engine/index.js';
import { AUDIT_LIMITS } from '../limits.js';

export interface CitedVisibility {
  readonly decision: Decision;
  /** Digest of the visible set; none where nothing is visible. */
  readonly visibility?: string;
}

interface Cited {
  readonly visibility: Visibility;
  readonly at: Instant;
  /** Where it is known. */
  readonly digest?: string | undefined;
}

/** The grants of each part of the visible set, of its first `AUDIT_LIMITS.citedParts` where it has more. */
export function citeVisibility(
  actor: ResolvedActor,
  { family }: VisibilityRequest,
  { visibility, at, digest }: Cited,
): CitedVisibility {
  if (visibility.kind === 'none') return { decision: { decision: 'deny', step: visibility.step } };
  const parts = visibility.kind === 'all' ? [ROOT] : [...visibility.exact, ...visibility.subtrees];
  const grants: GrantRef[] = [];
  for (const target of parts.slice(0, AUDIT_LIMITS.citedParts)) {
    const request = { kind: 'access', scope: `${family}:read`, context: target, target } as const;
    const decision = decideAs(actor, { request, at });
    if (decision.decision === 'allow') grants.push(...decision.grants);
  }
  return { decision: { decision: 'allow', grants }, visibility: digest ?? visibilityDigest(visibility) };
}
