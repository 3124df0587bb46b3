// What the audit log holds about one decision, or about one act on the gateway (docs/audit.md "An event"). Events are
// only made here, from parts that have no room for a secret, a body or a header: actors without their credentials,
// paths, names of the policy, ids and digests. Members are in the order of RFC 8785, so the JSON of an event is its
// canonical form.
import {
  type AccessStep,
  type ActorKind,
  compareTexts,
  type Decision,
  type Family,
  formatIdentity,
  formatInstant,
  type GrantRef,
  type Instant,
  isFamily,
  type NamespacePath,
  parentOf,
  type Reach,
  type Request,
  ROOT,
  type ScopeName,
  scopeNames,
  type Step,
  type VisibilityRequest,
} from '../../engine/index.js';
import type { AdminActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import { AUDIT_LIMITS } from '../limits/logs.js';

export type EventKind = 'command' | 'query' | 'refusal' | 'authentication' | 'admin';
export type Outcome = 'allowed' | 'denied' | 'failed';

/** What was done or asked for. The list is closed, so no text of a request can get in. */
export type Operation =
  | `${Family}.${'query' | 'count' | 'read' | 'create' | 'change' | 'archive' | 'restore' | 'copy'}`
  | 'key.create'
  | 'key.revoke'
  | 'snapshot.publish'
  | 'snapshot.store'
  | 'snapshot.activate'
  | 'snapshot.rollback'
  | 'shadow.begin'
  | 'shadow.end'
  | 'dataset.load'
  | 'authenticate'
  | 'request'
  | 'gateway.start'
  | 'gateway.stop'
  | 'policy.activate'
  | 'audit.cut'
  | 'audit.release'
  | 'audit.lost';

export interface EventActor {
  readonly credentialScopes: readonly ScopeName[];
  /** Null if there was no credential. */
  readonly fingerprint: string | null;
  readonly id: string;
  readonly identities: readonly string[];
  readonly kind: ActorKind | 'admin' | 'operator' | 'gateway' | 'anonymous';
  readonly namespaceRestrictions: readonly NamespacePath[] | null;
}

/**
 * `reach` is present if the decision was about a visible set. The creation of a namespace is decided at its parent, the
 * `target`.
 */
export interface AccessAsked {
  readonly context: NamespacePath;
  readonly creates?: NamespacePath;
  readonly family: Family;
  readonly reach?: Reach;
  readonly scope: ScopeName;
  readonly target: NamespacePath;
}

export interface CopyAsked {
  readonly destination: NamespacePath;
  readonly family: 'resource' | 'process-run';
  readonly source: NamespacePath;
}

declare const made: unique symbol;

/** Frozen. The log adds `seq`, `log`, `previous` and `hash` when it appends the event. */
export interface AuditEvent {
  readonly access: AccessAsked | CopyAsked | null;
  readonly actor: EventActor;
  /** The client's address, if nobody was authenticated. */
  readonly address?: string;
  readonly cause?: AccessStep;
  /** Ids of the grants that allowed it, sorted; at most `AUDIT_LIMITS.grants` of them. */
  readonly grants?: readonly string[];
  /** How many more grants there were. */
  readonly grantsOmitted?: number;
  /** The event's own id. The event is appended only once, however often that is tried. */
  readonly id: string;
  /** How many records were returned or written. */
  readonly items?: number;
  /** The id of the key that was made or revoked. */
  readonly key?: string;
  readonly kind: EventKind;
  readonly operation: Operation;
  readonly outcome: Outcome;
  readonly records?: readonly string[];
  readonly requestId: string;
  /** The digest of the snapshot that decided; null if none did. */
  readonly snapshot: string | null;
  /** The status of the HTTP answer; null if there was none. */
  readonly status: number | null;
  readonly step?: Step;
  /** The instant of the decision. */
  readonly time: string;
  readonly visibility?: string;
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
  readonly status?: number;
  /** The engine's decision. */
  readonly decision?: Decision;
  /** Digests of the snapshot and of the visible set. */
  readonly snapshot?: string;
  readonly visibility?: string;
  readonly records?: readonly string[];
  readonly items?: number;
  readonly key?: string;
  readonly address?: string;
}

export function makeEvent(parts: EventParts): AuditEvent {
  const { decision, records } = parts;
  const event: Omit<AuditEvent, typeof made> = {
    access: accessInOrder(parts.access ?? null),
    actor: actorInOrder(parts.actor),
    ...(parts.address === undefined ? {} : { address: checked(parts.address, ADDRESS) }),
    ...(decision?.decision === 'deny' && decision.cause !== undefined ? { cause: decision.cause } : {}),
    ...(decision?.decision === 'allow' ? citedGrants(decision.grants) : {}),
    id: checked(parts.id, ID),
    ...(parts.items === undefined ? {} : { items: parts.items }),
    ...(parts.key === undefined ? {} : { key: checked(parts.key, ID) }),
    kind: parts.kind,
    operation: parts.operation,
    outcome: parts.outcome,
    ...(records === undefined ? {} : { records: records.map((record) => checked(record, RECORD)) }),
    requestId: checked(parts.requestId, ID),
    snapshot: parts.snapshot === undefined ? null : checked(parts.snapshot, DIGEST),
    status: parts.status ?? null,
    ...(decision?.decision === 'deny' ? { step: decision.step } : {}),
    time: formatInstant(parts.at),
    ...(parts.visibility === undefined ? {} : { visibility: checked(parts.visibility, DIGEST) }),
  };
  return Object.freeze(event) as AuditEvent;
}

function accessInOrder(access: AuditEvent['access']): AuditEvent['access'] {
  if (access === null) return null;
  if ('source' in access) return { destination: access.destination, family: access.family, source: access.source };
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
  return { credentialScopes, fingerprint, id, identities, kind, namespaceRestrictions };
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

export function citedGrants(grants: readonly GrantRef[]): Pick<AuditEvent, 'grants' | 'grantsOmitted'> {
  const ids = [...new Set(grants.map(({ id }) => id))].sort(compareTexts);
  const omitted = ids.length - AUDIT_LIMITS.grants;
  if (omitted <= 0) return { grants: ids };
  return { grants: ids.slice(0, AUDIT_LIMITS.grants), grantsOmitted: omitted };
}

export function eventActor(actor: RequestActor): EventActor {
  return {
    credentialScopes: scopeNames(actor.credentialScopes),
    fingerprint: actor.credentialFingerprint,
    id: actor.id,
    identities: actor.identities.map(formatIdentity).sort(compareTexts),
    kind: actor.kind,
    namespaceRestrictions: actor.namespaceRestrictions,
  };
}

/** No policy decides about an admin. */
export function eventAdmin({ kind, id, credentialFingerprint }: AdminActor): EventActor {
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

/** What the engine was asked, in the form that the log uses. */
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
export function queryAsked({ family, context, reach }: VisibilityRequest): AccessAsked {
  return { context, family, reach, scope: `${family}:read`, target: context };
}

function familyOf(scope: ScopeName): Family {
  const family = scope.slice(0, scope.indexOf(':'));
  if (!isFamily(family)) throw new TypeError('a scope without a family');
  return family;
}
