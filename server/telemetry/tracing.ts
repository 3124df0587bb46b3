// Records spans and sends them to a collector, if OpenTelemetry is configured in its usual way
// (`OTEL_EXPORTER_OTLP_ENDPOINT` and others) and its packages are installed. Spans say what kind of request it was and
// how it ended. Who asked, and for which namespace or record, stays here.
import type * as Api from '@opentelemetry/api';
import type * as Exporter from '@opentelemetry/exporter-trace-otlp-proto';
import type * as Resources from '@opentelemetry/resources';
import type * as Sdk from '@opentelemetry/sdk-trace-node';
import type { Logger } from '../lib/ports.js';
import type { BeginSpan, TraceHeaders } from './trace.js';

export interface Tracing {
  readonly beginSpan: BeginSpan;
  /** Sends the remaining spans, as far as the collector takes them. */
  readonly close: () => Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Null if traces are not wanted or cannot be sent; the log says why. */
export async function openTracing(env: Environment, log: Logger): Promise<Tracing | null> {
  if (!isWanted(env)) return null;
  const packages = await loadPackages().catch((error: unknown) => {
    const message =
      'no traces are sent: OTEL_EXPORTER_OTLP_… is set, but the packages of OpenTelemetry cannot be loaded';
    log.warn({ packages: PACKAGES, error }, message);
    return null;
  });
  return packages === null ? null : record(packages, log);
}

function isWanted(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED'] === 'true' || !['', 'otlp'].includes(env['OTEL_TRACES_EXPORTER'] ?? '')) return false;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all = '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces = '' } = env;
  return all !== '' || traces !== '';
}

const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-proto',
];

interface Packages {
  readonly api: typeof Api;
  readonly resources: typeof Resources;
  readonly sdk: typeof Sdk;
  readonly exporter: typeof Exporter;
}

async function loadPackages(): Promise<Packages> {
  const [api, resources, sdk, exporter] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  return { api, resources, sdk, exporter };
}

function record({ api, resources, sdk, exporter }: Packages, log: Logger): Tracing {
  const silent = (): void => undefined;
  const onError = (): void => {
    log.warn({}, 'traces could not be sent');
  };
  api.diag.setLogger({ error: onError, warn: silent, info: silent, debug: silent, verbose: silent });
  const named = resources.resourceFromAttributes({ 'service.name': 'bailiwick' });
  const detected = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new sdk.NodeTracerProvider({
    // Values from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    resource: resources.defaultResource().merge(named).merge(detected),
    spanProcessors: [new sdk.BatchSpanProcessor(new exporter.OTLPTraceExporter())],
  });
  const tracer = provider.getTracer('bailiwick');
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, createTraceState, trace } = api;
  return {
    beginSpan: (parent) => {
      const context =
        parent === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: Number.parseInt(parent.flags, 16),
              isRemote: true,
              ...(parent.state === '' ? {} : { traceState: createTraceState(parent.state) }),
            });
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, context);
      const { traceId, spanId, traceFlags, traceState } = span.spanContext();
      const state = traceState?.serialize() ?? '';
      const flags = traceFlags.toString(16).padStart(2, '0');
      const headers: TraceHeaders = {
        traceparent: `00-${traceId}-${spanId}-${flags}`,
        ...(state === '' ? {} : { tracestate: state }),
      };
      return {
        traceId,
        spanId,
        isKnown: true,
        headers,
        end: ({ method, route, status, requestId, snapshot, code, step }) => {
          span.updateName(route === null ? method : `${method} ${route}`);
          span.setAttributes({
            'http.request.method': method,
            'bailiwick.request_id': requestId,
            ...(route === null ? {} : { 'http.route': route }),
            ...(status === null ? {} : { 'http.response.status_code': status }),
            ...(snapshot === null ? {} : { 'bailiwick.snapshot': snapshot }),
            ...(code === null ? {} : { 'error.type': code }),
            ...(step === null ? {} : { 'bailiwick.step': step }),
          });
          if (status !== null && status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    close: async () => {
      await provider.shutdown().catch(onError);
    },
  };
}
