// Clients that ask all the time, each with one request at a time on a connection that it keeps: pages, records and creates in turn. Every
// request has one outcome, and what was acknowledged is remembered, so that the store can be asked for it afterwards.
import { randomUUID } from 'node:crypto';
import { Agent as ClearAgent, request as clearRequest } from 'node:http';
import { Agent, request } from 'node:https';
import { QUESTION } from '../../fixtures/demo/people.mjs';

const PATIENCE = 30_000;
const WRITTEN = '/beamlines/amx';

/**
 * @param target `{port, ca?, servername?}`: with `ca` over TLS
 * @param keys of the people that `gateways.mjs` made keys for
 * @param pause milliseconds between two requests of a client
 */
export function startLoad({ target, keys, clients = 16, pause = 0, turns = [page, page, create] }) {
  const counts = new Map();
  const written = [];
  let isOver = false;
  const all = Array.from({ length: clients }, async (_, client) => {
    const options = { keepAlive: true, maxSockets: 1 };
    const agent = target.ca === undefined ? new ClearAgent(options) : new Agent({ ...options, ca: target.ca });
    for (let turn = client; !isOver; turn += 1) {
      const one = turns[turn % turns.length](keys);
      const answer = await send(target, agent, one).catch((error) => ({
        status: error.code ?? error.message,
        text: '',
      }));
      const isRight = answer.status === one.status;
      const code = isRight ? 'answered' : `${one.kind} ${answer.status}${codeOf(answer.text)}`;
      counts.set(code, (counts.get(code) ?? 0) + 1);
      if (isRight && one.kind === 'create') written.push(JSON.parse(answer.text).id);
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    agent.destroy();
  });
  return {
    /** The ids of what was acknowledged so far. */
    written: () => written,
    /** Waits for the last answers. Gives the figures and the ids of what was acknowledged as created. */
    stop: async () => {
      isOver = true;
      await Promise.all(all);
      const lost = [...counts].filter(([code]) => code !== 'answered');
      return {
        answered: counts.get('answered') ?? 0,
        lost: lost.reduce((sum, [, count]) => sum + count, 0),
        how: lost.map(([code, count]) => `${count} × ${code}`).join(', '),
        written,
      };
    },
  };
}

export function page({ mireille }) {
  return { kind: 'query', key: mireille, path: '/api/v1/query', body: QUESTION.query, status: 200 };
}

export function create({ ines }) {
  const body = { namespace: WRITTEN, name: 'made under load', properties: {} };
  return { kind: 'create', key: ines, path: '/api/v1/resources', body, status: 201, once: randomUUID() };
}

function send({ port, ca, servername }, agent, { key, path, body, once }) {
  const text = JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(once === undefined ? {} : { 'idempotency-key': once }),
    ...(servername === undefined ? {} : { host: servername }),
  };
  const options = { host: '127.0.0.1', port, agent, method: 'POST', path, headers, servername, timeout: PATIENCE };
  return new Promise((resolve, reject) => {
    const sent = (ca === undefined ? clearRequest : request)(options, (response) => {
      const chunks = [];
      response.on('error', reject).on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.end(text);
  });
}

/** The code of a problem, of anybody but the gateway nothing. */
function codeOf(text) {
  return /"code":"([\w.]+)"/.exec(text)?.[1]?.replace(/^/, ' ') ?? '';
}
