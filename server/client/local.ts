// `bailiwick/local`: the same client on a store of this process, without a gateway, a socket or a credential: local
// mode. Anybody who can open the folder may do everything in it.
import { makeServices } from '../compose.js';
import { type Database, openDatabase } from '../db/database.js';
import { migrate } from '../db/migrate.js';
import { type App, handle, makeApp } from '../http/app.js';
import { NO_CORS } from '../http/cors.js';
import { anyHost } from '../http/host-guard.js';
import { type Outgoing, peerWithoutConnection } from '../http/message.js';
import { ApiProblem } from '../problem.js';
import { type Client, makeClient } from './client.js';
import type { Transport } from './transport.js';

export interface LocalOptions {
  /** The folder of the data. A store is made if there is none. */
  readonly dataDir: string;
}

export interface LocalClient extends Client {
  /** Closes everything that is open. */
  readonly close: () => Promise<void>;
}

const silent = (): void => undefined;

export async function openLocal({ dataDir }: LocalOptions): Promise<LocalClient> {
  const db = await openDatabase({ kind: 'embedded', dataDir });
  try {
    await migrate(db);
    return await overStore(db);
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function overStore(db: Database): Promise<LocalClient> {
  const services = await makeServices({
    mode: { kind: 'local' },
    db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor: 0 },
    log: { info: silent, warn: silent, error: silent },
  });
  const door = { services, guard: anyHost, isClosing: () => false, showsStatus: false, cors: NO_CORS };
  const app = makeApp(services.routes, door);
  const close = async (): Promise<void> => {
    await services.close();
    await db.close();
  };
  return Object.freeze({ ...makeClient(inProcess(app)), close });
}

/** A transport that calls the pipeline of a gateway directly. */
function inProcess(app: App): Transport {
  return async ({ method, path, headers, body, signal }) => {
    signal?.throwIfAborted();
    const bytes = Buffer.from(body ?? '');
    const all = { host: 'localhost', ...headers, ...(body === null ? {} : { 'content-length': String(bytes.length) }) };
    const outgoing = await handle(app, {
      method,
      url: path,
      rawHeaders: Object.entries(all).flat(),
      peer: peerWithoutConnection(null),
      gone: signal ?? new AbortController().signal,
      readBody: (most) =>
        bytes.length > most ? Promise.reject(new ApiProblem('request.too_large')) : Promise.resolve(bytes),
      // No route of the API reads a body in parts.
      readParts: () => Promise.reject(new ApiProblem('request.too_large')),
    });
    signal?.throwIfAborted();
    return {
      status: outgoing.status,
      header: (name) => headerOf(outgoing, name),
      text: outgoing.text,
      retryAfter: null,
    };
  };
}

function headerOf({ headers }: Outgoing, name: string): string | null {
  const at = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name);
  return at < 0 ? null : (headers[at + 1] ?? null);
}
