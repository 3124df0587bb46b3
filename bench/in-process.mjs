// Requests to a gateway in this process: everything that a gateway does for a request, without a socket.
import { handle, makeApp } from '../dist/server/http/app.js';
import { NO_CORS } from '../dist/server/http/cors.js';
import { anyHost } from '../dist/server/http/host-guard.js';
import { peerWithoutConnection } from '../dist/server/http/message.js';

const DOOR = { guard: anyHost, showsStatus: false, cors: NO_CORS, isClosing: () => false };
const NEVER = new AbortController().signal;

/** `sent` is `{method, path, key?, ifMatch?, body?, status}`; an answer with another status is an error. */
export function inProcess(services, key) {
  const app = makeApp(services.routes, { services, ...DOOR });
  return async (sent) => {
    const bytes = Buffer.from(sent.body === undefined ? '' : JSON.stringify(sent.body));
    const headers = ['host', 'bench', 'authorization', `Bearer ${key}`];
    if (sent.body !== undefined) headers.push('content-type', 'application/json', 'content-length', String(bytes.length)); // prettier-ignore
    if (sent.key !== undefined) headers.push('idempotency-key', sent.key);
    if (sent.ifMatch !== undefined) headers.push('if-match', sent.ifMatch);
    const { status, text } = await handle(app, {
      method: sent.method,
      url: sent.path,
      rawHeaders: headers,
      peer: peerWithoutConnection('192.0.2.1'),
      gone: NEVER,
      readBody: () => Promise.resolve(bytes),
    });
    if (status !== sent.status) throw new Error(`${sent.method} ${sent.path}: ${status} ${text}`);
    return text;
  };
}
