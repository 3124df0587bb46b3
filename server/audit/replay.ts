// Repeats recorded decisions (docs/audit.md "Replaying"): each on the snapshot that made it, where it must come out the same to the
// byte, and on another policy, to see what that would change. Reads only the log and the snapshots beside it.
import {
  type Actor,
  type ActorKind,
  canonicalize,
  type Decision,
  type Identity,
  parseIdentity,
  parseInstant,
  type Policy,
  type ResolvedActor,
  resolveActor,
  SCOPES,
  scopeSetOf,
  unrestrictedPolicy,
} from '../../engine/index.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { makeRecent, type Recent } from '../recent.js';
import { cite } from './cite.js';
import { type AccessAsked, citedGrants, type CopyAsked, type EventActor } from './event.js';
import type { StoredEvent } from './event-schema.js';
import { readSnapshot } from './snapshots.js';

/** What an event says about a decision. */
export interface Decided {
  readonly decision: 'allow' | 'deny';
  readonly step?: string;
  readonly cause?: string;
  readonly grants?: readonly string[];
  readonly grantsOmitted?: number;
  readonly visibility?: string;
}

/**
 * Why nothing was made again. `authentication`: by a credential, which no log holds. `undecided`: no policy was asked. The others:
 * there was a decision, and its snapshot is not there, or is not intact, or the event is none that a gateway writes.
 */
export type NotReplayed = 'authentication' | 'undecided' | 'snapshot_missing' | 'snapshot_damaged' | 'malformed';

export interface Replayed {
  /** Null if nothing was decided by a policy. */
  readonly recorded: Decided | null;
  /** On its own snapshot. */
  readonly own: Decided | null;
  /** On the other policy, where there is one. */
  readonly against?: Decided | null;
  readonly reason?: NotReplayed;
}

/** Whether the decision was made again as it was recorded. */
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

/** Whether the other policy decides otherwise, or shows another set; at another step or by other grants is no flip. */
export function isFlip({ recorded, against }: Replayed): boolean {
  if (recorded === null || against === null || against === undefined) return false;
  return recorded.decision !== against.decision || recorded.visibility !== against.visibility;
}

export type Replay = (event: StoredEvent) => Promise<Replayed>;

/** Rejects where a snapshot that is there cannot be read. */
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

/** A policy, and the actors that it was asked for; null is one that no policy can be asked for. */
interface Ground {
  readonly policy: Policy;
  readonly actors: Recent<ResolvedActor | null>;
}

function groundOf(policy: Policy): Ground {
  return { policy, actors: makeRecent(Infinity, AUDIT_LIMITS.replayedActors) };
}

/** The last few that were asked for: a log goes from one to the next. */
function makeGrounds(folder: string): (event: StoredEvent) => Promise<Ground | NotReplayed> {
  const known = makeRecent<Ground | NotReplayed>(Infinity, AUDIT_LIMITS.replayedSnapshots);
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

/** Every text of the event is read again, since the file may hold anything; null if one of them is none that a gateway writes. */
function decideAgain(ground: Ground, { access, actor, time }: StoredEvent): Decided | null {
  const at = parseInstant(time);
  const resolved = resolvedIn(ground, actor);
  if (access === null || at === null || resolved === null || !pathsOf(access).every(isCanonical)) return null;
  const { decision, visibility } = cite({ access, resolved }, at);
  return decidedOf(decision, visibility);
}

function resolvedIn({ policy, actors }: Ground, actor: EventActor): ResolvedActor | null {
  const name = nameOf(actor);
  const known = actors.get(name);
  if (known !== undefined) return known;
  const read = actorOf(actor);
  const resolved = read === null ? null : resolveActor(policy, read);
  actors.put(name, resolved, 0);
  return resolved;
}

/** All that a policy goes by, one part a line: texts that have line ends are no identities and no paths. */
function nameOf({ kind, identities, credentialScopes, namespaceRestrictions }: EventActor): string {
  const scopes = credentialScopes.length === SCOPES.length ? '*' : credentialScopes.join();
  const counts = `${String(identities.length)} ${String(namespaceRestrictions?.length ?? '*')}`;
  return [`${kind} ${scopes} ${counts}`, ...identities, ...(namespaceRestrictions ?? [])].join('\n');
}

/** Null for one that no gateway has known. */
function actorOf({ kind, identities, credentialScopes, namespaceRestrictions }: EventActor): Actor | null {
  const known = identities.flatMap((text): readonly Identity[] => {
    const read = parseIdentity(text);
    return read.ok ? [read.identity] : [];
  });
  const isWhole = known.length === identities.length && (namespaceRestrictions ?? []).every(isCanonical);
  if (!isWhole || !isActorKind(kind)) return null;
  return { kind, identities: known, credentialScopes: scopeSetOf(credentialScopes), namespaceRestrictions };
}

const KINDS: ReadonlySet<string> = new Set<ActorKind>(['local', 'key', 'token', 'certificate']);

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

function decidedOf(decision: Decision, visibility: string | undefined): Decided {
  const digest = visibility === undefined ? {} : { visibility };
  if (decision.decision === 'allow') return { decision: 'allow', ...citedGrants(decision.grants), ...digest };
  const { step, cause } = decision;
  return { decision: 'deny', step, ...(cause === undefined ? {} : { cause }), ...digest };
}

function recordedOf({ access, step, cause, grants, grantsOmitted, visibility }: StoredEvent): Decided | null {
  if (access === null) return null;
  return {
    decision: step === undefined ? 'allow' : 'deny',
    ...(step === undefined ? {} : { step }),
    ...(cause === undefined ? {} : { cause }),
    ...(grants === undefined ? {} : { grants }),
    ...(grantsOmitted === undefined ? {} : { grantsOmitted }),
    ...(visibility === undefined ? {} : { visibility }),
  };
}
