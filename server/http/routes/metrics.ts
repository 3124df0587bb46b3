// GET /metrics: what a monitoring system asks for every few seconds.
import { formatSeries, METRICS_TYPE, type Series } from '../../metrics/series.js';
import type { StatusRoute } from '../route.js';

export interface MetricsOptions {
  /** The series to show, in this order. */
  readonly readSeries: () => Promise<readonly Series[]>;
}

export function makeMetricsRoute({ readSeries }: MetricsOptions): StatusRoute {
  return {
    method: 'GET',
    path: '/metrics',
    access: 'status',
    operationId: 'getMetrics',
    summary: 'Show counters and gauges in the text format of Prometheus',
    input: {},
    output: { 200: { type: METRICS_TYPE, schema: { type: 'string' } } },
    answer: async () => ({ status: 200, text: formatSeries(await readSeries()), type: METRICS_TYPE }),
  };
}
