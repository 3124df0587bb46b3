// A gateway in local mode, in a process of its own, that is less patient with clients that read nothing: `node
// local-gateway.js <dataDir>`. Prints its port; SIGTERM ends it.
import { startGateway } from '../../server/compose.js';
import { openDatabase } from '../../server/db/database.js';
import { bindTcp } from '../../server/http/http-server.js';
import { HTTP_LIMITS } from '../../server/limits/http.js';

const [dataDir = ''] = process.argv.slice(2);
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

const db = await openDatabase({ kind: 'embedded', dataDir });
// Longer than the system keeps one who reads slowly and steadily from being seen to read.
const timeouts = { ...HTTP_LIMITS, writeTimeout: 3_000 };
const gateway = await startGateway({
  mode: { kind: 'local' },
  db,
  listen: await bindTcp({ host: '127.0.0.1', port: 0 }, { timeouts }),
  rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
  concurrency: { perActor: 4 },
  log: quiet,
});
process.once('SIGTERM', () => {
  void gateway.close().then(() => db.close());
});
process.stdout.write(`${String(gateway.address.port)}\n`);
