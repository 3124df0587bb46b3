// The wire shape of a query (docs/queries.md "The envelope"): one JSON Schema per part of the envelope, and the faults
// of a body that does not match. Here `where` is only known to be an object; server/query reads its fields, operators
// and operands.
import { nearest } from '../../engine/index.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import type { ProblemCode } from '../problem.js';
import { type BodyShape, bodyShape, type ObjectSchema } from './body-shape.js';
import type { BodyPath } from './faults.js';
import { familyName, reachName } from './record-schema.js';
import { closed, type JsonSchema, schema, type TypeOf } from './schema.js';
import { WHERE_SCHEMA } from './where-schema.js';

export type QueryKind = 'query' | 'count' | 'aggregate';

const COMMON = schema({
  family: familyName,
  namespace: { type: 'string', examples: ['/labs/optics'] },
  reach: reachName,
  where: { type: 'object', examples: [{ name: { startsWith: 'lens' } }] },
  includeArchived: { type: 'boolean' },
});

const LIST = schema({
  orderBy: {
    type: 'array',
    examples: [[{ name: 'asc' }]],
    items: {
      type: 'object',
      examples: [{ name: 'asc' }],
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: { enum: ['asc', 'desc'] },
    },
  },
  select: { type: 'array', items: { type: 'string' }, examples: [['id', 'name', 'properties.rank']] },
  includes: {
    type: 'object',
    examples: [{ template: { select: ['name', 'version'] } }],
    additionalProperties: {
      type: 'object',
      properties: { select: { type: 'array', items: { type: 'string' } } },
      additionalProperties: false,
    },
  },
  page: {
    type: 'object',
    examples: [{ size: 50 }],
    properties: {
      // Its limits are checked with the names and values, so that they hide no mistakes of those.
      size: { type: 'integer' },
      after: { type: ['string', 'null'] },
    },
    additionalProperties: false,
  },
});

const AGGREGATE = schema({
  groupBy: { type: 'string', examples: ['properties.kind'] },
  values: {
    type: 'array',
    minItems: 1,
    maxItems: QUERY_LIMITS.groupValues,
    examples: [[{ count: true }, { max: 'properties.rank' }]],
    items: {
      type: 'object',
      minProperties: 1,
      maxProperties: 1,
      properties: {
        count: { const: true },
        min: { type: 'string' },
        max: { type: 'string' },
        sum: { type: 'string' },
      },
      additionalProperties: false,
    },
  },
});

/** The whole bodies. */
const QUERY_SCHEMAS = Object.freeze({
  query: { title: 'Query', ...closed(['family', 'namespace'], { ...COMMON, ...LIST }) },
  count: { title: 'CountQuery', ...closed(['family', 'namespace'], COMMON) },
  aggregate: { title: 'AggregateQuery', ...closed(['family', 'namespace', 'values'], { ...COMMON, ...AGGREGATE }) },
});

/** The bodies after their shape has been checked. */
export type QueryBody = TypeOf<(typeof QUERY_SCHEMAS)['query']>;
export type AggregateBody = TypeOf<(typeof QUERY_SCHEMAS)['aggregate']>;

const PAGE_DOCUMENT = Object.freeze({
  ...LIST.page,
  properties: {
    ...LIST.page.properties,
    size: { type: 'integer', minimum: 0, maximum: QUERY_LIMITS.pageSize },
  },
});

/** The same including the conditions, for editors and the API's description. */
export const QUERY_DOCUMENTS = Object.freeze({
  query: withConditions(QUERY_SCHEMAS.query),
  count: withConditions(QUERY_SCHEMAS.count),
  aggregate: withConditions(QUERY_SCHEMAS.aggregate),
});

function withConditions(whole: ObjectSchema): JsonSchema {
  return Object.freeze({
    ...whole,
    properties: {
      ...whole.properties,
      ...(whole.properties?.['page'] === undefined ? {} : { page: PAGE_DOCUMENT }),
      where: { $ref: '#/$defs/group' },
    },
    ...WHERE_SCHEMA,
  });
}

/** What other query languages call a part of the envelope. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ...['limit', 'size', 'pageSize', 'page_size', 'perPage', 'first', 'top'].map((name) => [name, 'page.size'] as const),
  ...['cursor', 'after', 'next', 'offset', 'skip', 'pageToken'].map((name) => [name, 'page.after'] as const),
  ...['filter', 'filters', 'query', 'conditions'].map((name) => [name, 'where'] as const),
  ...['order', 'order_by', 'sort', 'sortBy', 'orderby'].map((name) => [name, 'orderBy'] as const),
  ...['fields', 'columns', 'projection'].map((name) => [name, 'select'] as const),
  ...['include', 'included', 'expand', 'embed', 'with', 'join', 'populate'].map((name) => [name, 'includes'] as const),
  ...['path', 'ns', 'within'].map((name) => [name, 'namespace'] as const),
  ...['type', 'kind', 'model', 'collection'].map((name) => [name, 'family'] as const),
  ...['scope', 'depth', 'recursive'].map((name) => [name, 'reach'] as const),
  ...['archived', 'include_archived', 'withArchived'].map((name) => [name, 'includeArchived'] as const),
]);

function unknownPart(name: string, kind: QueryKind): string {
  const [part = ''] = (OTHER_NAMES.get(name) ?? name).split('.');
  if (kind !== 'query' && Object.hasOwn(LIST, part))
    return `is not known here: ${kind === 'count' ? 'a count' : 'an aggregate'} has no pages, order, fields or includes`;
  const meant = OTHER_NAMES.get(name) ?? nearest(name, Object.keys(QUERY_SCHEMAS[kind].properties));
  return meant === null ? 'is not known here' : `is not known here; did you mean \`${meant}\`?`;
}

function codeAt(place: BodyPath): ProblemCode {
  return place[0] === 'page' && place[1] === 'size' ? 'query.limit' : 'request.schema';
}

/** The shapes with which the routes read their bodies. */
export const QUERY_SHAPES = Object.freeze({
  query: shapeOf<QueryBody>('query'),
  count: shapeOf<QueryBody>('count'),
  aggregate: shapeOf<AggregateBody>('aggregate'),
});

function shapeOf<Value>(kind: QueryKind): BodyShape<Value> {
  const words = { unknown: (name: string) => unknownPart(name, kind), code: codeAt };
  return { ...bodyShape<Value>(QUERY_SCHEMAS[kind], words), document: QUERY_DOCUMENTS[kind] };
}
