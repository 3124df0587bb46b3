// The plan of a query or count body, as the routes make it.
import { QUERY_SHAPES, type QueryKind } from '../../server/api/query-schema.js';
import { planQuery } from '../../server/query/parse-query.js';
import type { QueryPlan } from '../../server/query/plan.js';

export const parseQuery = (body: unknown, kind: QueryKind): QueryPlan => planQuery(QUERY_SHAPES[kind].read(body));
