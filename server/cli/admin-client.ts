// How commands ask a running gateway one thing and wait for its answer. An answer that is not a gateway's is not trusted.
import { type Command, Option } from 'commander';
import type { SettingFlags, SettingName } from '../config/index.js';
import { parseStrictJson } from '../json/strict-json.js';
import { CLI_LIMITS } from '../limits/command-line.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { type AdminDoor, adminDoor, type AdminFlags, reasonOf, unreachable } from './admin-door.js';
import { CliFailure, EXIT } from './exit.js';
import type { CliIo } from './io.js';
import { configOf, type Format } from './options.js';

export type AdminOptions = SettingFlags & AdminFlags & { readonly format: Format };

/** The settings that say where the socket is. */
export const SOCKET_SETTINGS: readonly SettingName[] = ['config', 'dataDir', 'adminSocket'];

interface AdminAnswer {
  readonly status: number;
  readonly body: ReadonlyMap<string, unknown>;
}

/** Sends one request; `path` begins with a slash, and `body` is sent as JSON. */
type AdminClient = (method: 'GET' | 'POST', path: string, body?: object, patience?: number) => Promise<AdminAnswer>;

/** For every verb that asks a running gateway. */
export function withAdminFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--admin-url <url>', 'admin listener of a gateway on another machine (default: the Unix socket)'),
    )
    .addOption(new Option('--admin-key-file <file>', 'file with an admin key, for `--admin-url`'));
}

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

/** A refusal as shown on the command line. */
export function refusalOf({ status, body }: AdminAnswer): CliFailure {
  const said = (name: string): string => {
    const value = body.get(name);
    return typeof value === 'string' ? value : 'unknown';
  };
  const message = `the gateway refused with ${String(status)} \`${said('code')}\`: ${said('title')}`;
  const help = status === 401 ? 'name a file with an admin key with `--admin-key-file`' : undefined;
  return new CliFailure(EXIT.precondition, 'admin.refused', message, help === undefined ? {} : { help });
}
