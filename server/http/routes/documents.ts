// The description of every route of the same listener, this one included: GET /openapi.json for programs, GET /docs for
// people.
import { type ApiManner, describeApi } from '../openapi/document.js';
import { pageOf } from '../openapi/page.js';
import { optional, type PublicRoute, type QueryInput, type Route } from '../route.js';

const SEARCH: QueryInput = Object.freeze({
  search: optional(
    'Words: only routes and shapes that have all of them are shown.',
    'revoke key',
    /^[^\p{Cc}]{0,100}$/u,
  ),
});

/** The given routes and the two that describe them all. */
export function withDocuments(routes: readonly Route[], manner: ApiManner = {}): readonly Route[] {
  const description = once(() => describeApi(all, manner));
  const text = once(() => JSON.stringify(description()));
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
    input: { query: SEARCH },
    output: { 200: { type: 'text/html; charset=utf-8', schema: { type: 'string' } } },
    answer: ({ query, address }) => ({
      status: 200,
      html: pageOf(description(), { address, search: query.get('search')?.trim() ?? '' }),
    }),
  };
  const all: readonly Route[] = Object.freeze([...routes, document, page]);
  return all;
}

function once<Made>(make: () => Made): () => Made {
  let made: Made | null = null;
  return () => (made ??= make());
}
