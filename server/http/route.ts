// Routes as data: one value says everything about a route that the pipeline, the documentation and the tests rely on.
// How its access is decided is a required field. What it does comes in two halves with the decision between them, so no
// route can answer before the decision.
import {
  type Family,
  type Instant,
  type NamespacePath,
  type Policy,
  type ResolvedActor,
  ROOT,
  visibilityAs,
  type Visibility,
  type VisibilityRequest,
  type Visible,
} from '../../engine/index.js';
import type { BodyShape } from '../api/body-shape.js';
import type { JsonSchema } from '../api/schema.js';
import type { Judged, ReportedAnswer, ReportedHoldings } from '../audit/cite.js';
import { type Operation, queryAsked } from '../audit/event.js';
import type { AdminActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Active } from '../policy/active/active-policy.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem, type ProblemCode } from '../problem.js';
import { isRecordId } from '../api/record-schema.js';
import type { DecisionTimes, EventStream, JsonAnswer, JsonFile, Page, PlainText } from './exchange.js';
import { namespaceOfPath } from './namespace-in.js';
import { pathTemplate } from './path-template.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type MediaType = 'application/json' | 'application/merge-patch+json';
/**
 * In lower case. Where it is required, a missing `if-match` is refused with 428, a missing `idempotency-key` with 400.
 */
export type NamedHeader = 'if-match' | 'idempotency-key' | 'if-none-match';

/** Query parameters by name. Any other parameter is refused. */
export type QueryInput = Readonly<Record<string, QueryParameter>>;

export interface QueryParameter {
  readonly required: boolean;
  readonly pattern: RegExp;
  /** What the pattern requires, for the message to a client: it continues "must". */
  readonly form?: string;
  readonly description: string;
  readonly example: string;
}

/** A parameter that may be missing; by default of any form. */
export function optional(description: string, example: string, pattern = /^/): QueryParameter {
  return { required: false, pattern, description, example };
}

export function required(description: string, example: string, pattern = /^/): QueryParameter {
  return { required: true, pattern, description, example };
}

export interface BodyInput<Value = unknown> {
  readonly types: readonly MediaType[];
  /** The pipeline checks every body against it. */
  readonly shape: BodyShape<Value>;
  /** For the documents: a body that makes sense with the demo's records. */
  readonly example: Value;
  readonly maxBytes: number;
  /** Whether the body may be missing. A missing body is read as an empty object. */
  readonly optional?: boolean;
  /** A text made by the gateway that a client sends back inside the body. It has room of its own above `maxBytes`. */
  readonly carries?: {
    readonly at: readonly string[];
    /** For the member around the text. */
    readonly memberBytes: number;
    readonly maxBytes: number;
  };
}

/** A body of JSON, of the usual size. */
export function jsonBody<Value>(shape: BodyShape<Value>, example: Value): BodyInput<Value> {
  return { types: ['application/json'], shape, example, maxBytes: HTTP_LIMITS.bodyBytes };
}

/** A body that is too large for the pipeline to read. The route takes it in parts, once it is ready for it. */
export interface UploadInput {
  readonly types: readonly MediaType[];
  readonly schema: JsonSchema;
  readonly example: unknown;
  readonly maxBytes: number;
}

/** What such a route gets instead of a body. */
export interface Upload {
  /** Calls `onBytes` with the size of each piece before it keeps the piece. If `onBytes` throws, reading ends. */
  readonly read: (onBytes: (bytes: number) => void) => Promise<readonly Uint8Array<ArrayBuffer>[]>;
}

export interface Input {
  readonly query?: QueryInput;
  readonly headers?: readonly NamedHeader[];
  /** Headers that may be missing. */
  readonly optional?: readonly NamedHeader[];
  /** Absent if the route takes no body. */
  readonly body?: BodyInput;
  /** Instead of a body. */
  readonly upload?: UploadInput;
}

/** Headers that some answers have in addition to those of every answer. */
export type AnswerHeader = 'ETag' | 'Location' | 'Idempotency-Replayed';

/**
 * The successful answers by status. `streams` is the other form of an answer, for clients that ask for events. Problems
 * have a shape of their own, the same for every route.
 */
export type Output = Readonly<
  Record<
    number,
    {
      readonly type: string;
      readonly schema: JsonSchema;
      readonly headers?: readonly AnswerHeader[] | undefined;
      readonly streams?: JsonSchema;
    }
  >
>;

/** What a route gets of a request. Nothing here reaches the store without a decision. */
export interface Call<Actor> {
  /** Ours, not the client's. */
  readonly requestId: string;
  readonly actor: Actor;
  readonly at: Instant;
  /** As it was sent, but without the query string. */
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<NamedHeader, string>;
  /** The body, which has the declared shape; null if the route takes none. */
  readonly body: unknown;
  /** Null if the route takes none. */
  readonly upload: Upload | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
  /** Pins the policy in force. Every later call gives the same one. */
  readonly pin: () => Active;
  /** The policy that was activated last, however old that is: for its words, and never for a decision. */
  readonly latest: () => Policy;
  /**
   * Notes which access the policy judges, before anything else is done. So the audit log gets it, however the request ends.
   */
  readonly judged: (judged: Judged, times?: DecisionTimes) => void;
}

export interface ActorCall extends Call<RequestActor> {
  /** The actor under the pinned policy. Decisions are made for this actor. */
  readonly resolve: () => ResolvedActor;
  /** Notes which access the answer reports to an actor, for the audit log. Throws if that cannot be recorded. */
  readonly toldHeld: (held: ReportedHoldings) => void;
  /** Notes what an answer reports about other actors, or the feed about records, for the audit log. */
  readonly told: (answers: readonly ReportedAnswer[]) => void;
  /**
   * Resolves once so many answers can be recorded. Call this before they are looked for. Rejects if they cannot be
   * recorded.
   */
  readonly willTell: (count: number) => Promise<void>;
  /** The policy in force at the time of the call, and the actor under it. A write is decided again with these. */
  readonly current: () => {
    readonly snapshot: string;
    readonly generation: number;
    readonly resolved: ResolvedActor;
  };
}

/** How a route is described, whatever it does. */
export interface RouteDescription {
  readonly method: Method;
  /** With `{id}` or `{path}` for its open part. */
  readonly path: string;
  /** Its name in the API's description and in clients: a verb and its object in camel case, unique among the routes. */
  readonly operationId: string;
  /** What the route does, in a few words without a full stop. */
  readonly summary: string;
  /**
   * What to put for the open part of its path in examples. It names something in the demo, because a general example
   * would not.
   */
  readonly example?: string;
  /** Its errors are JSON strings, and every fault of a request is 400. Defaults to problems (RFC 9457). */
  readonly speaks?: 'authzen';
  /** Refusals of this route, in addition to those that follow from `access` and `input`. */
  readonly problems?: readonly ProblemCode[];
  readonly output: Output;
}

interface Described extends RouteDescription {
  readonly input: Input;
}

/** Answers everybody alike, without a credential. It tells nothing about this installation except whether it works. */
export interface PublicRoute extends Described {
  readonly access: 'public';
  readonly answer: (asked: PublicAsked) => JsonAnswer | Page | Promise<JsonAnswer>;
}

/** What such a route may know of a request: what anybody may ask, and the address that it was sent to. */
export interface PublicAsked {
  readonly query: ReadonlyMap<string, string>;
  /** Scheme and authority, as the client wrote them. Good for words, and for nothing else. */
  readonly address: string;
}

/**
 * Answers those who watch over the gateway, as whatever they ask: HTTP/1.0, without a `Host` or with that of another,
 * HEAD in place of GET. It is not counted against any limit.
 */
export interface HealthRoute extends Described {
  readonly access: 'health';
  readonly answer: () => Promise<JsonAnswer>;
}

export interface ActorRoute extends Described {
  /**
   * `self`: any authenticated actor, about itself. `visibility`: what the policy lets it see, or 403. `record`: one record if the
   * policy lets it be seen where it is, or 404 as if there were none. `command`: a write, decided as the policy has it.
   * `ask`: what others may do, for keys with the right to ask.
   */
  readonly access: 'self' | 'ask' | 'visibility' | 'record' | 'command';
  readonly run: (call: ActorCall) => Promise<JsonAnswer>;
  /** Answers clients that ask for events (`Accept: text/event-stream`). Absent if the route has none. */
  readonly stream?: (call: ActorCall, live: Live) => Promise<EventStream>;
}

/** What a stream gets in addition, for as long as it lasts. */
export interface Live {
  /** `Last-Event-ID`: where the client was. */
  readonly lastEventId: string | null;
  /**
   * Who the client is now, under the policy in force now. Throws whatever a new request with the same credential would
   * be refused with.
   */
  readonly again: () => Promise<Moment>;
  /** Records what was shown at a moment. */
  readonly shown: (moment: Moment, told: readonly ReportedAnswer[]) => void;
  /** The problem that ends the stream, as the client sees it. A fault of ours is reported. */
  readonly problemOf: (error: unknown) => { readonly text: string; readonly retryAfter: number | null };
}

export interface Moment {
  readonly at: Instant;
  readonly active: Active;
  readonly resolved: ResolvedActor;
}

/** For admins. No policy decides what an admin may do. */
export interface AdminRoute extends Described {
  readonly access: 'admin';
  /** Its name in the audit log. Absent if the route only shows something, or records itself in its own transaction. */
  readonly operation?: Operation;
  readonly run: (call: Call<AdminActor>) => Promise<JsonAnswer | JsonFile>;
}

/**
 * Shows what runs here to admins, and to everybody on a listener that only this machine can reach. It has no way to the
 * store.
 */
export interface StatusRoute extends Described {
  readonly access: 'status';
  readonly answer: (asked: { readonly at: Instant }) => Promise<JsonAnswer | PlainText>;
}

export type Route = PublicRoute | HealthRoute | ActorRoute | AdminRoute | StatusRoute;

interface SelfRoute extends RouteDescription {
  readonly query?: QueryInput;
  readonly answer: (call: ActorCall) => JsonAnswer | Promise<JsonAnswer>;
}

export function selfRoute({ query, answer, ...told }: SelfRoute): ActorRoute {
  const input = query === undefined ? {} : { query };
  return { ...told, access: 'self', input, run: async (call) => await answer(call) };
}

/** A decided query: what the actor may see under the one policy that the answer names. */
export interface DecidedQuery {
  readonly actor: RequestActor;
  /** The same actor under the policy. */
  readonly resolved: ResolvedActor;
  readonly at: Instant;
  readonly policy: Policy;
  readonly visible: Visible;
  readonly gone: AbortSignal;
}

/** Of a family that the gateway stores. */
export type RecordVisibility = VisibilityRequest & { readonly family: Family };

export interface VisibilityRoute<Value, Plan> extends RouteDescription {
  readonly body: BodyInput<Value>;
  /** Makes a plan from a body of the right shape. Throws a problem if no plan is possible. */
  readonly planOf: (value: Value) => Plan;
  /** Its name in the audit log. */
  readonly verb: 'query' | 'count' | 'aggregate';
  readonly visibilityOf: (plan: Plan) => RecordVisibility;
  readonly answer: (decided: DecidedQuery, plan: Plan) => Promise<JsonAnswer>;
}

export function visibilityRoute<Value, Plan>(route: VisibilityRoute<Value, Plan>): ActorRoute {
  const { body, planOf, verb, visibilityOf, answer, ...told } = route;
  return {
    ...told,
    access: 'visibility',
    input: { body },
    run: async (call) => {
      const plan = planOf(body.shape.asRead(call.body));
      return answer(see(call, visibilityOf(plan), verb), plan);
    },
  };
}

/** With `{path}` in its path. */
interface NamespaceRoute extends RouteDescription {
  readonly answer: (decided: DecidedQuery) => Promise<JsonAnswer>;
}

/**
 * A namespace by its path. The decision is made at that path whether the namespace exists or not, so 403 does not tell
 * which.
 */
export function namespaceRoute({ answer, ...told }: NamespaceRoute): ActorRoute {
  const { partOf } = pathTemplate(told.path);
  return {
    ...told,
    access: 'visibility',
    input: {},
    run: async (call) => {
      const context = namespaceOfPath(partOf(call.path));
      return answer(see(call, { family: 'namespace', context, reach: 'exact' }, 'read'));
    },
  };
}

/** With `{id}` in its path. */
interface RecordRoute extends RouteDescription {
  readonly family: Family;
  /** The namespace of the record with that id, and nothing else about it; null if the family has no such record. */
  readonly locate: (id: string, gone: AbortSignal) => Promise<NamespacePath | null>;
  /** Null if the record is gone by now. */
  readonly answer: (decided: DecidedQuery, id: string) => Promise<JsonAnswer | null>;
}

/**
 * A record by its id. Context and target are its own namespace, for every family. An id without a record, an id of
 * another family and the id of a record that may not be read all get the same bytes, after one look into the store and
 * one decision.
 */
export function recordRoute({ family, locate, answer, ...told }: RecordRoute): ActorRoute {
  const { partOf } = pathTemplate(told.path);
  return {
    ...told,
    access: 'record',
    input: {},
    run: async (call) => {
      const { actor, at, path, pin, judged, gone } = call;
      const { policy } = pin();
      const id = partOf(path);
      if (id === null || !isRecordId(id)) throw notFound('no id');
      const namespace = await locate(id, gone);
      // Decided even if there is no record, so that it takes the same time.
      const request = { family, context: namespace ?? ROOT, reach: 'exact' } as const;
      const { resolved, visible, asked, times } = look(call, request);
      judged({ operation: `${family}.read`, record: id, asked: namespace === null ? null : asked }, times);
      if (namespace === null) throw notFound('no record of the family');
      if (visible.kind === 'none') throw notFound(visible.step);
      const found = await answer({ actor, resolved, at, policy, visible, gone }, id);
      if (found === null) throw notFound('gone while it was read');
      return found;
    },
  };
}

type ReadVerb = 'query' | 'count' | 'aggregate' | 'read';

function see(call: ActorCall, request: RecordVisibility, verb: ReadVerb): DecidedQuery {
  const { actor, at, pin, judged, gone } = call;
  const { policy } = pin();
  const { resolved, visible, asked, times } = look(call, request);
  judged({ operation: `${request.family}.${verb}`, asked }, times);
  if (visible.kind === 'none') throw new ApiProblem('authz.denied', { step: visible.step });
  return { actor, resolved, at, policy, visible, gone };
}

interface Looked {
  readonly resolved: ResolvedActor;
  readonly visible: Visibility;
  readonly asked: NonNullable<Judged['asked']>;
  readonly times: DecisionTimes;
}

function look({ at, resolve }: ActorCall, request: RecordVisibility): Looked {
  const began = performance.now();
  const resolved = resolve();
  const visible = visibilityAs(resolved, { request, at });
  const times = { began, ended: performance.now() };
  return { resolved, visible, asked: { access: queryAsked(request), resolved, visibility: visible }, times };
}

/** `reason` is only for the log. */
function notFound(reason: string): ApiProblem {
  return new ApiProblem('record.not_found', { reason });
}
