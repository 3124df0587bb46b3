// A web server that serves what is put there, with an ETag, over plain HTTP or TLS. It can also be told to misbehave.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export type Misbehave = (request: IncomingMessage, response: ServerResponse) => void;

export interface PolicyServer {
  readonly port: number;
  /** Null takes it away. */
  readonly put: (path: string, bytes: Uint8Array | null) => void;
  /** Answers instead; null: no more. */
  readonly misbehave: (how: Misbehave | null) => void;
  /** What was asked since the last time, with the status of the answer. */
  readonly asked: () => readonly string[];
  readonly stop: () => Promise<void>;
}

export async function startPolicyServer(
  tls: { readonly cert: Buffer; readonly key: Buffer } | null = null,
): Promise<PolicyServer> {
  const documents = new Map<string, Uint8Array>();
  let asked: string[] = [];
  let misbehaving: Misbehave | null = null;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? '';
    response.once('close', () => asked.push(`${path} ${String(response.statusCode)}`));
    if (misbehaving !== null) {
      misbehaving(request, response);
      return;
    }
    const bytes = documents.get(path);
    const etag = `"${createHash('sha256')
      .update(bytes ?? '')
      .digest('hex')}"`;
    if (bytes === undefined) response.writeHead(404).end();
    else if (request.headers['if-none-match'] === etag) response.writeHead(304, { ETag: etag }).end();
    else response.writeHead(200, { ETag: etag, 'Content-Length': bytes.length }).end(bytes);
  };
  const server = tls === null ? createServer(answer) : createTlsServer(tls, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    put: (path, bytes) => {
      if (bytes === null) documents.delete(path);
      else documents.set(path, bytes);
    },
    misbehave: (how) => {
      misbehaving = how;
    },
    asked: () => {
      const said = asked;
      asked = [];
      return said;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
