// The two ways to call the client, on an embedded store in local mode: over HTTP, where each exchange is also checked
// against the API's description, and in this process.
import { type Client, connect } from '../../server/client/index.js';
import { openLocal } from '../../server/client/local.js';
import { openDatabase } from '../../server/db/database.js';
import { checkedFetch } from './checked-fetch.js';
import { openGateway } from './gateway.js';
import { PATIENT } from './stores.js';

interface OpenedClient {
  readonly client: Client;
  readonly close: () => Promise<void>;
}

async function overHttp(dataDir: string): Promise<OpenedClient> {
  const db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  const { gateway, dispose } = await openGateway({ mode: { kind: 'local' }, db });
  const close = async (): Promise<void> => {
    await dispose();
    await db.close();
  };
  return { client: connect({ url: gateway.url, fetch: checkedFetch }), close };
}

async function inProcess(dataDir: string): Promise<OpenedClient> {
  const client = await openLocal({ dataDir });
  return { client, close: client.close };
}

export const CLIENT_WAYS = [
  { name: 'over HTTP', open: overHttp },
  { name: 'in process', open: inProcess },
] as const;
