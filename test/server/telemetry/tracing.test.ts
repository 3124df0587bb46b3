// Traces as OpenTelemetry's own packages send them to a collector of the test: they say how a request ended, and
// nothing of what it asked for.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { openTracing } from '../../../server/telemetry/tracing.js';
import { readTraceParent } from '../../../server/telemetry/trace.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

let collector: Server;
let endpoint: string;
const received: { readonly url: string; readonly body: Buffer }[] = [];
const lines: LogLine[] = [];
const log = keptLog(lines);

beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ url: request.url ?? '', body: Buffer.concat(chunks) });
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const address = collector.address();
  endpoint = `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`;
});

afterAll(() => {
  collector.closeAllConnections();
  collector.close();
});

const RESULT = {
  method: 'POST',
  route: '/api/v1/query',
  status: 403,
  requestId: 'request-1',
  snapshot: 'sha256:ab',
  code: 'authz.denied',
  step: 'no_matching_grant',
};

describe('a configured collector', () => {
  it('gets each span, of the trace that its sender began, with what came of the request', async () => {
    // The exporter reads the environment of the process itself.
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = endpoint;
    process.env['OTEL_SERVICE_NAME'] = 'gateway-of-the-test';
    const tracing = await openTracing(process.env, log);
    const begin =
      tracing?.beginSpan ??
      ((): never => {
        throw new Error('there is no tracing');
      });
    const span = begin(readTraceParent(`00-${TRACE}-${PARENT}-01`, 'vendor=1'));
    expect(span.traceId).toBe(TRACE);
    expect(span.headers).toEqual({ traceparent: `00-${TRACE}-${span.spanId}-01`, tracestate: 'vendor=1' });
    span.end(RESULT);
    begin(null).end({ ...RESULT, route: null, status: null, snapshot: null, code: null, step: null });
    // Its sender wants it unsampled.
    const unsampled = begin(readTraceParent(`00-${'a'.repeat(32)}-${PARENT}-00`, undefined));
    expect(unsampled.headers.traceparent).toBe(`00-${'a'.repeat(32)}-${unsampled.spanId}-00`);
    unsampled.end(RESULT);
    await tracing?.close();
    expect(received.map(({ url }) => url)).toEqual(['/v1/traces']);
    const [body] = received.map((one) => one.body.toString('latin1'));
    for (const text of [
      Buffer.from(TRACE, 'hex').toString('latin1'),
      Buffer.from(span.spanId, 'hex').toString('latin1'),
      Buffer.from(PARENT, 'hex').toString('latin1'),
      'POST /api/v1/query',
      'gateway-of-the-test',
      'request-1',
      'authz.denied',
      'no_matching_grant',
    ]) {
      expect(body).toContain(text);
    }
    expect(body).not.toContain(Buffer.from('a'.repeat(32), 'hex').toString('latin1'));
    expect(lines).toEqual([]);
  });
});

test.each([
  ['nothing is set', {}],
  ['the address is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ['it is switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
  ['no traces are wanted', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' }],
])('no span is recorded where %s', async (_, env) => {
  expect(await openTracing(env, log)).toBeNull();
});
