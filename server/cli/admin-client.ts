// How commands ask a running gateway: through its Unix socket, which only this user's gateway can own, or by the URL of
// an admin listener with an admin key. A key is never sent over a network in clear text, and an answer that is not a
// gateway's is not trusted.
import { type Command, Option } from 'commander';
import { lstatSync, type Stats } from 'node:fs';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseKey } from '../auth/key-text.js';
import { adminSocketOf, type Config } from '../config/index.js';
import { isLoopbackName } from '../http/host-guard.js';
import { parseStrictJson } from '../json.js';
import { CLI_LIMITS } from '../limits/command-line.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { readSmallFile, SmallFileError, systemCodeOf } from '../small-file.js';
import { EXIT } from './exit-codes.js';
import { CliFailure, usage } from './failure.js';
import type { CliIo } from './io.js';
import { pathOf } from './io.js';

export interface AdminFlags {
  readonly adminUrl?: string;
  readonly adminKeyFile?: string;
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: ReadonlyMap<string, unknown>;
}

/** Sends one request; `path` begins with a slash, and `body` is sent as JSON. */
export type AdminClient = (
  method: 'GET' | 'POST',
  path: string,
  body?: object,
  patience?: number,
) => Promise<AdminAnswer>;

/** For every verb that asks a running gateway. */
export function withAdminFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--admin-url <url>', 'admin listener of a gateway on another machine (default: the Unix socket)'),
    )
    .addOption(new Option('--admin-key-file <file>', 'file with an admin key, for `--admin-url`'));
}

/** Throws `CliFailure` 2 for flags that do not go together. The client's promises reject with `CliFailure` 6. */
export async function adminClient(io: CliIo, flags: AdminFlags, config: Config): Promise<AdminClient> {
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

function overSocket(config: Config): AdminClient {
  const path = adminSocketOf(config);
  if (path === null) throw usage('the settings turn the admin socket off', 'name a listener with `--admin-url`');
  return (method, target, body, patience) => {
    const facts = factsOf(path);
    const own = process.getuid?.() ?? 0;
    // Root may ask the gateway of any user.
    if (!facts.isSocket() || (facts.uid !== own && own !== 0))
      throw unreachable(path, 'it is not a socket of this user');
    const options = { socketPath: path, method, path: target, headers: { host: 'localhost' } };
    return ask(httpRequest, options, { shown: path, body, patience });
  };
}

function factsOf(path: string): Stats {
  try {
    return lstatSync(path);
  } catch (error) {
    throw unreachable(path, REASONS.get(systemCodeOf(error)) ?? systemCodeOf(error));
  }
}

function overTcp(url: URL, key: string | null): AdminClient {
  const shown = url.origin;
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers: Target['headers'] = key === null ? {} : { authorization: `Bearer ${key}` };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return (method, target, body, patience) =>
    ask(send, { host, port: url.port, method, path: target, headers }, { shown, body, patience });
}

function readUrl(text: string): URL {
  const example = 'as in `--admin-url https://gateway.example.org:8081`';
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWhole = url !== null && ['http:', 'https:'].includes(url.protocol);
  if (
    !isWhole ||
    url.username !== '' ||
    url.password !== '' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.pathname !== '/'
  ) {
    throw usage('`--admin-url` must be the address of an admin listener', example);
  }
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

type Target = Omit<RequestOptions, 'headers'> & { readonly headers: Readonly<Record<string, string>> };

interface Asked {
  /** The gateway's name in messages. */
  readonly shown: string;
  readonly body: object | undefined;
  /** Milliseconds for an answer. */
  readonly patience: number | undefined;
}

function ask(
  send: typeof httpRequest,
  target: Target,
  { shown, body, patience = CLI_LIMITS.adminPatience }: Asked,
): Promise<AdminAnswer> {
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const about = bytes === null ? {} : { 'content-type': 'application/json', 'content-length': bytes.length };
  const options = { ...target, headers: { ...target.headers, ...about } };
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      request.destroy();
      reject(unreachable(shown, reason));
    };
    const request = send({ ...options, agent: false, timeout: patience }, (response) => {
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
      fail(REASONS.get(systemCodeOf(error)) ?? systemCodeOf(error));
    });
    request.end(bytes ?? undefined);
  });
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nobody listens there'],
  ['ENOENT', 'there is no such socket'],
  ['ENOTDIR', 'there is no such socket'],
  ['ENAMETOOLONG', 'its path is too long for a socket'],
  ['EACCES', 'this user may not connect'],
  ['ENOTFOUND', 'there is no host with this name'],
  ['ECONNRESET', 'the connection was closed'],
]);

function unreachable(shown: string, reason: string): CliFailure {
  return new CliFailure(
    EXIT.precondition,
    { code: 'admin.unreachable', message: `no gateway answers at \`${shown}\`: ${reason}` },
    { help: 'start one with `bailiwick serve`, or name another with `--data-dir`, `--admin-socket` or `--admin-url`' },
  );
}

/** A refusal as shown on the command line. */
export function refusalOf({ status, body }: AdminAnswer): CliFailure {
  const said = (name: string): string => {
    const value = body.get(name);
    return typeof value === 'string' ? value : 'unknown';
  };
  const message = `the gateway refused with ${String(status)} \`${said('code')}\`: ${said('title')}`;
  const help = status === 401 ? 'name a file with an admin key with `--admin-key-file`' : undefined;
  return new CliFailure(EXIT.precondition, { code: 'admin.refused', message }, help === undefined ? {} : { help });
}
