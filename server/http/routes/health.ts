// GET /livez and /readyz, for supervisors and load balancers: no credential, and nothing about this installation.
import { HEALTH_SCHEMA } from '../../api/admin-schemas.js';
import type { Readiness } from '../readiness.js';
import type { HealthRoute, Route } from '../route.js';

const JSON_TYPE = 'application/json';

export interface HealthOptions {
  readonly readiness: () => Promise<Readiness>;
  /** Whether /readyz says which of its checks have failed. */
  readonly shows: 'checks' | 'result';
}

export function makeHealthRoutes({ readiness, shows }: HealthOptions): readonly Route[] {
  const described = { method: 'GET', access: 'health', input: {} } as const;
  const livez: HealthRoute = {
    ...described,
    path: '/livez',
    operationId: 'getLivez',
    summary: 'Say whether the process answers at all',
    output: { 200: { type: JSON_TYPE, schema: HEALTH_SCHEMA } },
    answer: () => Promise.resolve({ status: 200, json: JSON.stringify({ status: 'ok', checks: {} }) }),
  };
  const readyz: HealthRoute = {
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
      const shown = { status: isReady ? 'ok' : 'failed', checks: shows === 'checks' ? checks : {} };
      return { status: isReady ? 200 : 503, json: JSON.stringify(shown) };
    },
  };
  return [livez, readyz];
}
