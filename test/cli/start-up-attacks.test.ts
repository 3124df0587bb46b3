// A gateway that is started carelessly or with ill intent: with switches that make other programs verbose, a umask that
// hides nothing, and signals that open a debugger. One row per attack with its id.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CLI } from '../support/run-cli.js';
import { call } from '../support/gateway.js';
import { makeFolder } from '../support/temp-folder.js';

const CANARY = 'canary7f3a';

let child: ChildProcess;
let dataDir: string;
let port = 0;
let stderr = '';

beforeAll(async () => {
  dataDir = join(await makeFolder(), 'data');
  const before = process.umask(0);
  try {
    child = spawn(
      process.execPath,
      [CLI, 'local', '--data-dir', dataDir, '--listen', '127.0.0.1:0', '--format', 'json'],
      {
        env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'development', DEBUG: '*' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
  } finally {
    process.umask(before);
  }
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [line] = (await once(child.stdout ?? child, 'data')) as readonly Buffer[];
  const { url } = JSON.parse(String(line)) as { readonly url: string };
  port = Number(new URL(url).port);
});

afterAll(async () => {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
});

function* filesIn(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    yield path;
    if (lstatSync(path).isDirectory()) yield* filesIn(path);
  }
}

describe('a gateway that is started carelessly', () => {
  it('O06 says nothing of its insides, whatever switches of others are set', async () => {
    const where = { name: { eq: CANARY } };
    const asked = [
      { body: '{' },
      { body: { family: 'resource', namespace: '/', where: { [CANARY]: 1 } } },
      { body: { family: 'resource', namespace: '/', where } },
      { method: 'GET', path: '/api/v1/resources/none' },
      { method: 'POST', path: '/api/v1/resources', body: { namespace: '/none', name: CANARY } },
    ];
    for (const one of asked) {
      const { text } = await call(port, one);
      expect(text).not.toMatch(/\bat .*:\d+|node_modules|\bselect\b.*\bfrom\b|knex|postgres/i);
    }
    expect(stderr).not.toContain(CANARY);
    expect(stderr).not.toMatch(/knex:|express:|\bselect\b.*\bfrom\b/i);
  });

  it('O09 leaves nothing that others may read or write, with a umask that hides nothing', async () => {
    expect((await call(port, { body: { family: 'resource', namespace: '/' } })).status).toBe(200);
    await sleep(200);
    const open = [dataDir, ...filesIn(dataDir)].filter(
      (path) => !lstatSync(path).isSymbolicLink() && (lstatSync(path).mode & 0o077) !== 0,
    );
    // What stands in a folder of its owner alone is nobody else's, whatever its own mode is.
    const reachable = open.filter((path) => !isHidden(path));
    expect(reachable).toEqual([]);
  });

  it('O04 opens no debugger when it is told to', async () => {
    child.kill('SIGUSR1');
    for (let tries = 0; !stderr.includes('SIGUSR1') && tries < 100; tries += 1) await sleep(20);
    expect(stderr).toContain('no debugger is opened');
    expect(stderr).not.toMatch(/Debugger listening/i);
    expect((await call(port, { body: { family: 'resource', namespace: '/' } })).status).toBe(200);
  });
});

/** Whether a folder above it, within the data folder, is for its owner alone. */
function isHidden(path: string): boolean {
  for (let at = join(path, '..'); at.startsWith(dataDir); at = join(at, '..')) {
    if ((lstatSync(at).mode & 0o077) === 0) return true;
  }
  return false;
}
