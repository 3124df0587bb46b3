// The API's description (OpenAPI 3.1), made from the same values that the pipeline uses. So a new route is described at
// once. Pure.
import { STATUS_CODES } from 'node:http';
import { PROBLEM_SCHEMA } from '../../api/answer-schemas.js';
import { programVersion } from '../../lib/version.js';
import type { NamedHeader, Route } from '../route.js';
import type { ApiDescription, DescribedOperation, Parameter, Response, SchemaReference } from './description.js';
import { makeComponents, type SchemaComponents } from './components.js';
import { type DescribedRefusal, refusalsOf } from './refusals.js';
import {
  ACCESS,
  ALWAYS,
  ANSWER_HEADERS,
  IF_NONE_MATCH,
  PATH_PARTS,
  REFUSAL_HEADERS,
  REQUEST_HEADERS,
  REQUEST_ID,
  TAGS,
  WHERE_LIMITED,
} from './words.js';

type Json = Readonly<Record<string, unknown>>;

/** The components that an operation may refer to. */
interface Components {
  readonly schemas: SchemaComponents;
  /** A reference to the answer for such a refusal. */
  readonly refusal: (refusal: DescribedRefusal) => SchemaReference;
}

export interface ApiManner {
  /** Whether reading needs no credential. Defaults to no. */
  readonly isPublic?: boolean;
}

export function describeApi(routes: readonly Route[], { isPublic = false }: ApiManner = {}): ApiDescription {
  const schemas = makeComponents();
  const responses = new Map<string, Response>();
  const refusal = makeRefusals(schemas, responses);
  const paths = new Map<string, ApiDescription['paths'][string]>();
  for (const route of routes) {
    const operation = { ...describeRoute(route, { schemas, refusal }), security: securityOf(route, isPublic) };
    paths.set(route.path, { ...paths.get(route.path), [route.method.toLowerCase()]: operation });
  }
  const shown = JSON.stringify([...paths.values(), ...responses.values()]);
  const uses = (text: string): boolean => shown.includes(text);
  const tags = new Set(routes.map(({ access }) => ACCESS[access].tag));
  return {
    openapi: '3.1.1',
    info: { ...ABOUT, version: programVersion() },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '/' }],
    tags: TAGS.filter(({ name }) => tags.has(name)),
    paths: Object.fromEntries(paths),
    components: {
      schemas: schemas.named(),
      responses: Object.fromEntries(responses),
      headers: headerComponents(uses),
      parameters: { 'X-Request-Id': { name: 'X-Request-Id', in: 'header', required: false, ...REQUEST_ID } },
      securitySchemes: Object.fromEntries(Object.entries(SECURITY_SCHEMES).filter(([name]) => uses(`"${name}":[]`))),
    },
  };
}

const ABOUT = Object.freeze({
  title: 'Bailiwick',
  description:
    'A gateway whose queries return only what the actor may see. Every answer names the policy that decided, and every refusal ' +
    'is a problem of RFC 9457 with a `code` that never changes its meaning.',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
});

const SECURITY_SCHEMES = Object.freeze({
  credential: { type: 'http', scheme: 'bearer', description: 'An API key. In local mode none is needed.' },
  decideKey: { type: 'http', scheme: 'bearer', description: 'A key of `keys create --decide`.' },
  adminKey: { type: 'http', scheme: 'bearer', description: 'An admin key. None is needed on the admin socket.' },
});

const SECURITY: Readonly<Record<Route['access'], DescribedOperation['security']>> = Object.freeze({
  health: [],
  public: [],
  self: [{ credential: [] }],
  visibility: [{ credential: [] }],
  record: [{ credential: [] }],
  command: [{ credential: [] }],
  ask: [{ decideKey: [] }],
  admin: [{ adminKey: [] }],
  status: [{}, { adminKey: [] }],
});

function securityOf({ access }: Route, isPublic: boolean): DescribedOperation['security'] {
  return isPublic && READS.has(access) ? [{}, ...SECURITY[access]] : SECURITY[access];
}

const READS: ReadonlySet<Route['access']> = new Set(['self', 'visibility', 'record']);

function describeRoute(route: Route, components: Components): Omit<DescribedOperation, 'security'> {
  const { tag, about } = ACCESS[route.access];
  return {
    operationId: route.operationId,
    tags: [tag],
    summary: route.summary,
    description: about,
    parameters: parametersOf(route),
    ...bodyOf(route, components),
    responses: answersOf(route, components),
  };
}

function parametersOf(route: Route): DescribedOperation['parameters'] {
  const { path, input, example } = route;
  const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): Parameter => {
    const part = PATH_PARTS.get(name);
    if (part === undefined) throw new Error(`no words for {${name}} in ${path}`);
    return { name, in: 'path', required: true, ...part, ...(example === undefined ? {} : { example }) };
  });
  const query = Object.entries(input.query ?? {}).map(
    ([name, { required, pattern, description, example }]): Parameter => ({
      name,
      in: 'query',
      required,
      schema: { type: 'string', pattern: pattern.source },
      description,
      example,
    }),
  );
  const header =
    (required: boolean) =>
    (name: NamedHeader): Parameter => ({ in: 'header', required, ...REQUEST_HEADERS[name] });
  const streamed = route.output[200]?.streams === undefined ? [] : [LAST_EVENT_ID];
  const known = isConditional(route) ? [{ in: 'header' as const, required: false, ...IF_NONE_MATCH }] : [];
  return [
    ...[...parts, ...query, ...(input.headers ?? []).map(header(true)), ...(input.optional ?? []).map(header(false))],
    ...[...known, ...streamed, { $ref: '#/components/parameters/X-Request-Id' }],
  ];
}

const LAST_EVENT_ID: Parameter = Object.freeze({
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The `id` of the last event that the client has, sent by browsers when they come back to a stream.',
  schema: { type: 'string' },
  example: '',
});

/** Whether the client may say which revision it has. */
function isConditional({ method, output }: Route): boolean {
  return method === 'GET' && output[200]?.headers?.includes('ETag') === true;
}

function bodyOf({ input: { body, upload } }: Route, { schemas }: Components): Pick<DescribedOperation, 'requestBody'> {
  const taken = upload ?? body;
  if (taken === undefined) return {};
  const schema = schemas.refer('shape' in taken ? taken.shape.document : taken.schema);
  const content = Object.fromEntries(taken.types.map((type) => [type, { schema, example: taken.example }]));
  return { requestBody: { required: !('optional' in taken && taken.optional), content } };
}

function answersOf(route: Route, { schemas, refusal }: Components): DescribedOperation['responses'] {
  const given = Object.entries(route.output).map(
    ([status, { type, schema, headers = [], streams }]): readonly [string, Response] => [
      status,
      {
        description: STATUS_CODES[status] ?? status,
        headers: { ...headersOf([...ALWAYS, ...WHERE_LIMITED]), ...headersOf(headers) },
        content: {
          [mediaType(type)]: { schema: schemas.refer(schema) },
          ...(streams === undefined ? {} : { 'text/event-stream': { schema: schemas.refer(streams) } }),
        },
      },
    ],
  );
  const unchanged = {
    description: STATUS_CODES[304] ?? '',
    headers: headersOf([...ALWAYS, ...WHERE_LIMITED, 'ETag']),
    content: {},
  };
  const known: readonly (readonly [string, Response])[] = isConditional(route) ? [['304', unchanged]] : [];
  const refused = refusalsOf(route).map((one): readonly [string, Response | SchemaReference] => {
    const own = given.find(([status]) => status === String(one.status))?.[1];
    return [String(one.status), own === undefined ? refusal(one) : bothOf(own, contentOf(one, schemas))];
  });
  return Object.fromEntries<Response | SchemaReference>([...given, ...known, ...refused]);
}

/** A status that is both an answer of the route and that of a refusal. */
function bothOf(own: Response, refusal: Response['content']): Response {
  return { ...own, content: { ...own.content, ...refusal } };
}

function contentOf({ status, problems }: DescribedRefusal, schemas: SchemaComponents): Response['content'] {
  const codes = problems.map(({ code }) => code);
  const properties = { status: { const: status }, code: { enum: codes } };
  return { 'application/problem+json': { schema: { allOf: [schemas.refer(PROBLEM_SCHEMA)], properties } } };
}

/** Equal refusals share one answer. */
function makeRefusals(schemas: SchemaComponents, responses: Map<string, Response>): Components['refusal'] {
  const names = new Map<string, string>();
  return (one) => {
    const { status, problems } = one;
    const codes = problems.map(({ code }) => code);
    const key = codes.join(' ');
    const known = names.get(key);
    const phrase = (STATUS_CODES[status] ?? String(status)).replaceAll(/[^A-Za-z]/g, '');
    const name = known ?? unusedName(phrase, responses);
    if (known === undefined) {
      names.set(key, name);
      responses.set(name, {
        description: problems.map(({ code, title }) => `\`${code}\`: ${title}`).join('\n\n'),
        headers: headersOf([...ALWAYS, ...WHERE_LIMITED, ...(REFUSAL_HEADERS.get(status) ?? [])]),
        content: contentOf(one, schemas),
      });
    }
    return { $ref: `#/components/responses/${name}` };
  };
}

/** `BadRequest`, then `BadRequest2` and so on. */
function unusedName(phrase: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 2, name = phrase; ; number += 1) {
    if (!taken.has(name)) return name;
    name = phrase + String(number);
  }
}

const HEADERS = '#/components/headers/';

function headersOf(names: readonly string[]): Response['headers'] {
  return Object.fromEntries(names.map((name) => [name, { $ref: HEADERS + name }]));
}

function headerComponents(uses: (text: string) => boolean): Json {
  const used = Object.entries(ANSWER_HEADERS).filter(([name]) => uses(`"${HEADERS}${name}"`));
  return Object.fromEntries(
    used.map(([name, { description, schema, example }]) => [
      name,
      { description, required: ALWAYS.some((one) => one === name), schema, example },
    ]),
  );
}

/** The media type without its parameters. */
function mediaType(type: string): string {
  return type.split(';', 1)[0] ?? type;
}
