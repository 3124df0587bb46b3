// What the audit log holds about one decision, or about one act on the gateway (docs/audit.md "An event"). Events are
// only made here, from parts that have no room for a secret, a body or a header: actors without their credentials,
// paths, names of the policy, ids and digests. Members are in the order of RFC 8785, so the JSON of an event is its
// canonical form.
import {
  type AccessStep,
  type ActorKind,
  ALL_SCOPES,
  canonicalize,
  carriedNames,
  compareTexts,
  type Decision,
  type Family,
  familyOf,
  formatIdentity,
  formatInstant,
  type GrantRef,
  type Identity,
  type Instant,
  isScopeName,
  type NamespacePath,
  parentOf,
  type Policy,
  type RawActor,
  type Reach,
  type Request,
  ROOT,
  type ScopeName,
  SCOPES,
  scopeSetOf,
  type Step,
  type VisibilityRequest,
} from '../../engine/index.js';
import type { EventCredential } from './event-key.js';
import type { EventPolicy } from './provenance.js';
import type { AdminActor, MonitorActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Listed, RecordsHeld } from './listed.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { maskCredentials } from '../lib/mask.js';

export type EventKind = 'command' | 'query' | 'refusal' | 'authentication' | 'admin';
export type Outcome = 'allowed' | 'denied' | 'failed';

/** What is done with records. */
export const RECORD_ACTS = [
  'query',
  'count',
  'aggregate',
  'read',
  'changes',
  'create',
  'change',
  'archive',
  'restore',
  'copy',
  'version',
  'move',
  'delete',
  'put',
] as const;

/** All other operations and requests. The list is closed, so no text of a request can get in. */
export const OTHER_OPERATIONS = [
  'permissions',
  'decide',
  'explain',
  'who-can',
  'what-can',
  'visible',
  'key.create',
  'key.revoke',
  'snapshot.publish',
  'snapshot.store',
  'snapshot.activate',
  'snapshot.rollback',
  'shadow.begin',
  'shadow.end',
  'dataset.load',
  'authenticate',
  'request',
  'gateway.start',
  'gateway.stop',
  'policy.activate',
  'policy.refuse',
  'audit.cut',
  'audit.release',
  'audit.lost',
  'audit.missing',
] as const;

export type Operation = `${Family}.${(typeof RECORD_ACTS)[number]}` | (typeof OTHER_OPERATIONS)[number];

export interface EventActor {
  readonly credentialScopes: readonly ScopeName[];
  /** Null if there was no credential. */
  readonly fingerprint: string | null;
  readonly id: string;
  readonly identities: readonly string[];
  readonly kind: ActorKind | 'admin' | 'monitor' | 'operator' | 'gateway' | 'anonymous';
  readonly namespaceRestrictions: readonly NamespacePath[] | null;
}

/** The person that a question was about. */
export type EventSubject = Pick<EventActor, 'credentialScopes' | 'identities' | 'namespaceRestrictions'>;

/**
 * `reach` is present if the decision was about a visible set. The creation of a namespace is decided at its parent, the
 * `target`.
 */
export interface AccessAsked {
  readonly context: NamespacePath;
  readonly creates?: NamespacePath;
  /** One of the five, or one that the policy declares. */
  readonly family: string;
  readonly reach?: Reach;
  readonly scope: ScopeName;
  readonly target: NamespacePath;
}

/** A copy or the new version of a template, or with `moves` the move of a record, which takes write at the source as well. */
export interface CopyAsked {
  readonly destination: NamespacePath;
  readonly family: Exclude<Family, 'namespace'>;
  readonly moves?: true;
  readonly source: NamespacePath;
}

export interface Recording {
  readonly queries: 'all' | 'denied' | 'none';
  readonly records: RecordsHeld;
}

export interface LostLog {
  readonly hash: string;
  readonly log: string;
  readonly seq: number;
}

declare const made: unique symbol;

/** Frozen. The log adds `seq`, `log`, `previous` and `hash` when it appends the event. */
export interface AuditEvent {
  readonly access: AccessAsked | CopyAsked | null;
  readonly actor: EventActor;
  /** The client's address, if it brought no valid credential. */
  readonly address?: string;
  readonly cause?: AccessStep;
  /** The key that was made or revoked, without its secret. */
  readonly credential?: EventCredential;
  /** Ids of the grants that allowed it, sorted; at most `AUDIT_LIMITS.grants` of them. */
  readonly grants?: readonly string[];
  /** How many more grants there were. */
  readonly grantsOmitted?: number;
  /** The scopes that the answer listed for `namespace`. */
  readonly held?: readonly ScopeName[];
  /** The event's own id. The event is appended only once, however often that is tried. */
  readonly id: string;
  /** How many records were returned or written. */
  readonly items?: number;
  /** The id of the key that was made or revoked. */
  readonly key?: string;
  readonly kind: EventKind;
  /** Which records an answer showed. */
  readonly listed?: Listed;
  /** Logs that the store knows and that are not where they were, with their last noted heads. */
  readonly lost?: readonly LostLog[];
  readonly namespace?: NamespacePath;
  readonly operation: Operation;
  readonly outcome: Outcome;
  /** Where the policy of `snapshot` came from, and who stands behind it. */
  readonly policy?: EventPolicy;
  /** What this gateway records of queries from now on. */
  readonly recording?: Recording;
  readonly records?: readonly string[];
  readonly requestId: string;
  /** The digest of the snapshot that decided; null if none did. */
  readonly snapshot: string | null;
  /** The status of the HTTP answer; null if there was none. */
  readonly status: number | null;
  readonly step?: Step;
  /** The person that the question was about; absent if the actor acted for itself. */
  readonly subject?: EventSubject;
  /** The instant of the decision. */
  readonly time: string;
  readonly visibility?: string;
  /** The digest of the vocabulary that translated the request. */
  readonly vocabulary?: string;
  readonly [made]: true;
}

export interface EventParts {
  readonly id: string;
  readonly at: Instant;
  readonly kind: EventKind;
  readonly requestId: string;
  readonly actor: EventActor;
  readonly operation: Operation;
  readonly outcome: Outcome;
  /** Optional, like everything below. */
  readonly access?: AccessAsked | CopyAsked;
  readonly subject?: EventSubject;
  readonly status?: number;
  /** The engine's decision. */
  readonly decision?: Decision;
  /** Its grants as an event names them, if that was found out before. */
  readonly cited?: CitedGrants;
  /** Digests of the snapshot and of the visible set. */
  readonly snapshot?: string;
  readonly visibility?: string;
  readonly vocabulary?: string;
  readonly records?: readonly string[];
  readonly items?: number;
  readonly recording?: Recording;
  readonly key?: string;
  readonly address?: string;
  readonly lost?: readonly LostLog[];
  readonly credential?: EventCredential;
  readonly policy?: EventPolicy;
  readonly held?: { readonly namespace: NamespacePath; readonly scopes: readonly ScopeName[] };
}

export function makeEvent(parts: EventParts): AuditEvent {
  const { decision, records } = parts;
  const event: Omit<AuditEvent, typeof made> = {
    access: accessInOrder(parts.access ?? null),
    actor: actorInOrder(parts.actor),
    ...(parts.address === undefined ? {} : { address: checked(parts.address, ADDRESS) }),
    ...(decision?.decision === 'deny' && decision.cause !== undefined ? { cause: decision.cause } : {}),
    ...(parts.credential === undefined ? {} : { credential: parts.credential }),
    ...(decision?.decision === 'allow' ? (parts.cited ?? citedGrants(decision.grants)) : {}),
    ...(parts.held === undefined ? {} : { held: parts.held.scopes }),
    id: checked(parts.id, ID),
    ...(parts.items === undefined ? {} : { items: parts.items }),
    ...(parts.key === undefined ? {} : { key: checked(parts.key, ID) }),
    kind: parts.kind,
    ...(parts.lost === undefined ? {} : { lost: parts.lost.map(({ hash, log, seq }) => ({ hash, log, seq })) }),
    ...(parts.held === undefined ? {} : { namespace: parts.held.namespace }),
    operation: parts.operation,
    outcome: parts.outcome,
    ...(parts.policy === undefined ? {} : { policy: parts.policy }),
    ...(parts.recording === undefined
      ? {}
      : { recording: { queries: parts.recording.queries, records: parts.recording.records } }),
    ...(records === undefined ? {} : { records: records.map((record) => checked(record, RECORD).toLowerCase()) }),
    requestId: checked(parts.requestId, ID),
    snapshot: parts.snapshot === undefined ? null : checked(parts.snapshot, DIGEST),
    status: parts.status ?? null,
    ...(decision?.decision === 'deny' ? { step: decision.step } : {}),
    ...(parts.subject === undefined ? {} : { subject: subjectInOrder(parts.subject) }),
    time: formatInstant(parts.at),
    ...(parts.visibility === undefined ? {} : { visibility: checked(parts.visibility, DIGEST) }),
    ...(parts.vocabulary === undefined ? {} : { vocabulary: checked(parts.vocabulary, DIGEST) }),
  };
  return Object.freeze(event) as AuditEvent;
}

function accessInOrder(access: AuditEvent['access']): AuditEvent['access'] {
  if (access === null) return null;
  if ('source' in access) {
    const { destination, family, moves, source } = access;
    return { destination, family, ...(moves === undefined ? {} : { moves }), source };
  }
  const { context, creates, family, reach, scope, target } = access;
  return {
    context,
    ...(creates === undefined ? {} : { creates }),
    family,
    ...(reach === undefined ? {} : { reach }),
    scope,
    target,
  };
}

function actorInOrder(actor: EventActor): EventActor {
  const { credentialScopes, fingerprint, id, identities, kind, namespaceRestrictions } = actor;
  return { credentialScopes, fingerprint, id: maskCredentials(id), identities, kind, namespaceRestrictions };
}

function subjectInOrder({ credentialScopes, identities, namespaceRestrictions }: EventSubject): EventSubject {
  return { credentialScopes, identities, namespaceRestrictions };
}

/** At most 32 characters, which is shorter than any secret of ours. */
const ID = /^[A-Za-z0-9_-]{1,32}$/;
const RECORD = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ADDRESS = /^[0-9A-Fa-f:.]{2,45}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/**
 * Text of any other form means a bug of ours and could be anything. So it is not recorded, and no message repeats it.
 */
function checked(text: string, form: RegExp): string {
  if (!form.test(text)) throw new TypeError('an audit event takes no text of this form');
  return text;
}

export type CitedGrants = Pick<AuditEvent, 'grants' | 'grantsOmitted'>;

/** `more` were left out before. */
export function citedGrants(grants: readonly GrantRef[], more = 0): CitedGrants {
  const ids = [...new Set(grants.map(({ id }) => id))].sort(compareTexts);
  const omitted = more + Math.max(0, ids.length - AUDIT_LIMITS.grants);
  if (omitted === 0) return { grants: ids };
  return { grants: ids.slice(0, AUDIT_LIMITS.grants), grantsOmitted: omitted };
}

/** `policy` is what it asked; without one, a credential that is not narrowed carries the scopes of records. */
export function eventActor(actor: RequestActor, policy: ScopeNames = RECORDS): EventActor {
  return {
    credentialScopes: carriedNames(actor.credentialScopes, policy),
    fingerprint: actor.credentialFingerprint,
    id: actor.id,
    identities: textsOf(actor.identities),
    kind: actor.kind,
    namespaceRestrictions: actor.namespaceRestrictions,
  };
}

/**
 * Somebody may ask about a key as if it were a name. Namespaces cannot hold one: they have no capital letters, and a
 * credential without any does not occur.
 */
function textsOf(identities: readonly Identity[]): readonly string[] {
  return identities.map((identity) => maskCredentials(formatIdentity(identity))).sort(compareTexts);
}

/** A restriction that is no path is left out: with it, everything is denied at the first step. */
export function eventSubject(subject: RawActor, policy: ScopeNames): EventSubject {
  if (subject.kind === 'local') throw new TypeError('the local actor cannot be the subject of a question');
  const { identities, credentialScopes, namespaceRestrictions } = subject;
  return {
    credentialScopes: carriedNames(
      credentialScopes === null ? ALL_SCOPES : scopeSetOf(credentialScopes.filter(isScopeName)),
      policy,
    ),
    identities: textsOf(identities),
    namespaceRestrictions:
      namespaceRestrictions?.flatMap((restriction) => {
        const read = canonicalize(restriction);
        return read.ok ? [read.path] : [];
      }) ?? null,
  };
}

/** No policy decides about an admin, or about monitoring. */
export function eventAdmin({ kind, id, credentialFingerprint }: AdminActor | MonitorActor): EventActor {
  return { ...nobody(), fingerprint: credentialFingerprint, id, kind };
}

/** Somebody who ran a command on the machine that holds the data. `user` is the name of the system account. */
export function eventOperator(user: string): EventActor {
  return { ...nobody(), id: user, kind: 'operator' };
}

/** The actor of what the gateway does on its own. */
export const GATEWAY: EventActor = Object.freeze({ ...nobody(), id: 'gateway', kind: 'gateway' });
/** A caller who was not authenticated. */
export const ANONYMOUS: EventActor = Object.freeze({ ...nobody(), id: 'anonymous', kind: 'anonymous' });

function nobody(): Pick<EventActor, 'credentialScopes' | 'fingerprint' | 'identities' | 'namespaceRestrictions'> {
  return { credentialScopes: [], fingerprint: null, identities: [], namespaceRestrictions: [] };
}

/** The question to the engine, in the form that the log uses. */
export function askedOf(request: Request): AccessAsked | CopyAsked {
  switch (request.kind) {
    case 'access': {
      const { scope, context, target } = request;
      return { context, family: familyOf(scope), scope, target };
    }
    case 'create-namespace': {
      const parent = parentOf(request.namespace) ?? ROOT;
      return {
        context: parent,
        creates: request.namespace,
        family: 'namespace',
        scope: 'namespace:write',
        target: parent,
      };
    }
    case 'copy':
      return { destination: request.destination, family: 'resource', source: request.source };
  }
}

/** Like `askedOf`, for a query. */
export function queryAsked({ family, action = 'read', context, reach }: VisibilityRequest): AccessAsked {
  const scope = `${family}:${action}`;
  if (!isScopeName(scope)) throw new TypeError('a query of something that is not a family');
  return { context, family, reach, scope, target: context };
}

type ScopeNames = Pick<Policy, 'scopes'>;

const RECORDS: ScopeNames = { scopes: SCOPES.toSorted(compareTexts) };
