// What tells of the routes beside it: GET /openapi.json, for every route of the same listener and for itself.
import { describeApi } from '../openapi/document.js';
import type { PublicRoute, Route } from '../route.js';

/** The routes, and those that describe them all. */
export function withDocuments(routes: readonly Route[]): readonly Route[] {
  let text: string | null = null;
  const document: PublicRoute = {
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'The description of the API, as OpenAPI 3.1',
    access: 'public',
    input: {},
    output: { 200: { type: 'application/json', schema: { type: 'object' } } },
    answer: () => {
      text ??= JSON.stringify(describeApi(all));
      return { status: 200, json: text };
    },
  };
  const all: readonly Route[] = Object.freeze([...routes, document]);
  return all;
}
