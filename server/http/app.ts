// The Express app of one door: one entry for each path of the declared routes, and nothing else. Express finds the path
// and catches what it cannot read; everything after that is pipeline.ts. The app takes the messages of a listener, or
// objects that act like them.
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import { CLOSED_SINK, type Incoming, type Outgoing, type Outlet } from './message.js';
import { pathTemplate } from './path-template.js';
import type { Door } from './door.js';
import { refuseUnroutable, serve } from './pipeline.js';
import type { RoutesOfPath } from './steps.js';
import type { Route } from './route.js';

export interface App {
  readonly express: Express;
  /** Takes one request to its answer. Express attaches properties of its own to both arguments. */
  readonly take: (incoming: Incoming, outlet: Outlet) => void;
}

export function makeApp(routes: readonly Route[], door: Door): App {
  const app = express();
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.set('query parser', false);
  app.set('etag', false);
  app.disable('x-powered-by');
  const answer = async (found: RoutesOfPath | null, request: Request, response: Response): Promise<void> => {
    outletOf(response).deliver(await serve(door, found, incomingOf(request)));
  };
  for (const [path, found] of byPath(routes)) {
    app.all(pathTemplate(path).pattern, (request, response) => answer(found, request, response));
  }
  app.use((request, response) => answer(null, request, response));
  // Express recognizes an error handler by its four parameters.
  const onError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    outletOf(response).deliver(refuseUnroutable(door, incomingOf(request), error));
  };
  app.use(onError);
  const take = (incoming: Incoming, outlet: Outlet): void => {
    // For a target in which Express cannot find any path.
    const onUnread = (error: unknown): void => {
      outlet.deliver(refuseUnroutable(door, incoming, error));
    };
    // Express's types only accept Node's own messages.
    Reflect.apply(app, undefined, [incoming, outlet, onUnread]);
  };
  return { express: app, take };
}

/** Handles one request without a socket. The caller gets the whole answer at once, so it counts as read. */
export async function handle(app: App, incoming: Incoming): Promise<Outgoing> {
  const outgoing = await new Promise<Outgoing>((resolve) => {
    app.take({ ...incoming }, { deliver: resolve });
  });
  outgoing.taken();
  // It ends at once, because nobody takes its parts.
  outgoing.pour?.(CLOSED_SINK).catch(() => undefined);
  return outgoing;
}

/**
 * Paths without an open part come first, as they are found soonest. Longer ones come before shorter ones: what follows
 * a namespace in one path could also be the end of the namespace in another.
 */
function byPath(routes: readonly Route[]): readonly (readonly [string, RoutesOfPath])[] {
  const paths = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = paths.get(route.path) ?? new Map<string, Route>();
    if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    paths.set(route.path, methods.set(route.method, route));
  }
  for (const [path, methods] of paths) {
    const [, namespace] = /^(.*\{path\})./.exec(path) ?? [];
    for (const [method, route] of paths.get(namespace ?? '') ?? []) {
      if (!methods.has(method)) methods.set(method, route);
    }
  }
  return [...paths].sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')) || b.length - a.length);
}

function incomingOf(request: Request): Incoming {
  if (isIncoming(request)) return request;
  throw new TypeError('a request that no door has made');
}

function isIncoming(request: object): request is Incoming {
  return 'readBody' in request && 'peer' in request;
}

function outletOf(response: Response): Outlet {
  if (isOutlet(response)) return response;
  throw new TypeError('a response that no door has made');
}

function isOutlet(response: object): response is Outlet {
  return 'deliver' in response;
}
