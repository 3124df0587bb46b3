// The bench's side of a thread with a store and its gateways. Only requests over HTTP are sent from here.
import { Agent, request as httpRequest } from 'node:http';
import { Worker } from 'node:worker_threads';
import { makeWriter } from './world.mjs';

export async function startThread({ config, folder, settings }) {
  const worker = new Worker(new URL('./gateways.mjs', import.meta.url), { workerData: { config, folder, settings } });
  const failed = new Promise((_, reject) => worker.once('error', reject));
  const next = () => Promise.race([failed, new Promise((resolve) => worker.once('message', resolve))]);
  const { urls, key, places } = await next();
  const agent = new Agent({ keepAlive: true, maxSockets: places.length });
  const writers = places.map(makeWriter);
  const ask = (message) => {
    const answered = next();
    worker.postMessage(message);
    return answered;
  };
  return {
    rate: async (asked) => {
      const url = urls[asked.way];
      if (url === undefined) return (await ask({ kind: 'rate', ...asked })).rate;
      const { rate } = await measureRate(writers.slice(0, asked.writers), asked, (sent) =>
        send(url, { key, agent, sent }),
      );
      return rate;
    },
    stop: async () => {
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage({ kind: 'stop' });
      agent.destroy();
      await ended;
    },
  };
}

/** Operations per second of all writers together. Each writer waits for its answers. */
export async function measureRate(writers, { operation, seconds }, run) {
  const begun = performance.now();
  let done = 0;
  const write = async (writer) => {
    while (performance.now() - begun < seconds * 1000) {
      const sent = writer[operation]();
      await run(sent);
      sent.done?.();
      done += 1;
    }
  };
  await Promise.all(writers.map(write));
  return { rate: done / ((performance.now() - begun) / 1000) };
}

function send(url, { key, agent, sent }) {
  const bytes = Buffer.from(JSON.stringify(sent.body));
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': bytes.length,
    ...(sent.key === undefined ? {} : { 'idempotency-key': sent.key }),
    ...(sent.ifMatch === undefined ? {} : { 'if-match': sent.ifMatch }),
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${sent.path}`, { method: sent.method, agent, headers });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        if (response.statusCode === sent.status) resolve();
        else reject(new Error(`${response.statusCode} ${Buffer.concat(chunks).toString('utf8')}`));
      });
    });
    request.end(bytes);
  });
}
