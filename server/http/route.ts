// Routes as data. Each declares how its access is decided, in a field that cannot be left out, and what it does comes in two
// halves with the decision between them, so that no route can answer before it was decided (design 6, order of work).
import { type Instant, type Policy, visibility, type VisibilityRequest, type Visible } from '../../engine/index.js';
import type { RequestActor } from '../auth/request-actor.js';
import { ApiProblem } from '../problem.js';
import type { Answer, Page } from './exchange.js';

export type Method = 'GET' | 'POST';

/** What a route is given of a request; nothing here reaches the store without a decision. */
export interface Call {
  readonly actor: RequestActor;
  readonly at: Instant;
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
  /** `self`: any authenticated actor, about itself. `visibility`: what the policy lets it see, or 403. */
  readonly access: 'self' | 'visibility';
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
    run: async ({ actor, at, pinPolicy }, body) => {
      const plan = route.parse(body);
      const policy = pinPolicy();
      const visible = visibility(policy, { actor, request: route.visibilityOf(plan), at });
      if (visible.kind === 'none') throw new ApiProblem('authz.denied', { step: visible.step });
      return route.answer({ actor, at, policy, visible }, plan);
    },
  };
}
