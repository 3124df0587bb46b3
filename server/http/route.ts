// Routes as data: one value says everything of a route that the pipeline, the documentation and the tests go by. How its access
// is decided stands in a field that cannot be left out, and what it does comes in two halves with the decision between them, so
// that no route can answer before it was decided.
import {
  canonicalize,
  type Family,
  type Instant,
  type NamespacePath,
  type PathFault,
  pathFaultText,
  type Policy,
  type ResolvedActor,
  ROOT,
  visibilityAs,
  type VisibilityRequest,
  type Visible,
} from '../../engine/index.js';
import type { BodyShape } from '../api/body-shape.js';
import type { JsonSchema } from '../api/schema.js';
import type { Judged } from '../audit/cite.js';
import { type Operation, queryAsked } from '../audit/event.js';
import type { AdminActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Active } from '../policy/active-policy.js';
import { ApiProblem, type ProblemCode } from '../problem.js';
import { isRecordId } from '../api/record-schema.js';
import type { Answer, DecisionTimes, Page, PlainText } from './exchange.js';
import { pathTemplate } from './path-template.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH';
export type MediaType = 'application/json' | 'application/merge-patch+json';
/** In lower case. `if-match` is 428 where it is missing, `idempotency-key` 400. */
export type NamedHeader = 'if-match' | 'idempotency-key';

/** Query parameters by name; what is not named here is refused. */
export type QueryInput = Readonly<
  Record<
    string,
    { readonly required: boolean; readonly pattern: RegExp; readonly description: string; readonly example: string }
  >
>;

export interface BodyInput<Value = unknown> {
  readonly types: readonly MediaType[];
  /** The pipeline reads every body with it. */
  readonly shape: BodyShape<Value>;
  /** A body that the demo's records answer, for the documents. */
  readonly example: Value;
  readonly maxBytes: number;
  /** Whether a request may come without a body, which is then an empty object. */
  readonly optional?: boolean;
  /** A text of ours that a client sends back inside the body, which has room of its own above `maxBytes`. */
  readonly carries?: {
    readonly at: readonly string[];
    /** For the member itself, without the text. */
    readonly memberBytes: number;
    readonly maxBytes: number;
  };
}

/** A body that is too large to be looked at here: the route takes it in parts, once it is ready for it. */
export interface UploadInput {
  readonly types: readonly MediaType[];
  readonly schema: JsonSchema;
  readonly example: unknown;
  readonly maxBytes: number;
}

/** What such a route is given in place of a body. */
export interface Upload {
  /** Tells how many bytes have come before it keeps them; what the route throws then ends it. */
  readonly read: (onBytes: (bytes: number) => void) => Promise<readonly Uint8Array<ArrayBuffer>[]>;
}

export interface Input {
  readonly query?: QueryInput;
  readonly headers?: readonly NamedHeader[];
  /** Absent if the route takes no body. */
  readonly body?: BodyInput;
  /** In place of a body. */
  readonly upload?: UploadInput;
}

/** Headers that some answers have beside those of every answer. */
export type AnswerHeader = 'ETag' | 'Location' | 'Idempotency-Replayed';

/** By status, for the answers that are no problems: those have a shape of their own, the same for every route. */
export type Output = Readonly<
  Record<
    number,
    { readonly type: string; readonly schema: JsonSchema; readonly headers?: readonly AnswerHeader[] | undefined }
  >
>;

/** What a route is given of a request; nothing here reaches the store without a decision. */
export interface Call<Actor> {
  /** Ours, not the client's. */
  readonly requestId: string;
  readonly actor: Actor;
  readonly at: Instant;
  /** As it was sent, without a query string. */
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<NamedHeader, string>;
  /** The body, of the shape that the route declares; null if it takes none. */
  readonly body: unknown;
  /** Null if it takes none. */
  readonly upload: Upload | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
  /** Takes the policy in force, once; every later call gives the same one. */
  readonly pin: () => Active;
  /** Says what is asked of the policy, before anything is done about it: the audit log has it, whatever becomes of the request. */
  readonly judged: (judged: Judged, times?: DecisionTimes) => void;
}

export interface ActorCall extends Call<RequestActor> {
  /** The actor under the pinned policy: what decisions are asked of. */
  readonly resolve: () => ResolvedActor;
  /** The policy that is in force when this is called, and the actor under it: what a write is decided by again. */
  readonly current: () => { readonly snapshot: string; readonly resolved: ResolvedActor };
}

/** The description of a route, whatever it does. */
export interface Told {
  readonly method: Method;
  /** With `{id}` or `{path}` for what it leaves open. */
  readonly path: string;
  /** What it is called in the API's description and by clients: a verb and its object, in camel case, like no other route. */
  readonly operationId: string;
  /** What it does, in a few words without a full stop. */
  readonly summary: string;
  /** What stands for the open part of its path in examples: something of the demo, where the words of that part name nothing. */
  readonly example?: string;
  /** Refusals of its own, beside those that follow from `access` and `input`. */
  readonly problems?: readonly ProblemCode[];
  readonly output: Output;
}

interface Described extends Told {
  readonly input: Input;
}

/** Says the same to everybody, without a credential: nothing about this installation, but whether it works. */
export interface PublicRoute extends Described {
  readonly access: 'public';
  readonly answer: () => Answer | Page | Promise<Answer>;
}

export interface ActorRoute extends Described {
  /**
   * `self`: any authenticated actor, about itself. `visibility`: what the policy lets it see, or 403. `record`: one record if the
   * policy lets it be seen where it is, or 404 as if there were none. `command`: a write, decided as the policy has it.
   */
  readonly access: 'self' | 'visibility' | 'record' | 'command';
  readonly run: (call: ActorCall) => Promise<Answer>;
}

/** The admin, about whom no policy decides. */
export interface AdminRoute extends Described {
  readonly access: 'admin';
  /** What it is called in the audit log; absent if it only shows something, or records itself in its transaction. */
  readonly operation?: Operation;
  readonly run: (call: Call<AdminActor>) => Promise<Answer>;
}

/**
 * What runs here: shown to admins, and to everybody on a listener that only this machine reaches. It has no way to the
 * store.
 */
export interface StatusRoute extends Described {
  readonly access: 'status';
  readonly answer: (asked: { readonly at: Instant }) => Promise<Answer | PlainText>;
}

export type Route = PublicRoute | ActorRoute | AdminRoute | StatusRoute;

interface SelfRoute extends Told {
  readonly answer: (actor: RequestActor) => Answer;
}

export function selfRoute({ answer, ...told }: SelfRoute): ActorRoute {
  return { ...told, access: 'self', input: {}, run: (call) => Promise.resolve(answer(call.actor)) };
}

/** A decided query: what the actor may see under the one policy that the answer names. */
export interface Decided {
  readonly actor: RequestActor;
  /** The same actor under the policy. */
  readonly resolved: ResolvedActor;
  readonly at: Instant;
  readonly policy: Policy;
  readonly visible: Visible;
  readonly gone: AbortSignal;
}

interface VisibilityRoute<Value, Plan> extends Told {
  readonly body: BodyInput<Value>;
  /** Makes a plan of a body that has the shape, and throws a problem where there can be none. */
  readonly planOf: (value: Value) => Plan;
  /** What it is called in the audit log. */
  readonly verb: 'query' | 'count';
  readonly visibilityOf: (plan: Plan) => VisibilityRequest;
  readonly answer: (decided: Decided, plan: Plan) => Promise<Answer>;
}

export function visibilityRoute<Value, Plan>(route: VisibilityRoute<Value, Plan>): ActorRoute {
  const { body, planOf, verb, visibilityOf, answer, ...told } = route;
  return {
    ...told,
    access: 'visibility',
    input: { body },
    run: async (call) => {
      if (!body.shape.isRead(call.body)) throw new TypeError('a body that was not read with the shape of its route');
      const plan = planOf(call.body);
      return answer(see(call, visibilityOf(plan), verb), plan);
    },
  };
}

/** With `{path}` in its path. */
interface NamespaceRoute extends Told {
  readonly answer: (decided: Decided) => Promise<Answer>;
}

/** A namespace by its path. It is decided there, whether it exists or not: 403 says nothing of that. */
export function namespaceRoute({ answer, ...told }: NamespaceRoute): ActorRoute {
  const { partOf } = pathTemplate(told.path);
  return {
    ...told,
    access: 'visibility',
    input: {},
    run: async (call) => {
      const named = canonicalize(partOf(call.path));
      if (!named.ok) throw notCanonical(named.fault);
      return answer(see(call, { family: 'namespace', context: named.path, reach: 'exact' }, 'read'));
    },
  };
}

/** With `{id}` in its path. */
interface RecordRoute extends Told {
  readonly family: Family;
  /** Where the record of that id is, and nothing else of it; null if there is none of the family. */
  readonly locate: (id: string, gone: AbortSignal) => Promise<NamespacePath | null>;
  /** Null if there is none any more. */
  readonly answer: (decided: Decided, id: string) => Promise<Answer | null>;
}

/**
 * A record by its id. Context and target are its own namespace, for every family. An id that is none, that of another family and
 * that of a record which may not be read are one: the same bytes after one look into the store and one decision.
 */
export function recordRoute({ family, locate, answer, ...told }: RecordRoute): ActorRoute {
  const { partOf } = pathTemplate(told.path);
  return {
    ...told,
    access: 'record',
    input: {},
    run: async ({ actor, at, path, pin, judged, resolve, gone }) => {
      const { policy } = pin();
      const id = partOf(path);
      if (id === null || !isRecordId(id)) throw notFound('no id');
      const namespace = await locate(id, gone);
      // Decided also where there is nothing, so that it takes as long.
      const request = { family, context: namespace ?? ROOT, reach: 'exact' } as const;
      const began = performance.now();
      const resolved = resolve();
      const visible = visibilityAs(resolved, { request, at });
      const ended = performance.now();
      const asked = namespace === null ? null : { access: queryAsked(request), resolved, visibility: visible };
      judged({ operation: `${family}.read`, record: id, asked }, { began, ended });
      if (namespace === null) throw notFound('no record of the family');
      if (visible.kind === 'none') throw notFound(visible.step);
      const found = await answer({ actor, resolved, at, policy, visible, gone }, id);
      if (found === null) throw notFound('gone while it was read');
      return found;
    },
  };
}

type ReadVerb = 'query' | 'count' | 'read';

function see(
  { actor, at, pin, judged, resolve, gone }: ActorCall,
  request: VisibilityRequest,
  verb: ReadVerb,
): Decided {
  const { policy } = pin();
  const began = performance.now();
  const resolved = resolve();
  const visible = visibilityAs(resolved, { request, at });
  const ended = performance.now();
  const asked = { access: queryAsked(request), resolved, visibility: visible };
  judged({ operation: `${request.family}.${verb}`, asked }, { began, ended });
  if (visible.kind === 'none') throw new ApiProblem('authz.denied', { step: visible.step });
  return { actor, resolved, at, policy, visible, gone };
}

export function notCanonical(fault: PathFault): ApiProblem {
  const message = `the path after /namespaces is not that of a namespace: ${pathFaultText(fault)}`;
  return new ApiProblem('namespace.invalid', { errors: [{ pointer: '', code: 'namespace.invalid', message }] });
}

/** `reason` is for the log alone. */
function notFound(reason: string): ApiProblem {
  return new ApiProblem('record.not_found', { reason });
}
