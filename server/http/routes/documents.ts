// The description of every route of the same listener, this one included: GET /openapi.json for programs, GET /docs for
// people.
import { type ApiManner, describeApi } from '../openapi/document.js';
import { pageOf } from '../openapi/page.js';
import type { PublicRoute, Route } from '../route.js';

/** The given routes and the two that describe them all. */
export function withDocuments(routes: readonly Route[], manner: ApiManner = {}): readonly Route[] {
  const text = once(() => JSON.stringify(describeApi(all, manner)));
  const html = once(() => pageOf(describeApi(all, manner)));
  const document: PublicRoute = {
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'The description of the API, as OpenAPI 3.1',
    access: 'public',
    input: {},
    output: { 200: { type: 'application/json', schema: { type: 'object' } } },
    answer: () => ({ status: 200, json: text() }),
  };
  const page: PublicRoute = {
    method: 'GET',
    path: '/docs',
    operationId: 'showApi',
    summary: 'The same as a page, with examples for a shell',
    access: 'public',
    input: {},
    output: { 200: { type: 'text/html; charset=utf-8', schema: { type: 'string' } } },
    answer: () => ({ status: 200, html: html() }),
  };
  const all: readonly Route[] = Object.freeze([...routes, document, page]);
  return all;
}

function once(make: () => string): () => string {
  let made: string | null = null;
  return () => (made ??= make());
}
