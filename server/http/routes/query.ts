// POST /api/v1/query and /api/v1/query/count: what the actor may see, and nothing else that is there (design 2.4, 7).
import { decide, ROOT, type VisibilityRequest } from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import { ApiProblem } from '../../problem.js';
import { parseQuery } from '../../query/parse-query.js';
import type { QueryPlan } from '../../query/plan.js';
import { countRecords, listPage, namespaceExists } from '../../query/records.js';
import { makeVisibleMemory, type VisibleSet } from '../../query/visible-memory.js';
import type { Answer } from '../exchange.js';
import { type Decided, type Route, visibilityRoute } from '../route.js';

export interface QueryRoutesOptions {
  readonly db: Database;
  /** Secret of the store that seals cursors. */
  readonly cursorKey: Uint8Array;
}

export function makeQueryRoutes({ db, cursorKey }: QueryRoutesOptions): readonly Route[] {
  const remember = makeVisibleMemory();
  const visibleSet = ({ actor, visible }: Decided, { family, reach, namespace }: QueryPlan): VisibleSet =>
    remember(JSON.stringify([actor.credentialFingerprint, family, reach, namespace]), visible);
  const list = visibilityRoute({
    method: 'POST',
    path: '/api/v1/query',
    parse: (body) => parseQuery(body, 'query'),
    visibilityOf: visibilityRequest,
    answer: async (decided, plan) => {
      const { actor, policy } = decided;
      const { predicate, digest } = visibleSet(decided, plan);
      const cursors = { secret: cursorKey, actorId: actor.id, visibility: digest };
      const [page] = await Promise.all([
        listPage(db, { predicate, plan, cursors }),
        assertNamespace(db, decided, plan),
      ]);
      const head = JSON.stringify(envelopeOf(plan));
      const tail = JSON.stringify({ page: { size: plan.page.size, next: page.next }, snapshot: policy.digest });
      // The items are JSON already: they go in between as they are.
      return { status: 200, json: `${head.slice(0, -1)},"items":${page.items},${tail.slice(1)}` };
    },
  });
  const count = visibilityRoute({
    method: 'POST',
    path: '/api/v1/query/count',
    parse: (body) => parseQuery(body, 'count'),
    visibilityOf: visibilityRequest,
    answer: async (decided, plan) => {
      const [total] = await Promise.all([
        countRecords(db, { predicate: visibleSet(decided, plan).predicate, plan }),
        assertNamespace(db, decided, plan),
      ]);
      return ok({ ...envelopeOf(plan), count: total, snapshot: decided.policy.digest });
    },
  });
  return [list, count];
}

function visibilityRequest({ family, namespace, reach }: QueryPlan): VisibilityRequest {
  return { family, context: namespace, reach };
}

/** Who may read the namespace itself is told that there is none; to everyone else it is as if there were (design 2.4). */
async function assertNamespace(db: Database, { actor, at, policy }: Decided, { namespace }: QueryPlan): Promise<void> {
  // The root is always there.
  if (namespace === ROOT) return;
  const request = { kind: 'access', scope: 'namespace:read', context: namespace, target: namespace } as const;
  if (decide(policy, { actor, request, at }).decision === 'deny') return;
  if (!(await namespaceExists(db, namespace))) throw new ApiProblem('namespace.not_found');
}

function envelopeOf({ family, namespace, reach }: QueryPlan): Pick<QueryPlan, 'family' | 'namespace' | 'reach'> {
  return { family, namespace, reach };
}

function ok(body: Readonly<Record<string, unknown>>): Answer {
  return { status: 200, json: JSON.stringify(body) };
}
