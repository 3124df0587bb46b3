// GET /metrics: what a monitoring system asks for every few seconds.
import { formatSeries, METRICS_TYPE, type Registry } from '../../metrics/series.js';
import type { StatusRoute } from '../route.js';

export interface MetricsOptions {
  /** What is shown, in this order. */
  readonly metrics: readonly Registry[];
}

export function makeMetricsRoute({ metrics }: MetricsOptions): StatusRoute {
  return {
    method: 'GET',
    path: '/metrics',
    access: 'status',
    operationId: 'getMetrics',
    summary: 'Show counters and gauges in the text format of Prometheus',
    input: {},
    output: { 200: { type: METRICS_TYPE, schema: { type: 'string' } } },
    answer: async () => {
      const series = await Promise.all(metrics.map((registry) => registry.read()));
      return { status: 200, text: formatSeries(series.flat()), type: METRICS_TYPE };
    },
  };
}
