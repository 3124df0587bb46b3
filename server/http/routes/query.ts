// POST /api/v1/query, /api/v1/query/count and /api/v1/query/aggregate: what the actor may see, and nothing else that exists.
import { type Family, judgeAs, type Policy, ROOT, visibilityAs } from '../../../engine/index.js';
import { AGGREGATE_SCHEMA, COUNT_SCHEMA, PAGE_SCHEMA } from '../../api/answer-schemas.js';
import { QUERY_SHAPES, type QueryBody } from '../../api/query-schema.js';
import type { ShownIds } from '../../audit/listed.js';
import type { Database } from '../../db/database.js';
import { HTTP_LIMITS } from '../../limits/http.js';
import { ApiProblem, type ProblemCode } from '../../problem.js';
import { aggregateRecords } from '../../query/aggregate.js';
import { planAggregate, planQuery } from '../../query/parse-query.js';
import type { QueryPlan } from '../../query/plan.js';
import { countMatches, listPage, namespaceExists } from '../../query/records.js';
import { makeVisibleMemory, type VisibleSet } from '../../query/remembered.js';
import type { RowPredicate } from '../../query/row-predicate.js';
import {
  type BodyInput,
  type DecidedQuery,
  jsonBody,
  type Route,
  type VisibilityRoute,
  visibilityRoute,
} from '../route.js';

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
  ...jsonBody(QUERY_SHAPES.query, {
    ...ASKED,
    orderBy: [{ 'properties.resolutionA': 'asc' }],
    select: ['namespace', 'name', 'properties.resolutionA'],
    page: { size: 3 },
  }),
  carries: {
    at: ['page', 'after'],
    memberBytes: HTTP_LIMITS.cursorMemberBytes,
    maxBytes: HTTP_LIMITS.cursorMemberBytes + HTTP_LIMITS.cursorCharacters,
  },
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
  const queryRoute = <Body, Plan extends Asked>({ read, ...told }: QueryRoute<Body, Plan>): Route =>
    visibilityRoute<Body, Plan>({
      ...told,
      method: 'POST',
      visibilityOf: ({ family, namespace, reach }) => ({ family, context: namespace, reach }),
      answer: async (decided, plan) => {
        const { predicate, digest } = visibleSet(decided, plan);
        const reading = { predicate, plan, signal: decided.gone, asker: decided.actor.id };
        const [found] = await Promise.all([
          read(reading, { decided, visibility: digest }),
          assertNamespace(db, decided, plan),
        ]);
        const { members, items, ids } = found;
        return {
          status: 200,
          json: answerJson(plan, members, decided.policy),
          shown: { items, visibility: digest, ...(ids === null ? {} : { ids }) },
        };
      },
    });
  const list = queryRoute({
    path: '/api/v1/query',
    operationId: 'queryRecords',
    summary: 'Find records that the actor may see, a page at a time',
    problems: QUERY_PROBLEMS,
    body: LIST_BODY,
    output: { 200: { type: 'application/json', schema: PAGE_SCHEMA } },
    planOf: planQuery,
    verb: 'query',
    read: (reading, { decided, visibility }) => {
      const { plan } = reading;
      const cursors = { secret: cursorKey, actorId: decided.actor.id, visibility };
      // Throws by itself, and not in a promise, if the cursor does not open: then the store is asked nothing.
      return listPage(db, { ...reading, cursors, includable: includable(decided, plan) }).then((page) => {
        const next = page.next === null ? 'null' : `"${page.next}"`;
        const included = page.included === null ? '' : `,"included":${page.included}`;
        const members = `"items":${page.items},"page":{"size":${String(plan.page.size)},"next":${next}}${included}`;
        return { members, items: page.count, ids: page.ids };
      });
    },
  });
  const count = queryRoute({
    path: '/api/v1/query/count',
    operationId: 'countRecords',
    summary: 'Count the records that the actor may see',
    problems: QUERY_PROBLEMS,
    body: jsonBody(QUERY_SHAPES.count, ASKED),
    output: { 200: { type: 'application/json', schema: COUNT_SCHEMA } },
    planOf: planQuery,
    verb: 'count',
    read: async (reading) => {
      const { count: items, only } = await countMatches(db, reading);
      return { members: `"count":${String(items)}`, items, ids: only };
    },
  });
  const aggregate = queryRoute({
    path: '/api/v1/query/aggregate',
    operationId: 'aggregateRecords',
    summary: 'Count and sum up visible records by the values of a field',
    problems: QUERY_PROBLEMS.filter((code) => code !== 'query.cursor'),
    body: jsonBody(QUERY_SHAPES.aggregate, {
      ...{ ...ASKED, groupBy: 'namespace', values: [{ count: true }, { min: 'properties.resolutionA' }] },
    }),
    output: { 200: { type: 'application/json', schema: AGGREGATE_SCHEMA } },
    planOf: planAggregate,
    verb: 'aggregate',
    read: async (reading) => {
      const { json, count: items, alone } = await aggregateRecords(db, reading);
      return { members: `"groups":${json}`, items, ids: alone === '' ? null : alone };
    },
  });
  return [list, count, aggregate];
}

interface Reading<Plan> {
  readonly predicate: RowPredicate;
  readonly plan: Plan;
  readonly signal: AbortSignal;
  readonly asker: string;
}

interface QueryRoute<Body, Plan> extends Omit<VisibilityRoute<Body, Plan>, 'method' | 'visibilityOf' | 'answer'> {
  readonly read: (
    reading: Reading<Plan>,
    by: { readonly decided: DecidedQuery; readonly visibility: string },
  ) => Promise<{
    /** Of the answer, as JSON. */
    readonly members: string;
    /** How many records it shows, and which. */
    readonly items: number;
    readonly ids: ShownIds | null;
  }>;
}

type Asked = Pick<QueryPlan, 'family' | 'namespace' | 'reach'>;

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
