// How commands ask a running gateway: through its Unix socket, which only this user's gateway can own, or by the URL of an
// admin listener with an admin key. A key is never sent over a network in clear text, and an answer that is not a
// gateway's is not trusted.
import { lstatSync, type Stats } from 'node:fs';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseKey } from '../auth/key-text.js';
import { adminSocketOf, type Config, type SettingFlags, type SettingName } from '../config/index.js';
import { isLoopbackName } from '../http/host-guard.js';
import { parseStrictJson } from '../json/strict-json.js';
import { readSmallFile, SmallFileError, systemCodeOf } from '../lib/small-file.js';
import { CLI_LIMITS } from '../limits/command-line.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { PROBLEMS } from '../problem.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { type CliIo, pathOf } from './io.js';
import { configOf, type Format } from './options.js';
import { escapeText } from './render/escape.js';
import { type Given, takes } from './verb.js';

/** Of every verb that asks a running gateway. */
export const ADMIN = takes({
  '--admin-url <url>': 'admin listener of a gateway on another machine (default: the Unix socket)',
  '--admin-key-file <file>': 'file with an admin key, for `--admin-url`',
});

type AdminFlags = Given<typeof ADMIN>;

export type AdminOptions = SettingFlags & AdminFlags & { readonly format: Format };

/** The settings that say where the socket is. */
export const SOCKET_SETTINGS: readonly SettingName[] = ['config', 'dataDir', 'adminSocket'];

interface AdminAnswer {
  readonly status: number;
  readonly body: ReadonlyMap<string, unknown>;
}

/** Sends one request; `path` begins with a slash, and `body` is sent as JSON. */
type AdminClient = (method: 'GET' | 'POST', path: string, body?: object, patience?: number) => Promise<AdminAnswer>;

/** What the gateway answers. Throws `CliFailure`: 2 for flags that do not go together, 6 if it refuses or none answers. */
export async function askGateway(
  io: CliIo,
  options: AdminOptions,
  ...request: Parameters<AdminClient>
): Promise<AdminAnswer['body']> {
  const answer = await clientOf(await adminDoor(io, options, await configOf(io, options)))(...request);
  if (answer.status !== 200) throw refusalOf(answer);
  return answer.body;
}

/** Its promises reject with `CliFailure` 6. */
export function clientOf({ shown, send, target }: AdminDoor): AdminClient {
  return (method, path, body, patience = CLI_LIMITS.adminPatience) => {
    const { headers, ...to } = target();
    const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const about = bytes === null ? {} : { 'content-type': 'application/json', 'content-length': bytes.length };
    const options = {
      ...to,
      method,
      path,
      headers: { ...headers, ...about },
      agent: false,
      timeout: patience,
    } as const;
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void => {
        request.destroy();
        reject(unreachable(shown, reason));
      };
      const request = send(options, (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('error', () => {
          fail('the connection broke');
        });
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          length += chunk.length;
          if (length > CLI_LIMITS.adminAnswerBytes) fail('the answer is too large to come from a gateway');
        });
        response.on('end', () => {
          const read = parseStrictJson(Buffer.concat(chunks), { depth: HTTP_LIMITS.jsonDepth });
          if (!read.ok || typeof read.value !== 'object' || read.value === null)
            fail('the answer does not come from a gateway');
          else resolve({ status: response.statusCode ?? 0, body: new Map(Object.entries(read.value)) });
        });
      });
      request.on('timeout', () => {
        fail('there is no answer');
      });
      request.on('error', (error) => {
        fail(reasonOf(error));
      });
      request.end(bytes ?? undefined);
    });
  };
}

/** A refusal as shown on the command line: what is wrong, each place of it, and what to do. */
export function refusalOf({ status, body }: AdminAnswer): CliFailure {
  const said = (name: string): string => textIn(body.get(name)) ?? 'unknown';
  const code = said('code');
  const message = `the gateway refused with ${String(status)} \`${code}\`: ${said('title')}`;
  const text = faultsIn(body.get('errors')).filter(Boolean).map(escapeText).join('\n');
  const known = PROBLEMS.find((problem) => problem.code === code)?.help;
  const help = status === 401 ? 'name a file with an admin key with `--admin-key-file`' : known;
  const detail = { ...(text === '' ? {} : { text }), ...(help === undefined ? {} : { help }) };
  return new CliFailure(EXIT.precondition, 'admin.refused', message, detail);
}

function faultsIn(errors: unknown): readonly string[] {
  const faults: readonly unknown[] = Array.isArray(errors) ? errors : [];
  return faults.map((fault) => {
    const said = new Map<string, unknown>(typeof fault === 'object' && fault !== null ? Object.entries(fault) : []);
    return [said.get('pointer'), said.get('message')].map(textIn).filter(Boolean).join(': ');
  });
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Where requests go, with the headers that prove who asks. */
type AdminTarget = Pick<RequestOptions, 'socketPath' | 'host' | 'port'> & {
  readonly headers: Readonly<Record<string, string>>;
};

export interface AdminDoor {
  /** The gateway's name in messages. */
  readonly shown: string;
  readonly send: typeof httpRequest;
  /** Looked at for each request: the socket may be another one by now. Throws `CliFailure` 6. */
  readonly target: () => AdminTarget;
}

/** Throws `CliFailure` 2 for flags that do not go together. */
export async function adminDoor(io: CliIo, flags: AdminFlags, config: Config): Promise<AdminDoor> {
  const { adminUrl, adminKeyFile } = flags;
  if (adminUrl === undefined) {
    if (adminKeyFile !== undefined)
      throw usage('`--admin-key-file` needs `--admin-url`', 'the Unix socket needs no key');
    return overSocket(config);
  }
  const url = readUrl(adminUrl);
  const key = adminKeyFile === undefined ? null : await readKeyFile(io, adminKeyFile);
  return overTcp(url, key);
}

function overSocket(config: Config): AdminDoor {
  const path = adminSocketOf(config);
  if (path === null) throw usage('the settings turn the admin socket off', 'name a listener with `--admin-url`');
  const target = (): AdminTarget => {
    const facts = factsOf(path);
    const own = process.getuid?.() ?? 0;
    // Root may ask the gateway of any user.
    if (!facts.isSocket() || (facts.uid !== own && own !== 0))
      throw unreachable(path, 'it is not a socket of this user');
    return { socketPath: path, headers: { host: 'localhost' } };
  };
  return { shown: path, send: httpRequest, target };
}

function factsOf(path: string): Stats {
  try {
    return lstatSync(path);
  } catch (error) {
    throw unreachable(path, reasonOf(error));
  }
}

function overTcp(url: URL, key: string | null): AdminDoor {
  const headers: AdminTarget['headers'] = key === null ? {} : { authorization: `Bearer ${key}` };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return {
    shown: url.origin,
    send: url.protocol === 'https:' ? httpsRequest : httpRequest,
    target: () => ({ host, port: url.port, headers }),
  };
}

function readUrl(text: string): URL {
  const example = 'as in `--admin-url https://gateway.example.org:8081`';
  const url = URL.canParse(text) ? new URL(text) : null;
  // Its address alone: no user, no path, no query.
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.href !== `${url.origin}/`)
    throw usage('`--admin-url` must be the address of an admin listener', example);
  if (url.protocol === 'http:' && !isLoopbackName(url.hostname.replace(/^\[|\]$/g, ''))) {
    throw usage('`--admin-url` must begin with `https:`: a key would travel in clear text', example);
  }
  return url;
}

async function readKeyFile(io: CliIo, file: string): Promise<string> {
  try {
    const { bytes } = await readSmallFile(pathOf(io, file), CLI_LIMITS.keyFileBytes);
    const key = bytes.toString('latin1').trim();
    if (parseKey(key) === null)
      throw usage(`\`${file}\` does not hold an API key`, 'make one with `bailiwick keys create --admin`');
    return key;
  } catch (error) {
    if (error instanceof SmallFileError) throw usage(`\`${file}\` ${error.message}`);
    throw error;
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nothing listens there'],
  ['ENOENT', 'there is no such socket'],
  ['ENOTDIR', 'there is no such socket'],
  ['ENAMETOOLONG', 'its path is too long for a socket'],
  ['EACCES', 'this user may not connect'],
  ['ENOTFOUND', 'there is no host with this name'],
  ['ECONNRESET', 'the connection was closed'],
]);

/** Why no answer came, in words where we have some. */
export function reasonOf(error: unknown): string {
  const code = systemCodeOf(error);
  return REASONS.get(code) ?? code;
}

function unreachable(shown: string, reason: string): CliFailure {
  return new CliFailure(EXIT.precondition, 'admin.unreachable', `no gateway answers at \`${shown}\`: ${reason}`, {
    help: 'start one with `bailiwick serve`, or name another with `--data-dir`, `--admin-socket` or `--admin-url`',
  });
}
