// What answers at the address for admins while the gateway waits for its store: it is alive (/livez) and not ready.
// So supervisors do not end it because it waits. Every other request there is answered 503.
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { randomUUID } from 'node:crypto';
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import { PROBLEM_TYPE, problemText } from './exchange.js';
import { listenOnTcp, type TcpAt } from './listen-at.js';
import type { TlsIdentity } from './tls-files.js';

const OPTIONS = {
  maxHeaderSize: HTTP_LIMITS.headerBytes,
  headersTimeout: HTTP_LIMITS.headersTimeout,
  requestTimeout: HTTP_LIMITS.requestTimeout,
  connectionsCheckingInterval: HTTP_LIMITS.timeoutCheckInterval,
  requireHostHeader: false,
};

/** Resolves to the function that ends it. Rejects with Node's error if the address cannot be bound. */
export async function answerProbes(
  { host, port }: { readonly host: string; readonly port: number },
  tls: TlsIdentity | null,
): Promise<() => Promise<void>> {
  const server =
    tls === null ? createServer(OPTIONS, answer) : createTlsServer({ ...OPTIONS, ...tls.context() }, answer);
  server.maxConnections = HTTP_LIMITS.connectionsOfAddress;
  const at: TcpAt = { kind: tls === null ? 'tcp' : 'tls', host, port };
  await listenOnTcp(server, at);
  return () =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
}

const answer: RequestListener = (request, response) => {
  const path = request.url?.split('?', 1)[0];
  const isProbe = request.method === 'GET' || request.method === 'HEAD';
  const requestId = randomUUID();
  const [status, type, text] =
    isProbe && path === '/livez'
      ? [200, 'application/json', JSON.stringify({ status: 'ok', checks: {} })]
      : isProbe && path === '/readyz'
        ? [503, 'application/json', JSON.stringify({ status: 'failed', checks: { store: 'failed' } })]
        : [503, PROBLEM_TYPE, problemText(new ApiProblem('db.unavailable', { retryAfter: 1 }), requestId)];
  response
    .writeHead(status, {
      'Content-Type': type,
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestId,
      Connection: 'close',
      ...(status === 503 && type === PROBLEM_TYPE ? { 'Retry-After': '1' } : {}),
    })
    .end(text);
};
