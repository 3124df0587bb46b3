// Repeats recorded decisions (docs/audit.md "Replaying"). Each is made again on its own snapshot, where it must come
// out the same to the byte, and on another policy, to see what that policy would change. Reads only the log and the
// snapshots beside it.
import {
  type Actor,
  type ActorKind,
  canonicalize,
  decideAs,
  type Decision,
  type Identity,
  parseIdentity,
  parseInstant,
  type Policy,
  resolveActor,
  type ResolvedActor,
  scopeSetOf,
  unrestrictedPolicy,
} from '../../engine/index.js';
import { boundsOf, decideWithin, mayAskOf } from '../asking/about-others.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { makeLruCache, type LruCache } from '../lib/lru-cache.js';
import { cite, type Cited, requestOf } from './cite.js';
import { type AccessAsked, citedGrants, type CopyAsked, type EventActor } from './event.js';
import type { StoredEvent } from './event-schema.js';
import { readSnapshot } from './snapshots.js';

/** What an event says about a decision. */
export interface LoggedDecision {
  readonly decision: 'allow' | 'deny';
  readonly step?: string;
  readonly cause?: string;
  readonly grants?: readonly string[];
  readonly grantsOmitted?: number;
  readonly visibility?: string;
}

/**
 * Why a decision was not made again. `authentication`: it depended on a credential, which no log holds. `undecided`: no
 * policy was asked. The others: there was a decision, but its snapshot is missing or damaged, or no gateway writes such
 * an event.
 */
export type NotReplayed = 'authentication' | 'undecided' | 'snapshot_missing' | 'snapshot_damaged' | 'malformed';

export interface Replayed {
  /** Null if no policy decided anything. */
  readonly recorded: LoggedDecision | null;
  /** The decision on the event's own snapshot. */
  readonly own: LoggedDecision | null;
  /** The decision on the other policy, if there is one. */
  readonly against?: LoggedDecision | null;
  readonly reason?: NotReplayed;
}

/** Whether the repeated decision equals the recorded one. */
export function isReproduced({ recorded, own }: Replayed): boolean {
  if (recorded === null || own === null) return false;
  return (
    recorded.decision === own.decision &&
    recorded.step === own.step &&
    recorded.cause === own.cause &&
    recorded.visibility === own.visibility &&
    recorded.grantsOmitted === own.grantsOmitted &&
    areSame(recorded.grants, own.grants)
  );
}

function areSame(left: readonly string[] | undefined, right: readonly string[] | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

/**
 * Whether the other policy decides differently, or shows a different set. A different step or different grants do not
 * count.
 */
export function isFlip({ recorded, against }: Replayed): boolean {
  if (recorded === null || against === null || against === undefined) return false;
  return recorded.decision !== against.decision || recorded.visibility !== against.visibility;
}

export type Replay = (event: StoredEvent) => Promise<Replayed>;

/** Rejects if an existing snapshot cannot be read. */
export function makeReplay(folder: string, against: Policy | null): Replay {
  const groundOfEvent = makeGrounds(folder);
  const other = against === null ? null : groundOf(against);
  return async (event) => {
    const recorded = recordedOf(event);
    if (recorded === null) {
      const reason = event.kind === 'authentication' ? 'authentication' : 'undecided';
      return { recorded, own: null, ...(other === null ? {} : { against: null }), reason };
    }
    const again = other === null ? {} : { against: decideAgain(other, event) };
    const ground = await groundOfEvent(event);
    if (typeof ground === 'string') return { recorded, own: null, ...again, reason: ground };
    const own = decideAgain(ground, event);
    return { recorded, own, ...again, ...(own === null ? { reason: 'malformed' } : {}) };
  };
}

/** A policy, and the actors that were resolved by it. Null means an actor that no policy can resolve. */
interface Ground {
  readonly policy: Policy;
  readonly actors: LruCache<ResolvedActor | null>;
}

function groundOf(policy: Policy): Ground {
  return { policy, actors: makeLruCache(AUDIT_LIMITS.replayedCharacters, AUDIT_LIMITS.replayedActors) };
}

/** Keeps only the last few snapshots, because a log goes from one to the next. */
function makeGrounds(folder: string): (event: StoredEvent) => Promise<Ground | NotReplayed> {
  const known = makeLruCache<Ground | NotReplayed>(Infinity, AUDIT_LIMITS.replayedSnapshots);
  const local = groundOf(unrestrictedPolicy());
  return async ({ actor, snapshot }) => {
    if (snapshot === null) return 'malformed';
    const isLocal = snapshot === local.policy.digest;
    if (isLocal !== (actor.kind === 'local')) return 'malformed';
    if (isLocal) return local;
    const there = known.get(snapshot);
    if (there !== undefined) return there;
    const read = await readSnapshot(folder, snapshot);
    const ground = read.kind === 'read' ? groundOf(read.policy) : (`snapshot_${read.kind}` as const);
    known.put(snapshot, ground, 0);
    return ground;
  };
}

/**
 * Parses every text of the event again, because the file may hold anything. Null if a gateway would never write one of
 * them.
 */
function decideAgain(ground: Ground, { access, actor, subject, time }: StoredEvent): LoggedDecision | null {
  const at = parseInstant(time);
  const resolved = resolvedIn(ground, { ...actor, ...subject });
  if (access === null || at === null || resolved === null || !pathsOf(access).every(isCanonical)) return null;
  if (subject !== undefined) {
    const asker = actorOf(actor);
    if (asker === null) return null;
    if ('reach' in access) {
      if (!mayAskOf(asker, access.scope)) return { decision: 'deny', step: 'credential_scope' };
      return decidedOf(cite({ access, resolved }, at));
    }
    const request = requestOf(access);
    const decide = (): Decision => decideAs(resolved, { request, at });
    return decidedOf({ decision: decideWithin(boundsOf(asker, ground.policy), { request, at }, decide) });
  }
  return decidedOf(cite({ access, resolved }, at));
}

/** Of whom an event asks the policy: the actor, or whoever the actor asked about. Null for one that no gateway can have known. */
export function makeResolver(policy: Policy): (event: StoredEvent) => ResolvedActor | null {
  const ground = groundOf(policy);
  return ({ actor, subject }) => resolvedIn(ground, { ...actor, ...subject });
}

function resolvedIn({ policy, actors }: Ground, actor: EventActor): ResolvedActor | null {
  const name = nameOf(actor);
  const known = actors.get(name);
  if (known !== undefined) return known;
  const read = actorOf(actor);
  const resolved = read === null ? null : resolveActor(policy, read);
  actors.put(name, resolved, name.length);
  return resolved;
}

/**
 * Everything about an actor that a policy looks at, one part per line. Identities and paths never contain line ends.
 */
function nameOf({ kind, identities, credentialScopes, namespaceRestrictions }: EventActor): string {
  const scopes = credentialScopes.join();
  const counts = `${String(identities.length)} ${String(namespaceRestrictions?.length ?? '*')}`;
  return [`${kind} ${scopes} ${counts}`, ...identities, ...(namespaceRestrictions ?? [])].join('\n');
}

/** Null for an actor that no gateway can have known. */
function actorOf({ kind, identities, credentialScopes, namespaceRestrictions }: EventActor): Actor | null {
  const known = identities.flatMap((text): readonly Identity[] => {
    const read = parseIdentity(text);
    return read.ok ? [read.identity] : [];
  });
  const isWhole = known.length === identities.length && (namespaceRestrictions ?? []).every(isCanonical);
  if (!isWhole || !isActorKind(kind)) return null;
  return { kind, identities: known, credentialScopes: scopeSetOf(credentialScopes), namespaceRestrictions };
}

const KINDS: ReadonlySet<string> = new Set<ActorKind>(['local', 'key', 'token', 'certificate', 'anonymous']);

function isActorKind(kind: string): kind is ActorKind {
  return KINDS.has(kind);
}

function pathsOf(access: AccessAsked | CopyAsked): readonly string[] {
  if ('source' in access) return [access.source, access.destination];
  const { context, target, creates } = access;
  return creates === undefined ? [context, target] : [context, target, creates];
}

function isCanonical(text: string): boolean {
  const read = canonicalize(text);
  return read.ok && read.path === text;
}

function decidedOf({ decision, cited, visibility }: Cited): LoggedDecision {
  const digest = visibility === undefined ? {} : { visibility };
  if (decision.decision === 'allow')
    return { decision: 'allow', ...(cited ?? citedGrants(decision.grants)), ...digest };
  const { step, cause } = decision;
  return { decision: 'deny', step, ...(cause === undefined ? {} : { cause }), ...digest };
}

function recordedOf({
  access,
  operation,
  step,
  cause,
  grants,
  grantsOmitted,
  visibility,
}: StoredEvent): LoggedDecision | null {
  // Who may is a list, which no event holds.
  if (access === null || operation === 'who-can') return null;
  return {
    decision: step === undefined ? 'allow' : 'deny',
    ...(step === undefined ? {} : { step }),
    ...(cause === undefined ? {} : { cause }),
    ...(grants === undefined ? {} : { grants }),
    ...(grantsOmitted === undefined ? {} : { grantsOmitted }),
    ...(visibility === undefined ? {} : { visibility }),
  };
}
