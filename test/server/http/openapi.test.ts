// The API's description: valid OpenAPI 3.1, whole, without duplicates, and of every route. That it is true is shown elsewhere: each
// request and answer of the suite is held to it (test/support/described-answers.ts).
import { describe, expect, it, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ActorRoute, Route } from '../../../server/http/route.js';
import { PROBLEMS } from '../../../server/problem.js';
import { declaredAdminRoutes, declaredRoutes, descriptionOf } from '../../support/api-description.js';
import { runCli } from '../../support/run-cli.js';
import { checkBy, type Description, type Exchanged } from '../../support/described-answers.js';

type Json = Readonly<Record<string, unknown>>;

/** Of a listener: the description is derived from its routes, and served by one of them. */
interface Described {
  readonly routes: readonly Route[];
  readonly description: Description;
  readonly document: Json;
}

function describedBy(routes: readonly Route[]): Described {
  const description = descriptionOf(routes);
  return { routes, description, document: JSON.parse(JSON.stringify(description)) as Json };
}

const api = describedBy(declaredRoutes());
const admin = describedBy(declaredAdminRoutes());
/** Every object in the document with the keys that lead to it. */
function* objectsIn(value: unknown, place: readonly string[] = []): Generator<readonly [readonly string[], Json]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [place, value as Json];
  for (const [key, one] of Object.entries(value)) yield* objectsIn(one, [...place, key]);
}

const SECURITY: Readonly<Record<Route['access'], readonly object[]>> = {
  health: [],
  public: [],
  status: [{}, { adminKey: [] }],
  admin: [{ adminKey: [] }],
  self: [{ credential: [] }],
  visibility: [{ credential: [] }],
  record: [{ credential: [] }],
  command: [{ credential: [] }],
  ask: [{ decideKey: [] }],
};

describe.each([
  ['the API', api],
  ['admins', admin],
])('the description for %s', (_, { routes, description, document }) => {
  it('is OpenAPI 3.1, by its published schema', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('has one operation for each route, with a name, words, a tag, security and answers', () => {
    const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ line: `${method.toUpperCase()} ${path}`, operation })),
    );
    expect(operations.map(({ line }) => line).sort()).toEqual(
      routes.map(({ method, path }) => `${method} ${path}`).sort(),
    );
    const known = new Set((document['tags'] as readonly { readonly name: string }[]).map(({ name }) => name));
    const used = operations.map(({ operation }) => {
      const { tags, summary, description: text, security, responses } = operation as unknown as Json;
      expect(String(summary)).not.toBe('');
      expect(String(text)).toMatch(/\.$/);
      expect(security).toBeInstanceOf(Array);
      expect(Object.keys(responses as object)).toEqual(expect.arrayContaining(['400', '429', '500', '503']));
      return String((tags as readonly string[])[0]);
    });
    expect(new Set(used)).toEqual(known);
  });

  it('refers to what it has, and has nothing that is not referred to', () => {
    const references = [...objectsIn(document)].flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : []));
    const kinds = document['components'] as Readonly<Record<string, Json>>;
    const named = Object.entries(kinds)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, all]) => Object.keys(all).map((name) => `#/components/${kind}/${name}`));
    expect([...new Set(references)].filter((name) => !named.includes(name))).toEqual([]);
    expect(named.filter((name) => !references.includes(name))).toEqual([]);
  });

  it('says nothing twice: what has members, values or a pattern stands in one place', () => {
    const places = new Map<string, string[]>();
    for (const [place, one] of objectsIn(document)) {
      // The members of a record, of which there may be one with that name.
      if (place.at(-1) === 'properties') continue;
      if (
        place.includes('example') ||
        place.includes('responses') ||
        (one['properties'] === undefined && one['enum'] === undefined)
      )
        continue;
      const text = JSON.stringify(one);
      places.set(text, [...(places.get(text) ?? []), place.join('/')]);
    }
    expect([...places.values()].filter((all) => all.length > 1)).toEqual([]);
  });

  it('needs a credential everywhere but where the route says not', () => {
    for (const { method, path, access } of routes) {
      const operation = description.paths[path]?.[method.toLowerCase()] as unknown as Json;
      expect([path, operation['security']]).toEqual([path, SECURITY[access]]);
    }
  });

  it('shows bodies that are of their schemas', () => {
    const bodies = routes.flatMap(({ input }) => (input.body === undefined ? [] : [input.body]));
    for (const { shape, example } of bodies) {
      const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(shape.document);
      expect([validate(example), validate.errors]).toEqual([true, null]);
    }
  });

  it('is answered to everybody, and describes itself', async () => {
    const route = routes.find(({ path }) => path === '/openapi.json');
    if (route?.access !== 'public') throw new Error('there is none');
    const answer = await route.answer({ query: new Map(), address: 'http://localhost' });
    if (!('json' in answer)) throw new Error('no JSON');
    expect(JSON.parse(answer.json)).toEqual(document);
    expect(description.paths['/openapi.json']?.['get']).toBeDefined();
  });
});

describe('the descriptions', () => {
  it('of the API is what `schema openapi` prints', async () => {
    expect(JSON.parse((await runCli(['schema', 'openapi'])).stdout)).toEqual(api.document);
  });

  it('lists the codes of a refusal that a route can answer with, and all of them somewhere but two', () => {
    const listed = new Set(
      [...objectsIn(api.document), ...objectsIn(admin.document)].flatMap(
        ([, { code }]) => (code as Json | undefined)?.['enum'] ?? [],
      ),
    );
    const never = PROBLEMS.map(({ code }) => code).filter((code) => !listed.has(code));
    expect(never).toEqual(['route.not_found', 'request.method']);
  });
});

describe('a route', () => {
  const added: ActorRoute = {
    method: 'PATCH',
    path: '/things/{id}',
    operationId: 'changeThing',
    summary: 'Change a thing',
    access: 'command',
    problems: ['record.not_found'],
    input: {
      headers: ['if-match'],
      query: { at: { required: true, pattern: /^\d+$/, description: 'When.', example: '1' } },
    },
    output: { 200: { type: 'application/json', schema: { title: 'Thing', type: 'object' }, headers: ['ETag'] } },
    run: () => Promise.reject(new Error('it is not run')),
  };

  it('that is added is described', async () => {
    const described = descriptionOf([added]);
    expect(described.paths).toMatchObject({
      '/things/{id}': {
        patch: {
          operationId: 'changeThing',
          parameters: [
            { name: 'id', in: 'path', required: true },
            { name: 'at', in: 'query', required: true, schema: { type: 'string', pattern: String.raw`^\d+$` } },
            { name: 'If-Match', in: 'header', required: true },
            { $ref: '#/components/parameters/X-Request-Id' },
          ],
          responses: { 200: { headers: { ETag: {} } }, 404: {}, 428: {} },
        },
      },
    });
    expect(await new Validator().validate(JSON.parse(JSON.stringify(described)) as Json)).toEqual({ valid: true });
  });

  test.each<[string, Partial<Route>]>([['a part of its path that has no words', { path: '/things/{colour}' }]])(
    'cannot be described with %s',
    (_, other) => {
      expect(() => descriptionOf([{ ...added, ...other } as Route])).toThrow(
        'no words for {colour} in /things/{colour}',
      );
    },
  );

  it('cannot share the title of a schema with another one', () => {
    const other = {
      ...added,
      path: '/others/{id}',
      output: { 200: { type: 'application/json', schema: { title: 'Thing' } } },
    };
    expect(() => descriptionOf([added, other])).toThrow('two schemas have the title Thing');
  });
});

describe('the check of every exchange of the suite', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  const answer = { family: 'resource', namespace: '/', reach: 'lineage', count: 1, snapshot: digest };
  const common = { 'bailiwick-snapshot': digest, 'x-request-id': 'r' };
  const good: Exchanged = {
    method: 'POST',
    target: '/api/v1/query/count',
    sent: { 'content-type': 'application/json; charset=utf-8' },
    body: '{"family":"resource","namespace":"/","where":{"not":{"name":{"eq":"x"}}}}',
    status: 200,
    headers: { ...common, 'content-type': 'application/json', date: 'now' },
    text: JSON.stringify(answer),
  };
  const problem = {
    type: '/docs/problems#authz.denied',
    title: 't',
    status: 403,
    code: 'authz.denied',
    requestId: 'r',
  };
  const refused: Exchanged = {
    ...good,
    status: 403,
    headers: { ...common, 'content-type': 'application/problem+json' },
    text: JSON.stringify(problem),
  };

  it('takes what is described', () => {
    const check = checkBy(api.description);
    for (const one of [good, refused]) {
      expect(() => {
        check(one);
      }).not.toThrow();
    }
  });

  test.each<[string, Exchanged, RegExp]>([
    ['a path of no route', { ...good, target: '/api/v1/nothing' }, /is no operation/],
    ['a status of no answer', { ...good, status: 201 }, /not among its answers/],
    ['a member too many', { ...good, text: JSON.stringify({ ...answer, more: 1 }) }, /its body is not as described/],
    ['another type', { ...good, headers: { ...good.headers, 'content-type': 'text/plain' } }, /of a type/],
    [
      'a header too many',
      { ...good, headers: { ...good.headers, 'x-powered-by': 'y' } },
      /header that is not described/,
    ],
    [
      'a header too few',
      { ...good, headers: { 'content-type': 'application/json', 'x-request-id': 'r' } },
      /no header/,
    ],
    [
      'a header of another form',
      { ...good, headers: { ...good.headers, 'bailiwick-snapshot': '1' } },
      /bailiwick-snap/,
    ],
    ['a body that was taken and is not described', { ...good, body: '{"family":"resource"}' }, /its request's body/],
    [
      'conditions of no form',
      { ...good, body: '{"family":"resource","namespace":"/","where":{"a":1}}' },
      /its request/,
    ],
    ['a query string', { ...good, target: '/api/v1/query/count?a=1' }, /was answered/],
    [
      'a code of another route',
      { ...refused, text: JSON.stringify({ ...problem, code: 'auth.required' }) },
      /its body/,
    ],
    ['a problem as JSON', { ...refused, headers: good.headers }, /of a type/],
  ])('refuses %s', (_, exchanged, fault) => {
    const check = checkBy(api.description);
    expect(() => {
      check(exchanged);
    }).toThrow(fault);
  });
});

test('every step at which a decision may end is described, `exclusive` with the two identities', () => {
  const { schemas } = api.document['components'] as { readonly schemas: Readonly<Record<string, Json>> };
  expect(schemas['Step']?.['enum']).toEqual(expect.arrayContaining(['exclusive', 'restriction', 'no_matching_grant']));
  const denied = [...objectsIn(schemas['Decisions'])].find(([, { required }]) => String(required) === 'decision,step');
  expect(denied?.[1]['properties']).toMatchObject({
    step: { $ref: '#/components/schemas/Step' },
    identities: { type: 'array', minItems: 2, maxItems: 2 },
  });
});
