// The Express app: the declared routes, one entry for each path, and nothing else. Express finds the path; everything after
// that is serve-request.ts.
import express, { type ErrorRequestHandler, type Express } from 'express';
import { pathTemplate } from './path-template.js';
import type { Route } from './route.js';
import { type Gatekeeper, serveRequest, serveUnroutable } from './serve-request.js';

export function makeApp(routes: readonly Route[], keeper: Gatekeeper): Express {
  const app = express();
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.set('query parser', false);
  app.set('etag', false);
  app.disable('x-powered-by');
  for (const [path, byMethod] of byPath(routes)) {
    app.all(pathTemplate(path).pattern, (request, response) => serveRequest(keeper, byMethod, { request, response }));
  }
  app.use((request, response) => serveRequest(keeper, null, { request, response }));
  // Express knows an error handler by its four parameters.
  const onError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    serveUnroutable(keeper, { request, response }, error);
  };
  app.use(onError);
  return app;
}

function byPath(routes: readonly Route[]): ReadonlyMap<string, ReadonlyMap<string, Route>> {
  const paths = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = paths.get(route.path) ?? new Map<string, Route>();
    if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    paths.set(route.path, methods.set(route.method, route));
  }
  return paths;
}
