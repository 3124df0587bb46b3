// The audit log of requests (docs/audit.md "What is recorded"): what decided each answer, who was authenticated, and
// what was refused. The one place that turns an exchange into events.
import type { Instant } from '../../engine/index.js';
import { cite, citeHeld, type Judged, type ReportedHoldings } from '../audit/cite.js';
import { ANONYMOUS, eventActor, type EventActor, eventAdmin } from '../audit/event.js';
import type { TakePlace } from '../audit/room.js';
import type { Recorder, NewEvent } from '../audit/trail.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import type { Logger } from '../lib/ports.js';
import type { ApiProblem, ProblemCode } from '../problem.js';
import { makeLruCache } from '../lib/lru-cache.js';
import type { Exchange, JsonAnswer, Page, PlainText, ShownRecords } from './exchange.js';
import { makeRateLimiter } from './rate-limit.js';
import type { Route } from './route.js';

/** Only `check` and `takePlace` ever throw. */
export interface RequestAudit {
  /** Throws `audit.unavailable` if the request has to be recorded and cannot be. */
  readonly check: (access: Route['access']) => void;
  readonly takePlace: TakePlace;
  /** An actor was authenticated. */
  readonly authenticated: (exchange: Exchange) => void;
  readonly answered: (exchange: Exchange, answer: JsonAnswer | Page | PlainText) => void;
  readonly refused: (exchange: Exchange, problem: ApiProblem) => void;
}

/** For a gateway that records nothing, as in tests. */
export const NO_AUDIT: RequestAudit = Object.freeze({
  check: () => undefined,
  takePlace: () => null,
  authenticated: () => undefined,
  answered: () => undefined,
  refused: () => undefined,
});

/**
 * These are refused before anything is looked at, and anybody can cause any number of them. They are only counted in
 * the operator's log.
 */
const UNRECORDED: ReadonlySet<ProblemCode> = new Set([
  'limit.rate',
  'overloaded',
  'audit.unavailable',
  'shutting_down',
]);

export function makeRequestAudit(trail: Recorder, log: Pick<Logger, 'error'>): RequestAudit {
  const { check, takePlace, ...notes } = makeNotes(trail);
  // By then the answer is made, and what it tells of may be stored. So what cannot be recorded is counted as lost.
  const total =
    <Parts extends readonly unknown[]>(note: (...parts: Parts) => void): ((...parts: Parts) => void) =>
    (...parts) => {
      try {
        note(...parts);
      } catch (error) {
        trail.noteLost(1);
        log.error({ error }, 'an event of the audit log could not be created; this is a bug of bailiwick');
      }
    };
  return {
    check,
    takePlace,
    authenticated: total(notes.authenticated),
    answered: total(notes.answered),
    refused: total(notes.refused),
  };
}

function makeNotes(trail: Recorder): RequestAudit {
  const { queries } = trail;
  const seen = makeLruCache<true>(Infinity, AUDIT_LIMITS.seenCredentials);
  const noteFailure = makeFailures(trail);
  return {
    check: (access) => {
      if (access === 'visibility' || access === 'record' || access === 'ask') trail.checkQueries();
      if (access === 'command') trail.checkCommands();
    },
    // Without events of queries, a refusal is all that may be recorded of a request.
    takePlace: (name, need, gone) => trail.takePlace(name, queries === 'none' ? { ...need, events: 1 } : need, gone),
    authenticated: (exchange) => {
      const { actor, at, requestId } = exchange;
      // An admin who came through the socket has presented no credential.
      const fingerprint = actor?.credentialFingerprint ?? null;
      if (actor === null || fingerprint === null || seen.get(fingerprint) !== undefined) return;
      seen.put(fingerprint, true, 0);
      const known = { actor: whoIs(actor), operation: 'authenticate', outcome: 'allowed' } as const;
      trail.record({ ...known, kind: 'authentication', requestId, at });
    },
    answered: (exchange, answer) => {
      const { judged, route } = exchange;
      if (route?.access === 'command' || route?.access === 'admin') trail.wake();
      if (isQuery(judged) && queries === 'all') {
        const { items, ids, visibility }: ShownRecords = ('json' in answer ? answer.shown : undefined) ?? { items: 1 };
        const parts = { ...partsOf(exchange, answer.status, visibility), ...(ids === undefined ? {} : { shown: ids }) };
        trail.record({ ...parts, items, kind: 'query', outcome: 'allowed' }, exchange.place);
      }
      if (exchange.held !== null && queries === 'all') {
        const held = partsHeld(exchange.held, exchange.at);
        trail.record({ ...partsOf(exchange, answer.status), ...held, kind: 'query' }, exchange.place);
      }
      if (route?.access === 'admin' && route.operation !== undefined) {
        const { operation } = route;
        trail.record({ ...partsOf(exchange, answer.status), kind: 'admin', operation, outcome: 'allowed' });
      }
      if (exchange.told.length === 0) return;
      const parts = partsOf(exchange, answer.status);
      for (const one of exchange.told) {
        const outcome = one.decision?.decision === 'deny' ? 'denied' : 'allowed';
        if (queries !== 'all' && (queries === 'none' || outcome === 'allowed')) continue;
        trail.record({ ...parts, ...one, kind: 'query', outcome }, exchange.place);
      }
    },
    refused: (exchange, { code, status, detail: { step, fault } }) => {
      if (exchange.actor === null) {
        if (status === 401 || fault !== undefined) noteFailure(exchange, status);
        return;
      }
      if (UNRECORDED.has(code) || (queries === 'none' && isRead(exchange.route))) return;
      // Some commands on the root are refused before the policy judges them. The refusal names its step itself.
      const refused = step === undefined ? {} : ({ decision: { decision: 'deny', step } } as const);
      const parts = { ...refused, ...partsOf(exchange, status) };
      const outcome = parts.decision?.decision === 'deny' ? 'denied' : 'failed';
      trail.record({ ...parts, kind: 'refusal', outcome }, exchange.place);
    },
  };
}

/**
 * Failures of unknown callers are recorded a few times a second, and counted beyond that: without a credential nobody
 * can fill the disk.
 */
function makeFailures(trail: Recorder): (exchange: Exchange, status: number) => void {
  const limiter = makeRateLimiter(AUDIT_LIMITS.failedAuthentications);
  let items = 0;
  return ({ requestId, at, address }, status) => {
    items += 1;
    if (limiter.take('') > 0) return;
    trail.record({
      kind: 'authentication',
      requestId,
      at,
      actor: ANONYMOUS,
      operation: 'authenticate',
      outcome: 'denied',
      status,
      items,
      ...(address === null ? {} : { address }),
    });
    items = 0;
  };
}

function whoIs(actor: NonNullable<Exchange['actor']>, active: Exchange['active'] = null): EventActor {
  return 'credentialScopes' in actor ? eventActor(actor, active?.policy) : eventAdmin(actor);
}

/** Whether the request only reads. A missing record then leaves the same trace as one that may not be seen. */
function isRead(route: Route | null): boolean {
  return route?.access === 'visibility' || route?.access === 'record';
}

/** An actor that holds nothing there was not refused: that was its answer. */
function partsHeld(held: ReportedHoldings, at: Instant): Pick<NewEvent, 'operation' | 'outcome' | 'held' | 'decision'> {
  const { namespace, scopes } = held;
  return { operation: 'permissions', outcome: 'allowed', held: { namespace, scopes }, ...citeHeld(held, at) };
}

function isQuery(judged: Judged | null): boolean {
  const access = judged?.asked?.access;
  return access !== undefined && 'reach' in access;
}

function partsOf(exchange: Exchange, status: number, digest?: string): Omit<NewEvent, 'kind' | 'outcome'> {
  const { actor, active, address, at, judged, requestId } = exchange;
  const asked = judged?.asked ?? null;
  const snapshot = asked?.snapshot ?? active?.policy.digest;
  return {
    requestId,
    at,
    actor: actor === null ? ANONYMOUS : whoIs(actor, active),
    operation: judged?.operation ?? 'request',
    status,
    ...(actor?.kind === 'anonymous' && address !== null ? { address } : {}),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(judged?.record === undefined ? {} : { records: [judged.record] }),
    ...(asked === null ? {} : { access: asked.access, ...cite(asked, at, digest) }),
  };
}
