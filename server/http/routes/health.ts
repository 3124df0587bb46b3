// GET /livez and /readyz, for supervisors and load balancers: no credential, and nothing about this installation.
import { HEALTH_SCHEMA } from '../../api/admin-schemas.js';
import type { Readiness } from '../readiness.js';
import type { PublicRoute, Route } from '../route.js';

const JSON_TYPE = 'application/json';

export function makeHealthRoutes(readiness: () => Promise<Readiness>): readonly Route[] {
  const described = { method: 'GET', access: 'public', input: {} } as const;
  const livez: PublicRoute = {
    ...described,
    path: '/livez',
    operationId: 'getLivez',
    summary: 'Say whether the process answers at all',
    output: { 200: { type: JSON_TYPE, schema: HEALTH_SCHEMA } },
    answer: () => ({ status: 200, json: JSON.stringify({ status: 'ok', checks: {} }) }),
  };
  const readyz: PublicRoute = {
    ...described,
    path: '/readyz',
    operationId: 'getReadyz',
    summary: 'Say whether requests can be answered now',
    output: {
      200: { type: JSON_TYPE, schema: HEALTH_SCHEMA },
      503: { type: JSON_TYPE, schema: HEALTH_SCHEMA },
    },
    answer: async () => {
      const { isReady, checks } = await readiness();
      return { status: isReady ? 200 : 503, json: JSON.stringify({ status: isReady ? 'ok' : 'failed', checks }) };
    },
  };
  return [livez, readyz];
}
