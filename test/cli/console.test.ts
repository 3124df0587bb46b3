// `bailiwick console`: a listener of its own for one session of one page. What docs/console.md promises to keep out is tried here.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { consolePage } from '../../server/lib/console-page.js';
import { CONSOLE_LIMITS } from '../../server/limits/command-line.js';
import { type ConsoleDoorOptions, type ConsoleSession, openConsoleDoor } from '../../server/cli/console-door.js';
import { hasBrowser, openBrowser } from '../support/browser.js';
import { type ConsoleGateway, openConsoleGateway } from '../support/console-gateway.js';
import { CLI, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

let gateway: ConsoleGateway;

beforeAll(async () => {
  gateway = await openConsoleGateway([]);
});

afterAll(() => {
  gateway.served.child.kill('SIGKILL');
});

interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly code: unknown;
}

interface Sending {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** As a program on this machine sends it, which may say anything about itself. */
function send(address: string, path: string, { method = 'GET', headers = {}, body }: Sending = {}): Promise<Told> {
  const { port, host } = new URL(address);
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path, method, agent: false, headers: { host, ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => {
          const isJson = String(answer.headers['content-type']).includes('json');
          const code = isJson ? (JSON.parse(text) as { readonly code?: unknown }).code : undefined;
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, code });
        });
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };

function open(address: string, code = address.slice(address.indexOf('#') + 1)): Promise<Told> {
  return send(address, '/session', { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ code }) });
}

async function sessionOf(address: string): Promise<Readonly<Record<string, string>>> {
  const { session } = JSON.parse((await open(address)).text) as { readonly session: string };
  return { authorization: `Bearer ${session}` };
}

interface Running {
  readonly child: ChildProcess;
  readonly address: string;
  readonly stderr: () => string;
}

async function run(): Promise<Running> {
  const child = spawn(process.execPath, [CLI, 'console', '--data-dir', gateway.dataDir], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  const address = /^(http:\/\/127\.0\.0\.1:\d+\/console#[\w-]{43})\n/.exec(first.toString())?.[1];
  if (address === undefined) throw new Error(`it prints ${first.toString()} and ${errors}`);
  return { child, address, stderr: () => errors };
}

describe('the command', () => {
  let running: Running;

  beforeAll(async () => {
    running = await run();
  });

  it('serves a page without data, and nothing of the gateway without a session', async () => {
    const page = await send(running.address, '/console');
    expect([page.status, page.headers['cache-control'], page.headers['referrer-policy']]).toEqual([
      200,
      'no-store',
      'no-referrer',
    ]);
    expect(page.headers['content-security-policy']).toMatch(/connect-src 'self';.*frame-ancestors 'none'$/);
    expect(page.text).not.toContain(running.address.slice(-43));
    for (const headers of [
      {},
      { authorization: `Bearer ${gateway.adminKey}` },
      { authorization: `Bearer ${'A'.repeat(43)}` },
    ])
      expect((await send(running.address, '/admin/v1/status', { headers })).code).toBe('console.session');
  });

  it('answers nobody who asks under another name or from another page', async () => {
    const { port } = new URL(running.address);
    const foreign = [
      { host: `localhost:${port}` },
      { host: 'attacker.example' },
      { host: `127.0.0.1:${port}.` },
      { origin: 'https://attacker.example' },
      { origin: 'null' },
      { origin: `http://localhost:${port}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of foreign) {
      const sent = { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: '{}' };
      for (const path of ['/session', '/admin/v1/keys'])
        expect({ headers, status: (await send(running.address, path, sent)).status }).toEqual({ headers, status: 421 });
    }
    // A link on another site may lead to the page, which has no data.
    const link = await send(running.address, '/console', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect([link.status, link.text.includes(running.address.slice(-43))]).toEqual([200, false]);
    // A form can send no JSON, and a page may not ask to.
    const form = {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: `{"code":"${running.address.slice(-43)}"}`,
    };
    expect((await send(running.address, '/session', form)).status).toBe(401);
    expect(
      (await send(running.address, '/session', { method: 'OPTIONS' })).headers['access-control-allow-origin'],
    ).toBeUndefined();
  });

  it('opens one session by its address, and says when somebody tries it again or guesses', async () => {
    expect((await open(running.address, 'A'.repeat(43))).code).toBe('console.session');
    const opened = await open(running.address);
    expect([opened.status, opened.headers['set-cookie']]).toEqual([201, undefined]);
    const { session } = JSON.parse(opened.text) as { readonly session: string };
    expect((await open(running.address)).code).toBe('console.used');
    while (!running.stderr().includes('a second time')) await once(running.child.stderr ?? running.child, 'data');
    expect(running.stderr()).toMatch(/refused: somebody tried to open a session without the code/);
    expect(running.stderr()).toMatch(/refused: the address was opened a second time; if that was not you/);
    expect(running.stderr()).not.toContain(session);
    const headers = { authorization: `Bearer ${session}`, ...JSON_TYPE };
    expect((await send(running.address, '/admin/v1/status', { headers })).status).toBe(200);
    const made = await send(running.address, '/admin/v1/keys', {
      method: 'POST',
      headers,
      body: '{"actor":"ci","monitor":true}',
    });
    expect(made.status).toBe(201);
    // The event goes through the store to the log.
    const audit = (): Promise<{ readonly text: string }> =>
      send(running.address, '/admin/v1/audit/events?kind=admin&actor=socket', { headers });
    while (!(await audit()).text.includes('"operation":"key.create"')) await sleep(20);
    for (const [method, path] of [
      ['GET', '/metrics'],
      ['GET', '/openapi.json'],
      ['GET', '/admin/v1/../../metrics'],
      ['DELETE', '/admin/v1/keys'],
      ['GET', '//admin/v1/keys'],
    ] as const)
      expect({ path, status: (await send(running.address, path, { method, headers })).status }).toEqual({
        path,
        status: 404,
      });
  });

  it('ends with Ctrl-C, and its session with it', async () => {
    running.child.kill('SIGINT');
    const [status] = (await once(running.child, 'exit')) as [number | null];
    expect(status).toBe(0);
    await expect(send(running.address, '/console')).rejects.toThrow('ECONNREFUSED');
  });

  it('says that there is no gateway before it opens anything', async () => {
    const ran = await runCli(['console', '--data-dir', join(await makeFolder(), 'none')]);
    expect([ran.status, ran.stdout]).toEqual([6, '']);
    expect(ran.stderr).toContain('no gateway answers');
  });
});

describe('a session', () => {
  const sessions: ConsoleSession[] = [];
  const door = async (more: Partial<ConsoleDoorOptions> = {}): Promise<ConsoleSession> => {
    const target = () => ({ socketPath: join(gateway.dataDir, 'admin.sock'), headers: { host: 'localhost' } });
    const session = await openConsoleDoor({
      gateway: { shown: 'the socket', send: request, target },
      page: consolePage('address'),
      say: () => undefined,
      ...more,
    });
    sessions.push(session);
    return session;
  };
  const LONG = { unused: 60_000, idle: 60_000, session: 60_000 };

  afterAll(async () => {
    await Promise.all(sessions.map((session) => session.close()));
  });

  it('may be opened within a minute, be left for five, and last an hour', () => {
    expect(CONSOLE_LIMITS).toMatchObject({ unused: 60_000, idle: 300_000, session: 3_600_000 });
  });

  test.each([
    ['unused', { ...LONG, unused: 50 }],
    ['idle', { ...LONG, idle: 200 }],
    ['over', { ...LONG, session: 200 }],
  ] as const)('ends when it is %s, and is refused from then on', async (how, limits) => {
    const { address, ended } = await door({ limits });
    const headers = how === 'unused' ? {} : await sessionOf(address);
    expect(await ended).toBe(how);
    expect((await send(address, '/admin/v1/status', { headers })).code).toBe('console.session');
  });

  it('says that no gateway answers, and goes on', async () => {
    let path = join(gateway.dataDir, 'nobody.sock');
    const target = () => ({ socketPath: path, headers: { host: 'localhost' } });
    const { address } = await door({ gateway: { shown: 'nobody', send: request, target } });
    const headers = await sessionOf(address);
    const lost = await send(address, '/admin/v1/status', { headers });
    expect([lost.status, lost.code]).toEqual([502, 'console.unreachable']);
    path = join(gateway.dataDir, 'admin.sock');
    expect((await send(address, '/admin/v1/status', { headers })).status).toBe(200);
  });
});

(hasBrowser ? test : test.skip)(
  'in a browser the address opens the console once, and leaves nothing behind',
  async () => {
    const running = await run();
    const browser = await openBrowser();
    try {
      const page = await browser.context.newPage();
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        if (/Content Security Policy/i.test(message.text())) faults.push(message.text());
      });
      await page.goto(running.address);
      await page.getByRole('heading', { name: 'What runs' }).waitFor();
      expect(page.url()).toBe(running.address.slice(0, -44));
      await page.getByRole('tab', { name: 'Keys' }).click();
      await page.getByText('administer').waitFor();
      expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([0, 0, '']);
      const again = await browser.context.newPage();
      await again.goto(running.address);
      await again.getByText('An address works once.').waitFor();
      await page.reload();
      await page.getByText('in the memory of a page that is gone').waitFor();
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
      running.child.kill('SIGINT');
    }
  },
  60_000,
);
