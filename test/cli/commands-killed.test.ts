// Gateways that are killed while they write, and their databases with them: what was acknowledged is there, what was not is there once
// or not at all, no batch is half there, and whoever repeats a request with its key learns which of these it is. The audit log is whole
// afterwards: what is there has one event for each change, and what is not has none.
import { afterAll, describe, expect, it } from '@jest/globals';
import { Agent, request as httpRequest } from 'node:http';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readStored } from '../../server/audit/search.js';
import { verifyLogs } from '../../server/audit/verify.js';
import { openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { readLines } from '../support/audit-log.js';
import { findPostgres, startPostgres } from '../support/postgres.js';
import { type Served, startServing } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { times } from '../support/test-runs.js';

const WRITERS = 4;
const KILLS = times({ usual: 1, deep: 12 });
/** What is acknowledged before the next kill. */
const ENOUGH = times({ usual: 24, deep: 200 });

interface Reply {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly etag: string | undefined;
}

interface Asked {
  readonly method: 'PUT' | 'POST' | 'PATCH' | 'GET';
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
  readonly ifMatch?: string;
}

/** Rejects where the connection ends before the whole answer. */
function ask(port: number, agent: Agent, { method, path, body, key, ifMatch }: Asked): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? null : JSON.stringify(body);
    const headers = {
      ...(text === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    };
    const sent = httpRequest({ host: '127.0.0.1', port, agent, method, path: `/api/v1${path}`, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const json = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Reply['json'];
        resolve({ status: answer.statusCode ?? 0, json, etag: answer.headers.etag });
      });
    });
    sent.on('error', reject);
    sent.end(text ?? undefined);
  });
}

/** What one writer knows. */
interface Ledger {
  /** Names of resources that were acknowledged, by key. */
  readonly made: Map<string, string>;
  /** Requests of which nobody knows what became. */
  readonly unknown: Asked[];
  /** The revision that was acknowledged last of the writer's own record. */
  revision: number;
  path: string;
}

let named = 0;

function creation(): Asked {
  named += 1;
  const name = `killed-${String(named)}`;
  return { method: 'POST', path: '/resources', body: { namespace: '/k', name }, key: name };
}

/** Two records, or none. */
function pair(): Asked {
  named += 1;
  const name = `killed-${String(named)}`;
  const commands = ['a', 'b'].map((half) => ({
    method: 'POST',
    path: '/api/v1/resources',
    body: { namespace: '/k', name: `${name}-${half}` },
  }));
  return { method: 'POST', path: '/batch', body: { commands }, key: name };
}

async function writeOn(port: number, ledger: Ledger, onDone: () => void): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const open: { asked: Asked | null } = { asked: null };
  try {
    for (let turn = 0; ; turn += 1) {
      const pending = turn % 3 === 0 ? pair() : turn % 3 === 1 ? creation() : null;
      open.asked = pending;
      if (pending === null) {
        const body = { properties: { turn } };
        const changed = await ask(port, agent, {
          method: 'PATCH',
          path: ledger.path,
          body,
          ifMatch: `"${String(ledger.revision)}"`,
        });
        if (changed.status >= 500) return;
        expect([200, 412]).toContain(changed.status);
        ledger.revision =
          changed.status === 200 ? Number(changed.json['revision']) : await revisionOf(port, agent, ledger);
      } else {
        const { status } = await ask(port, agent, pending);
        // The database is gone: nobody knows what became of it.
        if (status >= 500) throw new Error('unknown');
        expect([200, 201]).toContain(status);
        ledger.made.set(pending.key ?? '', pending.path);
      }
      onDone();
    }
  } catch (error) {
    if (error instanceof Error && 'matcherResult' in error) throw error;
    if (open.asked !== null) ledger.unknown.push(open.asked);
  } finally {
    agent.destroy();
  }
}

async function revisionOf(port: number, agent: Agent, { path }: Ledger): Promise<number> {
  return Number((await ask(port, agent, { method: 'GET', path })).json['revision']);
}

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly revision: number;
}

async function storedOn(port: number, agent: Agent): Promise<readonly Stored[]> {
  const found: Stored[] = [];
  for (let after: string | null = null; ;) {
    const envelope = { family: 'resource', namespace: '/k', reach: 'exact', select: ['id', 'name', 'revision'] };
    const body = { ...envelope, page: { size: 500, after } };
    const { json } = await ask(port, agent, { method: 'POST', path: '/query', body });
    found.push(...(json['items'] as readonly Stored[]));
    after = (json['page'] as { readonly next: string | null }).next;
    if (after === null) return found;
  }
}

/** Of each key, whose records are called after it. */
function countByKey(stored: readonly Stored[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { name } of stored) {
    const key = name.replace(/-[ab]$/, '');
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** After a restart: everything that was acknowledged, once; and of the rest what a repeated request says. */
async function judge(port: number, ledgers: readonly Ledger[]): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const before = countByKey(await storedOn(port, agent));
  let judged = 0;
  for (const { made, unknown } of ledgers) {
    for (const [name, path] of made) {
      expect([name, before.get(name)]).toEqual([name, path === '/batch' ? 2 : 1]);
      judged += 1;
    }
    // Once or not at all, before anybody repeats it.
    for (const { key = '', path } of unknown) expect([undefined, path === '/batch' ? 2 : 1]).toContain(before.get(key));
    made.clear();
    for (const asked of unknown.splice(0)) {
      expect([200, 201]).toContain((await ask(port, agent, asked)).status);
      made.set(asked.key ?? '', asked.path);
    }
  }
  const after = countByKey(await storedOn(port, agent));
  for (const ledger of ledgers) {
    for (const [name, path] of ledger.made) {
      expect([name, after.get(name)]).toEqual([name, path === '/batch' ? 2 : 1]);
      judged += 1;
    }
    ledger.made.clear();
    const revision = await revisionOf(port, agent, ledger);
    expect(revision).toBeGreaterThanOrEqual(ledger.revision);
    expect(revision).toBeLessThanOrEqual(ledger.revision + 1);
    ledger.revision = revision;
  }
  agent.destroy();
  return judged;
}

/** The log of all the processes, one after the other: each revision of each record has one event, and nothing else has any. */
async function judgeLog(folder: string, stored: readonly Stored[]): Promise<void> {
  expect(await verifyLogs(folder)).toMatchObject({ ok: true, logs: [expect.anything()] });
  const revisions = new Map<string, number>();
  const ids = new Set<string>();
  for (const line of readLines(folder)) {
    const { id, kind, operation, records = [] } = readStored(line) ?? { id: '' };
    expect(ids.has(id)).toBe(false);
    ids.add(id);
    if (kind !== 'command' || operation === 'namespace.create') continue;
    for (const record of records) revisions.set(record, (revisions.get(record) ?? 0) + 1);
  }
  expect(revisions).toEqual(new Map(stored.map(({ id, revision }) => [id, revision])));
}

interface Round {
  readonly folder: string;
  readonly start: () => Promise<Served>;
  /** Ends the process, and whatever else is to end with it. */
  readonly kill: (served: Served) => Promise<void>;
}

async function survives({ folder, start, kill }: Round): Promise<void> {
  let served = await start();
  const agent = new Agent();
  await ask(served.port, agent, { method: 'PUT', path: '/namespaces/k', body: {} });
  const ledgers = await Promise.all(
    Array.from({ length: WRITERS }, async (_, n): Promise<Ledger> => {
      const body = { namespace: '/k', name: `own-${String(n)}` };
      const made = await ask(served.port, agent, { method: 'POST', path: '/resources', body, key: `own-${String(n)}` });
      return { made: new Map(), unknown: [], revision: 1, path: `/resources/${String(made.json['id'])}` };
    }),
  );
  let judged = 0;
  for (let round = 0; round < KILLS; round += 1) {
    let done = 0;
    const writing = ledgers.map((ledger) => writeOn(served.port, ledger, () => (done += 1)));
    while (done < ENOUGH) await sleep(5);
    await kill(served);
    await Promise.all(writing);
    served = await start();
    judged += await judge(served.port, ledgers);
  }
  const stored = await storedOn(served.port, agent);
  agent.destroy();
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
  await judgeLog(folder, stored);
  expect(judged).toBeGreaterThan(KILLS * ENOUGH * 0.4);
}

describe('writes are neither lost nor doubled where the gateway is killed', () => {
  const folders: string[] = [];
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  it('with its embedded store', async () => {
    const dataDir = await newDataDir();
    folders.push(dataDir);
    await survives({
      folder: join(dataDir, 'audit'),
      start: () => startServing(dataDir, 'local'),
      kill: async ({ child, ended }) => {
        child.kill('SIGKILL');
        await ended;
      },
    });
  });

  it('and the database with it, or by itself', async () => {
    if (findPostgres() === null) return;
    const server = await startPostgres();
    if (server === null) return;
    try {
      const database = await openDatabase({ kind: 'external', url: server.url });
      await migrate(database);
      await database.close();
      let round = 0;
      const cwd = await makeFolder({ 'bailiwick.yaml': 'audit: { folder: log }\n' });
      const config = join(cwd, 'bailiwick.yaml');
      await survives({
        folder: join(cwd, 'log'),
        start: () => startServing(null, 'local', '--database-url', server.url, '--config', config),
        kill: async ({ child, ended }) => {
          round += 1;
          // The database first in every second round: the gateway lives to see it go.
          if (round % 2 === 0) child.kill('SIGKILL');
          await server.restart();
          child.kill('SIGKILL');
          await ended;
        },
      });
    } finally {
      await server.stop();
    }
  });
});
