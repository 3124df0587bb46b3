// What an event records about the outcome of a request: the digest of what was visible, and the grants that made it
// visible. Recording and replay both use this file, so they agree to the byte.
import {
  type Access,
  citeAs,
  type CiteInput,
  type CreateNamespace,
  decideAs,
  type Decision,
  type Family,
  type Instant,
  judgeAs,
  type NamespacePath,
  type Policy,
  type RawActor,
  type RawRequest,
  type Request,
  type ResolvedActor,
  ROOT,
  type ScopeName,
  type Visibility,
  visibilityAs,
  visibilityDigest,
} from '../../engine/index.js';
import { canonicalRequest } from '../asking/about-others.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import {
  type AccessAsked,
  askedOf,
  citedGrants,
  type CitedGrants,
  type CopyAsked,
  eventSubject,
  type EventSubject,
  type Operation,
} from './event.js';
import type { ShownIds } from './listed.js';

/** What a request asks the policy, noted before anything is done about it. */
export interface Judged {
  readonly operation: Operation;
  /** The id of the requested record. */
  readonly record?: string;
  /** Null if there was nothing to decide about. */
  readonly asked: DecidedQuestion | null;
}

/** The rights in a namespace that the answer to an actor listed. */
export interface ReportedHoldings {
  readonly resolved: ResolvedActor;
  readonly namespace: NamespacePath;
  readonly scopes: readonly ScopeName[];
}

/** What an answer revealed about others, or the feed about records. */
export interface ReportedAnswer {
  readonly operation: Extract<
    Operation,
    'decide' | 'explain' | 'who-can' | 'what-can' | 'visible' | `${Family}.changes`
  >;
  readonly subject?: EventSubject;
  readonly access?: AccessAsked | CopyAsked;
  readonly decision?: Decision;
  readonly cited?: CitedGrants;
  readonly items?: number;
  /** The records that the answer was about. */
  readonly shown?: ShownIds;
  /** Ids of records that the question was about. */
  readonly records?: readonly string[];
  readonly visibility?: string;
  /** The digest of the vocabulary that translated the request. */
  readonly vocabulary?: string;
}

/** One decision in an answer about others. Nothing was decided if a part of the question is not a path or a scope. */
export function toldDecision(
  operation: ReportedAnswer['operation'],
  { subject, request, policy }: { readonly subject: RawActor; readonly request: RawRequest; readonly policy: Policy },
  decision: Decision,
): ReportedAnswer {
  // A restriction of the subject that is no path also ends at the first step, and the event does not have its text.
  const isRead = decision.decision === 'allow' || decision.step !== 'canonicalize';
  const asked = isRead ? canonicalRequest(request, policy) : null;
  return {
    operation,
    subject: eventSubject(subject, policy),
    decision,
    // Here, because it takes time if there are many, and an answer has up to a thousand decisions.
    ...(decision.decision === 'allow' ? { cited: citedGrants(decision.grants) } : {}),
    ...(asked === null ? {} : { access: askedOf(asked) }),
  };
}

export interface DecidedQuestion {
  readonly access: AccessAsked | CopyAsked;
  readonly resolved: ResolvedActor;
  /** The visible set of a query, if it was computed already. */
  readonly visibility?: Visibility;
  /** The policy that decided, if it is not the pinned one. */
  readonly snapshot?: string;
}

export interface Cited {
  /** With the first `AUDIT_LIMITS.grants` grants. */
  readonly decision: Decision;
  /** These as an event names them; absent for a denial. */
  readonly cited?: CitedGrants;
  /** Digest of the visible set; none if nothing is visible. */
  readonly visibility?: string;
}

/** `digest` is the digest of the visible set, if it is already known. */
export function cite({ access, resolved, visibility }: DecidedQuestion, at: Instant, digest?: string): Cited {
  if ('source' in access) return citeCopy(resolved, access, at);
  const { reach } = access;
  if (reach !== undefined) {
    const { family, context } = access;
    const action = access.scope.slice(family.length + 1);
    const visible = visibility ?? visibilityAs(resolved, { request: { family, action, context, reach }, at });
    return citeVisibility(resolved, { scope: access.scope, visible, at, digest });
  }
  const request = requestOf(access);
  return denialOf(resolved, request, at) ?? allowed(resolved, [request], at);
}

/** All that the answer of an actor lists. */
export function citeHeld({ resolved, namespace, scopes }: ReportedHoldings, at: Instant): Cited {
  return allowed(
    resolved,
    scopes.map((scope) => accessTo(scope, namespace)),
    at,
  );
}

/** The question, unless it was about a visible set. */
export function requestOf(access: AccessAsked): Access | CreateNamespace;
export function requestOf(access: AccessAsked | CopyAsked): Request;
export function requestOf(access: AccessAsked | CopyAsked): Request {
  if ('source' in access) return { kind: 'copy', source: access.source, destination: access.destination };
  const { creates, scope, context, target } = access;
  return creates === undefined
    ? { kind: 'access', scope, context, target }
    : { kind: 'create-namespace', namespace: creates };
}

interface Seen {
  readonly scope: ScopeName;
  readonly visible: Visibility;
  readonly at: Instant;
  readonly digest: string | undefined;
}

/**
 * The grants of each part of the visible set. If it has more than `AUDIT_LIMITS.citedParts` parts, only the first ones
 * count.
 */
function citeVisibility(actor: ResolvedActor, { scope, visible, at, digest }: Seen): Cited {
  if (visible.kind === 'none') return { decision: { decision: 'deny', step: visible.step } };
  const parts = visible.kind === 'all' ? [ROOT] : [...visible.exact, ...visible.subtrees];
  const accesses = parts.slice(0, AUDIT_LIMITS.citedParts).map((target) => accessTo(scope, target));
  return { ...allowed(actor, accesses, at), visibility: digest ?? visibilityDigest(visible) };
}

/** Read at the source first, for a move then write there, and at last write at the destination. */
function citeCopy(actor: ResolvedActor, { source, destination, family, moves }: CopyAsked, at: Instant): Cited {
  const [read, write] = [accessTo(`${family}:read`, source), accessTo(`${family}:write`, destination)];
  const leave = moves === true ? [accessTo(`${family}:write`, source)] : [];
  const unread = denialOf(actor, read, at);
  // `exclusive` speaks of the actor and not of a side.
  if (unread !== null) return unread.decision.step === 'exclusive' ? unread : deniedBy('source_read', unread);
  for (const one of leave) {
    const unleft = denialOf(actor, one, at);
    if (unleft !== null) return unleft;
  }
  const unwritten = denialOf(actor, write, at);
  if (unwritten !== null) return deniedBy('destination_write', unwritten);
  return allowed(actor, [read, ...leave, write], at);
}

interface Denied {
  readonly decision: Extract<Decision, { readonly decision: 'deny' }>;
}

/** Null if it is allowed. */
function denialOf(actor: ResolvedActor, request: Request, at: Instant): Denied | null {
  // The verdict first, because a decision has a reference for each of its grants.
  const decision = judgeAs(actor, { request, at }) === 'allow' ? null : decideAs(actor, { request, at });
  return decision?.decision === 'deny' ? { decision } : null;
}

function allowed(actor: ResolvedActor, accesses: CiteInput['accesses'], at: Instant): Cited {
  const { grants, omitted } = citeAs(actor, {
    accesses,
    at,
    most: AUDIT_LIMITS.grants,
    steps: AUDIT_LIMITS.citedSteps,
  });
  return { decision: { decision: 'allow', grants }, cited: citedGrants(grants, omitted) };
}

function accessTo(scope: ScopeName, target: NamespacePath): Access {
  return { kind: 'access', scope, context: target, target };
}

/** A side of a copy fails at the step of an access, which is never one of a copy. */
function deniedBy(step: 'source_read' | 'destination_write', { decision: { step: cause } }: Denied): Denied {
  if (cause === 'source_read' || cause === 'destination_write') throw new TypeError('an access that failed as a copy');
  return { decision: { decision: 'deny', step, cause } };
}
