// Listeners and their sockets: an address that is taken before anything else, a Unix socket beside it on the same services, and
// requests that end before they are requests.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { existsSync, linkSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen, makeServices, startGateway } from '../../../server/compose.js';
import { anyHost } from '../../../server/http/host-guard.js';
import { bindSocket, bindTcp } from '../../../server/http/http-server.js';
import { HTTP_LIMITS } from '../../../server/limits/http.js';
import { systemCodeOf } from '../../../server/lib/small-file.js';
import { openGateway, openSocket, raw, readToEnd, type TestGateway } from '../../support/gateway.js';
import { runCli } from '../../support/run-cli.js';
import { until } from '../../support/until.js';

/** As the product has them, in tenths of seconds. */
const HASTY = { ...HTTP_LIMITS, headersTimeout: 800, requestTimeout: 1_500, timeoutCheckInterval: 100 };

let open: TestGateway;
let hasty: TestGateway;
let key: string;
let folder: string;

beforeAll(async () => {
  open = await openGateway();
  hasty = await openGateway({ db: open.db, timeouts: HASTY });
  key = (await open.key()).text;
  folder = mkdtempSync(join(tmpdir(), 'bailiwick-sockets-'));
});

afterAll(async () => {
  await hasty.dispose();
  await open.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const rate = { perActor: 0, perAddress: 0, unauthenticated: 0 };
const concurrency = { perActor: 4 };

function whoamiAt(socketPath: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath, path: '/api/v1/whoami', headers: { host: 'localhost' } });
    request.on('error', reject);
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.end();
  });
}

/** Somebody else who listens. */
async function listening(port = 0): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.close();
    await once(server, 'close');
  };
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, close };
}

/** What a client notices that connects and asks. */
function knock(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code ?? 'failed');
    });
    socket.once('data', () => {
      socket.destroy();
      resolve('answered');
    });
    socket.once('end', () => {
      resolve('closed');
    });
    socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
  });
}

describe('an address', () => {
  it('is found free before it is served, and is opened once, when it can answer', async () => {
    const taken = await listening();
    await expect(bindTcp({ host: '127.0.0.1', port: taken.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    const { port } = taken;
    await taken.close();
    const bound = await bindTcp({ host: '127.0.0.1', port });
    // As soon as a connection is taken there is somebody who answers on it.
    const seen: string[] = [];
    const started = new AbortController();
    const asking = (async () => {
      while (!started.signal.aborted || seen.at(-1) !== 'answered') {
        seen.push(await knock(port));
        await sleep(1);
      }
    })();
    while (seen.length < 10) await sleep(1);
    const gateway = await startGateway({
      mode: { kind: 'local' },
      db: open.db,
      listen: bound,
      rate,
      concurrency,
      log: silent,
    });
    started.abort();
    await asking;
    expect(new Set(seen)).toEqual(new Set(['ECONNREFUSED', 'answered']));
    expect(gateway.url).toBe(`http://127.0.0.1:${String(port)}`);
    await gateway.close();
  });

  it('that somebody else took in between is reported, and nothing is left open', async () => {
    const bound = await bindTcp({ host: '127.0.0.1', port: 0 });
    const first = await listening();
    const { port } = first;
    await first.close();
    const late = await bindTcp({ host: '127.0.0.1', port });
    const second = await listening(port);
    const start = { mode: { kind: 'local' }, db: open.db, rate, concurrency, log: silent } as const;
    await expect(startGateway({ ...start, listen: late })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await second.close();
    await bound.close();
  });

  it('is given back by a gateway that cannot start', async () => {
    const bound = await bindTcp({ host: '0.0.0.0', port: 0 });
    const started = startGateway({
      mode: { kind: 'local' },
      db: open.db,
      listen: bound,
      rate,
      concurrency,
      log: silent,
    });
    await expect(started).rejects.toThrow('loopback address only');
    const again = await bindTcp({ host: '0.0.0.0', port: bound.at.port });
    await again.close();
  });

  it('that cannot be given back does not hide why the gateway cannot start', async () => {
    const bound = await bindTcp({ host: '0.0.0.0', port: 0 });
    const close = (): Promise<never> => Promise.reject(new Error('EIO'));
    const warned = once(process, 'warning');
    const start = { mode: { kind: 'local' }, db: open.db, rate, concurrency, log: silent } as const;
    await expect(startGateway({ ...start, listen: { ...bound, at: bound.at, close } })).rejects.toThrow(
      'loopback address only',
    );
    expect(await warned).toMatchObject([{ message: 'something could not be closed after a failure: EIO' }]);
    await bound.close();
  });
});

describe('a Unix socket', () => {
  it('is a listener like any other, for this user alone, with routes of its own', async () => {
    const path = join(folder, 'one.sock');
    const services = await makeServices({ mode: { kind: 'local' }, db: open.db, rate, concurrency, log: silent });
    const own = services.routes.filter(({ access }) => access === 'self');
    const listener = await listen(services, {
      routes: own,
      manner: { guard: anyHost },
      at: await bindSocket(path),
    });
    expect([listener.url, statSync(path).mode & 0o777]).toEqual([`unix:${path}`, 0o600]);
    expect(await whoamiAt(path)).toBe(200);
    await expect(bindSocket(path)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(await whoamiAt(path)).toBe(200);
    await listener.close();
    await services.close();
    expect(existsSync(path)).toBe(false);
  });

  it('says that the gateway is starting until it is served, and keeps no connection from before', async () => {
    const path = join(folder, 'starting.sock');
    const services = await makeServices({ mode: { kind: 'local' }, db: open.db, rate, concurrency, log: silent });
    const at = await bindSocket(path);
    const early = connect(path);
    await once(early, 'connect');
    const status = ['status', '--admin-socket', path];
    expect(await runCli(status)).toEqual({
      status: 6,
      stdout: '',
      stderr:
        'error: the gateway refused with 503 `starting`: The gateway is starting\n' +
        '  help: Try again in a moment; nothing was done. If it lasts, the log of the gateway says what it does.\n',
    });
    const { stdout } = await runCli([...status, '--format', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { message: expect.stringContaining('The gateway is starting') },
    });
    const listener = await listen(services, { routes: services.routes, manner: { guard: anyHost }, at });
    await once(early, 'close');
    expect(await whoamiAt(path)).toBe(200);
    await listener.close();
    await services.close();
  });

  it('is taken by one of many who start at once, also where a dead one is in the way', async () => {
    const path = join(folder, 'many.sock');
    for (const kind of ['free', 'dead'] as const) {
      if (kind === 'dead') {
        // Its name stays behind, as after SIGKILL.
        const dead = await bindSocket(join(folder, 'dead.sock'));
        linkSync(join(folder, 'dead.sock'), path);
        await dead.close();
      }
      const tries = await Promise.allSettled(Array.from({ length: 20 }, () => bindSocket(path)));
      const taken = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect([kind, taken.length]).toEqual([kind, 1]);
      for (const one of tries) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'EADDRINUSE' });
      await taken[0]?.close();
      expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
      expect(existsSync(path)).toBe(false);
    }
  });

  it('is not taken from a process that is alive and too busy to answer', async () => {
    const path = join(folder, 'busy.sock');
    const busy = spawn(process.execPath, [
      '-e',
      `require('node:net').createServer().listen({ path: ${JSON.stringify(path)}, backlog: 1 }, () => {
        require('node:fs').writeSync(1, 'listens');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      })`,
    ]);
    await once(busy.stdout, 'data');
    const waiting: Socket[] = [];
    for (let fault = ''; fault === '';) {
      const socket = connect(path);
      waiting.push(socket);
      fault = await once(socket, 'connect').then(
        () => '',
        (error: unknown) => systemCodeOf(error),
      );
      if (fault !== '') expect(fault).toBe('EAGAIN');
    }
    const { ino } = statSync(path);
    await expect(bindSocket(path)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(statSync(path).ino).toBe(ino);
    for (const socket of waiting) socket.destroy();
    busy.kill('SIGKILL');
    await once(busy, 'close');
    await (await bindSocket(path)).close();
  });

  it('is not taken by a process that was paused since it found a dead one there', async () => {
    const path = join(folder, 'paused.sock');
    const dead = await bindSocket(join(folder, 'dead.sock'));
    linkSync(join(folder, 'dead.sock'), path);
    await dead.close();
    const paused = spawn(process.execPath, [
      ...['--input-type=module', '-e'],
      `import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const { renameSync } = fs;
      fs.renameSync = (from, to) => {
        fs.writeSync(1, 'paused');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
        renameSync(from, to);
      };
      syncBuiltinESMExports();
      const { bindSocket } = await import(${JSON.stringify(new URL('../../../server/http/http-server.js', import.meta.url))});
      await bindSocket(${JSON.stringify(path)}).then(() => 'bound', ({ code }) => code).then((end) => fs.writeSync(1, ' ' + end));
      process.exit();`,
    ]);
    let said = '';
    paused.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    await until(() => said === 'paused');
    const bound = await bindSocket(path);
    const { ino } = statSync(path);
    await once(paused, 'close');
    expect([said, statSync(path).ino]).toEqual(['paused EADDRINUSE', ino]);
    await bound.close();
  });

  it('with a path that the system would cut is refused', async () => {
    await expect(bindSocket(join(folder, 'x'.repeat(100)))).rejects.toMatchObject({ code: 'ENAMETOOLONG' });
  });
});

const HEAD = (more: readonly string[]): string =>
  ['POST /api/v1/query HTTP/1.1', 'Host: a', `Authorization: Bearer ${key}`, ...more, '', ''].join('\r\n');

const NO_HOST = 'there must be one Host, a name or an address';

function idOf(answer: string): string | undefined {
  return /X-Request-Id: (\S+)/.exec(answer)?.[1];
}

describe('a request that never was one', () => {
  test.each<[string, string, number, string, string | undefined]>([
    ['is no HTTP', 'hello\r\n\r\n', 400, 'request.malformed', 'HPE_INVALID_METHOD'],
    ['names no host', 'OPTIONS / HTTP/1.0\r\n\r\n', 400, 'request.malformed', NO_HOST],
    [
      'has too large headers',
      `GET / HTTP/1.1\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
      431,
      'request.headers_too_large',
      undefined,
    ],
    ['asks for a tunnel', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'request.method', undefined],
    [
      'has a target that is too long',
      `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
      414,
      'request.uri_too_long',
      undefined,
    ],
  ])(
    'because it %s is a problem, and a line of the log with its id and address',
    async (_, bytes, status, code, reason) => {
      const answer = await raw(open.port, bytes);
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${String(status)} `));
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
        status,
        code,
        requestId: idOf(answer),
      });
      const line = open.lines.find(({ requestId }) => requestId === idOf(answer));
      expect(line).toMatchObject({ level: 'info', message: 'request', status, code, address: '127.0.0.1' });
      expect(line?.['reason']).toBe(reason);
    },
  );

  it('because its headers do not end in time is 408', async () => {
    const socket = await openSocket(hasty.port);
    const answered = readToEnd(socket);
    socket.write('GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\n');
    const answer = await answered;
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*"code":"request\.timeout"/s);
    expect(hasty.lines.find(({ requestId }) => requestId === idOf(answer))).toMatchObject({ status: 408 });
  });
});

describe('a body', () => {
  it('that does not end in time is 408, logged with its sender', async () => {
    const socket = await openSocket(hasty.port);
    const answered = readToEnd(socket);
    socket.write(`${HEAD(['Content-Type: application/json', 'Content-Length: 50'])}{"family"`);
    const answer = await answered;
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*Connection: close.*"code":"request\.timeout"/s);
    const line = hasty.lines.find(({ requestId }) => requestId === idOf(answer));
    expect(line).toMatchObject({ status: 408, actor: 'ada', path: '/api/v1/query', address: '127.0.0.1' });
  });

  it('with malformed chunks is 400, once', async () => {
    const before = open.lines.length;
    const answer = await raw(
      open.port,
      `${HEAD(['Content-Type: application/json', 'Transfer-Encoding: chunked'])}zz\r\n{}\r\n0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"request\.malformed"/s);
    await sleep(50);
    expect(open.lines.slice(before).filter(({ status }) => status === 400)).toHaveLength(1);
  });

  it('followed by something that is not a request is answered first, and is the last', async () => {
    const body = '{"family":"resource","namespace":"/"}';
    const head = HEAD(['Content-Type: application/json', `Content-Length: ${String(body.length)}`]);
    const answer = await raw(open.port, `${head}${body}no request at all\r\n\r\n`);
    expect(answer.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200']);
  });
});
