// A listener of this command's own for one page and one session: it serves the console and carries what that page asks to
// the gateway. The browser gets neither the key nor the way through the Unix socket, only a session that ends with this
// command (docs/console.md says what it is safe from).
import { randomBytes, timingSafeEqual, createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ConsolePage } from '../lib/console-page.js';
import { CONSOLE_LIMITS } from '../limits/command-line.js';
import { type AdminDoor, reasonOf } from './admin-client.js';
import { CliFailure } from './exit.js';

export type ConsoleEnd = 'unused' | 'idle' | 'over';

export interface ConsoleSession {
  /** Opens the console once. */
  readonly address: string;
  /** Resolves when the session has ended by itself. */
  readonly ended: Promise<ConsoleEnd>;
  /** Ends it: everything that was opened is closed. */
  readonly close: () => Promise<void>;
}

export interface ConsoleDoorOptions {
  readonly gateway: AdminDoor;
  readonly page: ConsolePage;
  /** Told what the operator should see: sessions and refusals, one line each. */
  readonly say: (line: string) => void;
  /** Those of the product unless given. */
  readonly limits?: Readonly<Record<'unused' | 'idle' | 'session', number>>;
}

/** Rejects if no loopback port can be opened. */
export async function openConsoleDoor(options: ConsoleDoorOptions): Promise<ConsoleSession> {
  const { gateway, page, say, limits = CONSOLE_LIMITS } = options;
  const code = newSecret();
  let session: Secret | null = null;
  let end: (how: ConsoleEnd) => void = () => undefined;
  const ended = new Promise<ConsoleEnd>((resolve) => {
    end = resolve;
  });
  const ending = (how: ConsoleEnd, after: number): NodeJS.Timeout =>
    setTimeout(() => {
      session = null;
      end(how);
    }, after);
  const unused = ending('unused', limits.unused);
  let idle: NodeJS.Timeout | undefined;
  let over: NodeJS.Timeout | undefined;
  let isUnused = true;

  const openSession = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const given = await readCode(request);
    if (given === null || !code.is(given)) {
      say('refused: somebody tried to open a session without the code of the address');
      refuse(response, 401, 'console.session', 'The address is not the one that the command printed');
      return;
    }
    if (!isUnused) {
      say('refused: the address was opened a second time; if that was not you, end this command with Ctrl-C');
      refuse(response, 401, 'console.used', 'The address was opened before');
      return;
    }
    isUnused = false;
    clearTimeout(unused);
    const made = newSecret();
    session = made;
    idle = ending('idle', limits.idle);
    over = ending('over', limits.session);
    say('the session is open: it ends five minutes after the page was closed, after an hour, or with Ctrl-C');
    answer(response, 201, { 'content-type': 'application/json' }, JSON.stringify({ session: made.text }));
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '' } = request;
    if (!isFromPage(request, authority)) {
      request.resume();
      refuse(response, 421, 'request.host', 'The request is not addressed to this listener');
      return;
    }
    if (method === 'GET' && url === '/console') {
      const { html, headers } = page;
      answer(response, 200, { ...pairsOf(headers), 'content-type': 'text/html; charset=utf-8' }, html);
      return;
    }
    if (method === 'POST' && url === '/session') {
      await openSession(request, response);
      return;
    }
    if (!ADMIN.test(url) || (method !== 'GET' && method !== 'POST')) {
      request.resume();
      refuse(response, 404, 'route.not_found', 'There is no such route');
      return;
    }
    const [, token = ''] = /^Bearer (\S{1,100})$/.exec(request.headers.authorization ?? '') ?? [];
    if (session?.is(token) !== true) {
      request.resume();
      refuse(response, 401, 'console.session', 'There is no such session');
      return;
    }
    idle?.refresh();
    carry(gateway, request, response);
  };
  const server = createServer({ requestTimeout: CONSOLE_LIMITS.request }, (request, response) => {
    handle(request, response).catch(() => {
      response.destroy();
    });
  });
  server.maxConnections = CONSOLE_LIMITS.connections;
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const bound = server.address();
  if (typeof bound !== 'object' || bound === null) throw new TypeError('a TCP server without an address');
  const authority = `127.0.0.1:${String(bound.port)}`;
  return {
    // What follows `#` is never sent, so no log and no other page has it.
    address: `http://${authority}/console#${code.text}`,
    ended,
    close: async () => {
      for (const timer of [unused, idle, over]) clearTimeout(timer);
      session = null;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const ADMIN = /^\/admin\/v1\/[\w:./?=&%+~,-]*$/;

interface Secret {
  readonly text: string;
  /** Takes as long for every text. */
  readonly is: (text: string) => boolean;
}

function newSecret(): Secret {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const text = randomBytes(32).toString('base64url');
  const own = digest(text);
  return { text, is: (given) => timingSafeEqual(digest(given), own) };
}

/** Under another name, or from another page, nothing is answered: a browser may be made to send anything here. */
function isFromPage({ headers, method, url }: IncomingMessage, authority: string): boolean {
  const { host, origin } = headers;
  const site = headers['sec-fetch-site'] ?? 'none';
  if (host !== authority || (origin !== undefined && origin !== `http://${authority}`)) return false;
  // A link may lead to the page, which has no data.
  return site === 'same-origin' || site === 'none' || (method === 'GET' && url === '/console');
}

async function readCode(request: IncomingMessage): Promise<string | null> {
  if (request.headers['content-type'] !== 'application/json') {
    request.resume();
    return null;
  }
  let text = '';
  const chunks: AsyncIterable<unknown> = request.setEncoding('utf8');
  for await (const chunk of chunks) {
    text += String(chunk);
    if (text.length > CONSOLE_LIMITS.codeCharacters) return null;
  }
  return /^\{"code":"([\w-]{1,100})"\}$/.exec(text)?.[1] ?? null;
}

/** Headers of a request that the gateway gets, and of its answer that the page gets. */
const REQUEST_HEADERS = ['content-type', 'content-length', 'accept'] as const;
const ANSWER_HEADERS = ['content-type', 'x-request-id', 'bailiwick-snapshot', 'retry-after'] as const;

function carry(gateway: AdminDoor, request: IncomingMessage, response: ServerResponse): void {
  const fail = (reason: string): void => {
    request.resume();
    if (response.headersSent) response.destroy();
    else refuse(response, 502, 'console.unreachable', `No gateway answers: ${reason}`);
  };
  try {
    const { headers, ...to } = gateway.target();
    const sent = { ...picked(request, REQUEST_HEADERS), ...headers };
    const { method, url: path } = request;
    const options = { ...to, method, path, headers: sent, agent: false, timeout: CONSOLE_LIMITS.request } as const;
    const asked = gateway.send(options, (answered) => {
      response.writeHead(answered.statusCode ?? 502, { ...picked(answered, ANSWER_HEADERS), ...OWN_HEADERS });
      answered.on('error', () => response.destroy());
      answered.pipe(response);
    });
    asked.on('error', (error) => {
      fail(reasonOf(error));
    });
    asked.on('timeout', () => asked.destroy());
    response.on('close', () => asked.destroy());
    request.pipe(asked);
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    fail(error.message);
  }
}

function picked({ headers }: IncomingMessage, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

const OWN_HEADERS = Object.freeze({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });

function answer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  response.writeHead(status, { ...headers, ...OWN_HEADERS });
  response.end(body);
}

function refuse(response: ServerResponse, status: number, code: string, title: string): void {
  const problem = JSON.stringify({ type: 'about:blank', title, status, code });
  answer(response, status, { 'content-type': 'application/problem+json' }, problem);
}

function pairsOf(list: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] ?? '']] : [])));
}
