// Clients that do not read what they asked for: a gateway of its own process says how much memory they take, and ends their
// connections; whoever reads slowly and steadily gets everything.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { call, openSocket } from '../../support/gateway.js';
import { fileURLToPath } from 'node:url';
import { runCli } from '../../support/run-cli.js';
import { newDataDir } from '../../support/stores.js';

const MEBIBYTE = 1024 * 1024;
const PAGE = '{"family":"resource","namespace":"/a","page":{"size":500}}';
const QUERY = `POST /api/v1/query HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Type: application/json\r\nContent-Length: ${String(PAGE.length)}\r\n\r\n${PAGE}`;

let dataDir: string;
let child: ChildProcess;
let port: number;

beforeAll(async () => {
  dataDir = await newDataDir();
  const lines = Array.from({ length: 20 }, (_, index) =>
    JSON.stringify({
      family: 'resource',
      namespace: '/a',
      name: `n${String(index)}`,
      properties: { x: 'x'.repeat(500_000) },
    }),
  );
  const loaded = await runCli(['load', '--data-dir', dataDir, '-'], { stdin: lines.join('\n') });
  expect(loaded).toMatchObject({ status: 0 });
  child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../../support/local-gateway.js', import.meta.url)), dataDir],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const [ready] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  port = Number(ready.toString());
});

afterAll(async () => {
  child.kill('SIGTERM');
  await once(child, 'exit');
  await rm(dataDir, { recursive: true, force: true });
});

function residentMebibytes(): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${String(child.pid)}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

async function ask(): Promise<Socket> {
  const socket = await openSocket(port);
  socket.on('error', () => undefined);
  socket.write(QUERY.replace('PORT', String(port)));
  return socket;
}

/** Reads a whole answer, so much at a time. */
async function readSlowly(socket: Socket, pause: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  let whole = Infinity;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (whole === Infinity) {
      const head = Buffer.concat(chunks).toString('latin1');
      const size = /Content-Length: (\d+)/.exec(head)?.[1];
      const end = head.indexOf('\r\n\r\n');
      if (size !== undefined && end > 0) whole = end + 4 + Number(size);
    }
    if (length >= whole) break;
    await sleep(pause);
  }
  return Buffer.concat(chunks);
}

it('keeps 60 clients that read nothing to a bounded memory, refuses the rest, and ends them; clients that read get everything', async () => {
  const steady = readSlowly(await ask(), 60);
  expect(await call(port, { body: PAGE, headers: { host: `localhost:${String(port)}` } })).toMatchObject({
    status: 200,
  });
  const before = residentMebibytes();
  const idle = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const socket = await ask();
      socket.pause();
      return socket;
    }),
  );
  let peak = 0;
  for (let i = 0; i < 40; i += 1) {
    await sleep(100);
    peak = Math.max(peak, residentMebibytes());
  }
  expect(peak - before).toBeLessThan(400);
  const read = await steady;
  expect(read.toString('latin1', 0, 12)).toBe('HTTP/1.1 200');
  expect(read.length).toBeGreaterThan(7 * MEBIBYTE);
  // Once their connections have been ended, there is room again.
  const until = Date.now() + 300_000;
  let status = 0;
  while (status !== 200 && Date.now() < until) {
    ({ status } = await call(port, { body: PAGE, headers: { host: `localhost:${String(port)}` } }));
    await sleep(100);
  }
  expect(status).toBe(200);
  for (const socket of idle) socket.destroy();
});
