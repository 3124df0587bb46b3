// Routes as data. Each declares how its access is decided, in a field that cannot be left out, and what it does comes in two
// halves with the decision between them, so that no route can answer before it was decided (design 6, order of work).
import {
  canonicalize,
  type Family,
  type Instant,
  type NamespacePath,
  type Policy,
  ROOT,
  visibility,
  type VisibilityRequest,
  type Visible,
} from '../../engine/index.js';
import type { RequestActor } from '../auth/request-actor.js';
import { ApiProblem } from '../problem.js';
import { isRecordId } from '../query/find-record.js';
import type { Answer, Page } from './exchange.js';
import { pathTemplate } from './path-template.js';

export type Method = 'GET' | 'POST';

/** What a route is given of a request; nothing here reaches the store without a decision. */
export interface Call {
  readonly actor: RequestActor;
  readonly at: Instant;
  /** As it was sent, without a query string. */
  readonly path: string;
  /** Takes the policy in force, once; every later call gives the same one. */
  readonly pinPolicy: () => Policy;
}

export type Route = DecidedRoute | PublicRoute;

/** Says the same to everybody, without a credential, and has no way to the store or the policy. */
export interface PublicRoute {
  readonly method: 'GET';
  readonly path: string;
  readonly access: 'public';
  readonly body: 'none';
  readonly answer: () => Page;
}

interface DecidedRoute {
  readonly method: Method;
  readonly path: string;
  /**
   * `self`: any authenticated actor, about itself. `visibility`: what the policy lets it see, or 403. `record`: one record if the
   * policy lets it be seen where it is, or 404 as if there were none.
   */
  readonly access: 'self' | 'visibility' | 'record';
  readonly body: 'none' | 'json';
  readonly run: (call: Call, body: unknown) => Promise<Answer>;
}

interface SelfRoute {
  readonly method: Method;
  readonly path: string;
  readonly answer: (actor: RequestActor) => Answer;
}

export function selfRoute({ method, path, answer }: SelfRoute): Route {
  return { method, path, access: 'self', body: 'none', run: (call) => Promise.resolve(answer(call.actor)) };
}

/** A decided query: what the actor may see under the one policy that the answer names. */
export interface Decided {
  readonly actor: RequestActor;
  readonly at: Instant;
  readonly policy: Policy;
  readonly visible: Visible;
}

interface VisibilityRoute<Plan> {
  readonly method: Method;
  readonly path: string;
  /** Reads the body, or throws a problem. */
  readonly parse: (body: unknown) => Plan;
  readonly visibilityOf: (plan: Plan) => VisibilityRequest;
  readonly answer: (decided: Decided, plan: Plan) => Promise<Answer>;
}

export function visibilityRoute<Plan>(route: VisibilityRoute<Plan>): Route {
  return {
    method: route.method,
    path: route.path,
    access: 'visibility',
    body: 'json',
    run: async (call, body) => {
      const plan = route.parse(body);
      return route.answer(see(call, route.visibilityOf(plan)), plan);
    },
  };
}

interface NamespaceRoute {
  readonly method: Method;
  /** With `{path}` in it. */
  readonly path: string;
  readonly answer: (decided: Decided) => Promise<Answer>;
}

/** A namespace by its path. It is decided there, whether it exists or not: 403 says nothing of that (interfaces.md, HTTP). */
export function namespaceRoute({ method, path, answer }: NamespaceRoute): Route {
  const { partOf } = pathTemplate(path);
  return {
    method,
    path,
    access: 'visibility',
    body: 'none',
    run: async (call) => {
      const named = canonicalize(partOf(call.path));
      if (!named.ok) throw notCanonical();
      return answer(see(call, { family: 'namespace', context: named.path, reach: 'exact' }));
    },
  };
}

interface RecordRoute {
  readonly method: Method;
  /** With `{id}` in it. */
  readonly path: string;
  readonly family: Family;
  /** Where the record of that id is, and nothing else of it; null where there is none of the family. */
  readonly locate: (id: string) => Promise<NamespacePath | null>;
  /** Null where there is none any more. */
  readonly answer: (decided: Decided, id: string) => Promise<Answer | null>;
}

/**
 * A record by its id. Context and target are its own namespace, for every family. An id that is none, that of another family and
 * that of a record which may not be read are one: the same bytes after one look into the store and one decision.
 */
export function recordRoute({ method, path, family, locate, answer }: RecordRoute): Route {
  const { partOf } = pathTemplate(path);
  return {
    method,
    path,
    access: 'record',
    body: 'none',
    run: async ({ actor, at, path: asked, pinPolicy }) => {
      const policy = pinPolicy();
      const id = partOf(asked);
      if (id === null || !isRecordId(id)) throw notFound('no id');
      const namespace = await locate(id);
      // Decided also where there is nothing, so that it takes as long.
      const request = { family, context: namespace ?? ROOT, reach: 'exact' } as const;
      const visible = visibility(policy, { actor, request, at });
      if (namespace === null) throw notFound('no record of the family');
      if (visible.kind === 'none') throw notFound(visible.step);
      const found = await answer({ actor, at, policy, visible }, id);
      if (found === null) throw notFound('gone while it was read');
      return found;
    },
  };
}

function see({ actor, at, pinPolicy }: Call, request: VisibilityRequest): Decided {
  const policy = pinPolicy();
  const visible = visibility(policy, { actor, request, at });
  if (visible.kind === 'none') throw new ApiProblem('authz.denied', { step: visible.step });
  return { actor, at, policy, visible };
}

function notCanonical(): ApiProblem {
  const message = 'the path after /namespaces is not that of a namespace';
  return new ApiProblem('namespace.invalid', { errors: [{ pointer: '', code: 'namespace.invalid', message }] });
}

/** `reason` is for the log alone. */
function notFound(reason: string): ApiProblem {
  return new ApiProblem('record.not_found', { reason });
}
