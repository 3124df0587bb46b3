// POST /api/v1/query, /api/v1/query/count and /api/v1/query/aggregate: what the actor may see, and nothing else that exists.
import { type Family, judgeAs, type Policy, ROOT, visibilityAs } from '../../../engine/index.js';
import { AGGREGATE_SCHEMA, COUNT_SCHEMA, PAGE_SCHEMA } from '../../api/answer-schemas.js';
import { type AggregateBody, QUERY_SHAPES, type QueryBody } from '../../api/query-schema.js';
import type { Database } from '../../db/database.js';
import { HTTP_LIMITS } from '../../limits/http.js';
import { ApiProblem, type ProblemCode } from '../../problem.js';
import { aggregateRecords } from '../../query/aggregate.js';
import { planAggregate, planQuery } from '../../query/parse-query.js';
import type { QueryPlan } from '../../query/plan.js';
import { countMatches, listPage, namespaceExists } from '../../query/records.js';
import { makeVisibleMemory, type VisibleSet } from '../../query/remembered.js';
import type { RowPredicate } from '../../query/row-predicate.js';
import { type BodyInput, type DecidedQuery, type RecordVisibility, type Route, visibilityRoute } from '../route.js';

export interface QueryRoutesOptions {
  readonly db: Database;
  /** The store's secret for sealing cursors. */
  readonly cursorKey: Uint8Array;
}

/** A query on the records of the demo. */
const ASKED: QueryBody = Object.freeze({
  family: 'resource',
  namespace: '/',
  reach: 'subtree',
  where: { 'properties.kind': { eq: 'crystal' }, 'properties.resolutionA': { gte: 2.2 } },
});

/** The cursor of a page has room of its own, so that a client can always send it back with its query. */
const LIST_BODY: BodyInput<QueryBody> = {
  types: ['application/json'],
  shape: QUERY_SHAPES.query,
  example: {
    ...ASKED,
    orderBy: [{ 'properties.resolutionA': 'asc' }],
    select: ['namespace', 'name', 'properties.resolutionA'],
    page: { size: 3 },
  },
  maxBytes: HTTP_LIMITS.bodyBytes,
  carries: {
    at: ['page', 'after'],
    memberBytes: HTTP_LIMITS.cursorMemberBytes,
    maxBytes: HTTP_LIMITS.cursorMemberBytes + HTTP_LIMITS.cursorCharacters,
  },
};

const COUNT_BODY: BodyInput<QueryBody> = {
  types: ['application/json'],
  shape: QUERY_SHAPES.count,
  example: ASKED,
  maxBytes: HTTP_LIMITS.bodyBytes,
};

const AGGREGATE_BODY: BodyInput<AggregateBody> = {
  types: ['application/json'],
  shape: QUERY_SHAPES.aggregate,
  example: { ...ASKED, groupBy: 'namespace', values: [{ count: true }, { min: 'properties.resolutionA' }] },
  maxBytes: HTTP_LIMITS.bodyBytes,
};

const QUERY_PROBLEMS: readonly ProblemCode[] = Object.freeze([
  'namespace.invalid',
  'namespace.not_found',
  'query.unknown_field',
  'query.unknown_operator',
  'query.type_mismatch',
  'query.limit',
  'query.cursor',
  'query.too_complex',
]);

export function makeQueryRoutes({ db, cursorKey }: QueryRoutesOptions): readonly Route[] {
  const remember = makeVisibleMemory();
  const visibleSet = ({ actor, visible }: DecidedQuery, { family, reach, namespace }: Asked): VisibleSet =>
    remember(`${actor.credentialFingerprint ?? actor.kind} ${family} ${reach} ${namespace}`, visible);
  /** Each included record is decided where it is, as a GET of it would be. */
  const includable = (decided: DecidedQuery, { includes }: QueryPlan): ReadonlyMap<Family, RowPredicate> => {
    const opened = new Map<Family, RowPredicate>();
    for (const { family } of includes) {
      const request = { family, context: ROOT, reach: 'subtree' } as const;
      const visible = visibilityAs(decided.resolved, { request, at: decided.at });
      if (visible.kind !== 'none')
        opened.set(family, visibleSet({ ...decided, visible }, { ...request, namespace: ROOT }).predicate);
    }
    return opened;
  };
  const list = visibilityRoute({
    method: 'POST',
    path: '/api/v1/query',
    operationId: 'queryRecords',
    summary: 'Find records that the actor may see, a page at a time',
    problems: QUERY_PROBLEMS,
    body: LIST_BODY,
    output: { 200: { type: 'application/json', schema: PAGE_SCHEMA } },
    planOf: planQuery,
    verb: 'query',
    visibilityOf: visibilityRequest,
    answer: async (decided, plan) => {
      const { actor, policy, gone } = decided;
      const { predicate, digest } = visibleSet(decided, plan);
      const cursors = { secret: cursorKey, actorId: actor.id, visibility: digest };
      const [page] = await Promise.all([
        listPage(db, {
          predicate,
          plan,
          cursors,
          includable: includable(decided, plan),
          signal: gone,
          asker: actor.id,
        }),
        assertNamespace(db, decided, plan),
      ]);
      const next = page.next === null ? 'null' : `"${page.next}"`;
      const included = page.included === null ? '' : `,"included":${page.included}`;
      const shown = `"items":${page.items},"page":{"size":${String(plan.page.size)},"next":${next}}${included}`;
      return {
        status: 200,
        json: answerJson(plan, shown, policy),
        shown: { items: page.count, ids: page.ids, visibility: digest },
      };
    },
  });
  const count = visibilityRoute({
    method: 'POST',
    path: '/api/v1/query/count',
    operationId: 'countRecords',
    summary: 'Count the records that the actor may see',
    problems: QUERY_PROBLEMS,
    body: COUNT_BODY,
    output: { 200: { type: 'application/json', schema: COUNT_SCHEMA } },
    planOf: planQuery,
    verb: 'count',
    visibilityOf: visibilityRequest,
    answer: async (decided, plan) => {
      const { actor, gone } = decided;
      const { predicate, digest } = visibleSet(decided, plan);
      const [{ count: total, only }] = await Promise.all([
        countMatches(db, { predicate, plan, signal: gone, asker: actor.id }),
        assertNamespace(db, decided, plan),
      ]);
      return {
        status: 200,
        json: answerJson(plan, `"count":${String(total)}`, decided.policy),
        shown: { items: total, visibility: digest, ...(only === null ? {} : { ids: only }) },
      };
    },
  });
  const aggregate = visibilityRoute({
    method: 'POST',
    path: '/api/v1/query/aggregate',
    operationId: 'aggregateRecords',
    summary: 'Count and sum up visible records by the values of a field',
    problems: QUERY_PROBLEMS.filter((code) => code !== 'query.cursor'),
    body: AGGREGATE_BODY,
    output: { 200: { type: 'application/json', schema: AGGREGATE_SCHEMA } },
    planOf: planAggregate,
    verb: 'aggregate',
    visibilityOf: visibilityRequest,
    answer: async (decided, plan) => {
      const { actor, gone } = decided;
      const { predicate, digest } = visibleSet(decided, plan);
      const [groups] = await Promise.all([
        aggregateRecords(db, { predicate, plan, signal: gone, asker: actor.id }),
        assertNamespace(db, decided, plan),
      ]);
      return {
        status: 200,
        json: answerJson(plan, `"groups":${groups.json}`, decided.policy),
        shown: { items: groups.count, visibility: digest, ...(groups.alone === '' ? {} : { ids: groups.alone }) },
      };
    },
  });
  return [list, count, aggregate];
}

type Asked = Pick<QueryPlan, 'family' | 'namespace' | 'reach'>;

function visibilityRequest({ family, namespace, reach }: Asked): RecordVisibility {
  return { family, context: namespace, reach };
}

/** An actor who may read the namespace itself learns if it does not exist. Everyone else gets answers as if it did. */
async function assertNamespace(
  db: Database,
  { resolved, at, gone }: DecidedQuery,
  { namespace }: Asked,
): Promise<void> {
  // The root always exists.
  if (namespace === ROOT) return;
  const request = { kind: 'access', scope: 'namespace:read', context: namespace, target: namespace } as const;
  if (judgeAs(resolved, { request, at }) !== 'allow') return;
  if (!(await namespaceExists(db, namespace, gone))) throw new ApiProblem('namespace.not_found');
}

/**
 * The query, what it shows (members of an object as JSON text) and the policy. Our own names, canonical
 * paths, digests and cursors contain nothing that JSON would escape.
 */
function answerJson({ family, namespace, reach }: Asked, shown: string, { digest }: Policy): string {
  return `{"family":"${family}","namespace":"${namespace}","reach":"${reach}",${shown},"snapshot":"${digest}"}`;
}
