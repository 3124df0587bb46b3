// One question of a live request, answered by two policies: whether the candidate would have decided differently, or
// shown a different set. A different step or different grants do not count, as in a replay of the audit log.
import {
  judgeAs,
  type Decision,
  type Instant,
  lineageOf,
  type NamespacePath,
  type ResolvedActor,
  ROOT,
  type Visibility,
  visibilityAs,
} from '../../engine/index.js';
import { type DecidedQuestion, cite } from '../audit/cite.js';
import type { AccessAsked, CopyAsked } from '../audit/event.js';
import { SHADOW_LIMITS } from '../limits/policy.js';

/** What the candidate allows but the policy in force does not, or the reverse. `both` applies only to visible sets. */
export type AccessChange = 'gained' | 'lost' | 'both';

/** A decision as it is reported, without its grants. */
type Outcome =
  { readonly decision: 'allow' } | Pick<Extract<Decision, { decision: 'deny' }>, 'decision' | 'step' | 'cause'>;

interface Place {
  readonly namespace: NamespacePath;
  readonly extent: 'exact' | 'subtree';
}

/** The first places of a visible set that only one side has, and whether there are more. */
interface Places {
  readonly places: readonly Place[];
  readonly more: boolean;
}

export interface Divergence {
  readonly change: AccessChange;
  readonly live: Outcome;
  readonly shadow: Outcome;
  /** Only for a query. */
  readonly visible?: { readonly gained: Places; readonly lost: Places };
}

/** Null if both answer alike. `candidate` is the same actor under the other policy. */
export function compare(asked: DecidedQuestion, candidate: ResolvedActor, at: Instant): Divergence | null {
  const { access, resolved } = asked;
  if (!('source' in access) && access.reach !== undefined) {
    const { family, context, reach } = access;
    const input = { request: { family, context, reach }, at };
    return compareVisible(asked.visibility ?? visibilityAs(resolved, input), visibilityAs(candidate, input));
  }
  const [before, after] = [isAllowed(resolved, access, at), isAllowed(candidate, access, at)];
  if (before === after) return null;
  const outcome = (actor: ResolvedActor): Outcome => outcomeOf(cite({ access, resolved: actor }, at).decision);
  return { change: after ? 'gained' : 'lost', live: outcome(resolved), shadow: outcome(candidate) };
}

/** Only the verdict, because most questions are answered alike. */
function isAllowed(actor: ResolvedActor, access: AccessAsked | CopyAsked, at: Instant): boolean {
  const holds = (scope: `${CopyAsked['family']}:${'read' | 'write'}`, target: NamespacePath): boolean =>
    judgeAs(actor, { request: { kind: 'access', scope, context: target, target }, at }) === 'allow';
  if ('source' in access) {
    const { family, source, destination, moves } = access;
    if (moves === true && !holds(`${family}:write`, source)) return false;
    return holds(`${family}:read`, source) && holds(`${family}:write`, destination);
  }
  const { creates, scope, context, target } = access;
  const request =
    creates === undefined
      ? ({ kind: 'access', scope, context, target } as const)
      : ({ kind: 'create-namespace', namespace: creates } as const);
  return judgeAs(actor, { request, at }) === 'allow';
}

function outcomeOf(decision: Decision): Outcome {
  if (decision.decision === 'allow') return { decision: 'allow' };
  const { step, cause } = decision;
  return { decision: 'deny', step, ...(cause === undefined ? {} : { cause }) };
}

function compareVisible(live: Visibility, candidate: Visibility): Divergence | null {
  const [before, after] = [rangesOf(live), rangesOf(candidate)];
  if (areSame(before.exact, after.exact) && areSame(before.subtrees, after.subtrees)) return null;
  const visible = { gained: placesBeyond(after, before), lost: placesBeyond(before, after) };
  const [gains, loses] = [visible.gained.places.length > 0, visible.lost.places.length > 0];
  // A set has only one form, so sets with different forms are different.
  const change = gains && loses ? 'both' : gains ? 'gained' : 'lost';
  return { change, live: outcomeOfVisible(live), shadow: outcomeOfVisible(candidate), visible };
}

function outcomeOfVisible(visible: Visibility): Outcome {
  return visible.kind === 'none' ? { decision: 'deny', step: visible.step } : { decision: 'allow' };
}

interface Ranges {
  readonly exact: readonly NamespacePath[];
  readonly subtrees: readonly NamespacePath[];
}

function rangesOf(visible: Visibility): Ranges {
  if (visible.kind === 'none') return { exact: [], subtrees: [] };
  return visible.kind === 'all' ? { exact: [], subtrees: [ROOT] } : visible;
}

function areSame(a: readonly NamespacePath[], b: readonly NamespacePath[]): boolean {
  return a.length === b.length && a.every((path, index) => path === b[index]);
}

/** The places that `own` has and `other` lacks. */
function placesBeyond(own: Ranges, other: Ranges): Places {
  const subtrees = new Set(other.subtrees);
  const exact = new Set(other.exact);
  const isCovered = (path: NamespacePath): boolean => lineageOf(path).some((above) => subtrees.has(above));
  const places: Place[] = [];
  for (const [extent, paths] of [
    ['exact', own.exact],
    ['subtree', own.subtrees],
  ] as const) {
    for (const namespace of paths) {
      if ((extent === 'exact' && exact.has(namespace)) || isCovered(namespace)) continue;
      if (places.length === SHADOW_LIMITS.places) return { places, more: true };
      places.push({ namespace, extent });
    }
  }
  return { places, more: false };
}
