// The cost of an Express application that does nothing: no policy, no credential, no store, no log. `node bare.mjs <processes>` prints its port.
import cluster from 'node:cluster';
import express from 'express';

const processes = Number(process.argv[2]);
const ANSWER = { family: 'resource', namespace: '/', reach: 'lineage', items: [], page: { size: 50, next: null } };

function serve() {
  const app = express().disable('x-powered-by').disable('etag');
  app.post('/api/v1/query', express.json(), (_request, response) => response.json(ANSWER));
  return app.listen(0, '127.0.0.1');
}

if (processes === 1) {
  const server = serve();
  server.on('listening', () => process.stdout.write(`${server.address().port}\n`));
} else if (cluster.isPrimary) {
  let listening = 0;
  cluster.on('listening', (_worker, { port }) => {
    listening += 1;
    if (listening === processes) process.stdout.write(`${port}\n`);
  });
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGKILL');
    process.exit(0);
  });
  for (let number = 0; number < processes; number += 1) cluster.fork();
} else serve();
