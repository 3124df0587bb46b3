// Clients that ask all the time, each on a connection of its own, with one request at a time. Every answer is checked against the snapshot that
// it names.
import { Agent, request } from 'node:http';

/** `isRight` judges `{status, snapshot, json}`. Without it, every answer with status 200 is right. */
export function startLoad({ port, key, body, connections, isRight = ({ status }) => status === 200 }) {
  const text = JSON.stringify(body);
  let [times, wrong, isOver] = [[], 0, false];
  const clients = Array.from({ length: connections }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isOver) {
      const started = performance.now();
      const answer = await ask({ port, agent, key, text }).catch(() => null);
      times.push(performance.now() - started);
      if (answer === null || !isRight(answer)) wrong += 1;
    }
    agent.destroy();
  });
  return {
    /** Figures of the answers since the last call, in milliseconds. */
    take: () => {
      const sorted = Float64Array.from(times).sort();
      const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
      const taken = { answers: sorted.length, wrong, median: at(0.5), p999: at(0.999) };
      [times, wrong] = [[], 0];
      return taken;
    },
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

/** The snapshot by which a gateway answers now. */
export async function snapshotNow({ port, agent, key }) {
  return (await ask({ port, agent, key, text: '', method: 'GET', path: '/api/v1/whoami' })).snapshot;
}

function ask({ port, agent, key, text, method = 'POST', path = '/api/v1/query' }) {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', agent, method, path, headers }, (response) => {
      const chunks = [];
      response.on('error', reject).on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const json = JSON.parse(Buffer.concat(chunks).toString());
        resolve({ status: response.statusCode, snapshot: response.headers['bailiwick-snapshot'], json });
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}
