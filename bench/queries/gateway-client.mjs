// The gateway's thread as the bench sees it: requests over kept connections, and what the bare handler is to run.
import { Agent, request as httpRequest } from 'node:http';
import { Worker } from 'node:worker_threads';
import { say } from '../rows.mjs';

export const CONNECTIONS = 32;

export async function startThread({ server, settings }, { sets, namespaces }) {
  const actors = sets.map(({ roots }, index) => ({ actor: `set-${index}`, roots }));
  const own = actors.reduce((sum, { roots }) => sum + roots.length, 0);
  say(`compiling a policy of ${settings.grants} grants`);
  const worker = new Worker(new URL('./gateway-thread.mjs', import.meta.url), {
    workerData: { url: server.url, actors, fillers: { count: Math.max(0, settings.grants - own), namespaces } },
    resourceLimits: { maxOldGenerationSizeMb: 8192 },
  });
  const next = () =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  const { url, bareUrl, keys } = await next();
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return {
    /** Each resolves with the text of the answer: reading it is the client's business. */
    ask: (actor, kind, envelope) =>
      post(`${url}/api/v1/query${kind === 'count' ? '/count' : ''}`, { body: envelope, key: keys[actor], agent }),
    bare: (body) => post(`${bareUrl}/bare`, { body, agent }),
    straight: (body) => post(`${bareUrl}/straight`, { body, agent }),
    keyed: (actor, body) => post(`${bareUrl}/keyed`, { body, key: keys[actor], agent }),
    tell: async (message) => {
      const done = next();
      worker.postMessage(message);
      return done;
    },
    stop: async () => {
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage({ kind: 'stop' });
      agent.destroy();
      await ended;
    },
  };
}

function post(url, { body, key, agent }) {
  const bytes = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': bytes.length,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${response.statusCode} ${text}`));
      });
    });
    request.end(bytes);
  });
}
