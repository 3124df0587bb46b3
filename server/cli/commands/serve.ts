// `bailiwick serve`, and `local` for the unrestricted single user of this machine: whether the settings are those of such a
// gateway. run-gateway.ts has the order of a start.
import { configOf, formats } from '../options.js';
import { CliFailure, EXIT } from '../exit.js';
import type { CliIo } from '../io.js';
import { ignoreReloads, onTermination, type Termination } from '../signals.js';
import type { Config, SettingFlags } from '../../config/index.js';
import { isLoopbackName } from '../../http/host-guard.js';
import { type Given, verb } from '../verb.js';

const TAKES = formats();

export const defineServe = verb(TAKES, asGateway(serve), {
  settings: [
    'config',
    'policy',
    'policyDirectory',
    'policyUrl',
    'policyGit',
    'dataDir',
    'databaseUrl',
    'listen',
    'adminListen',
    'adminSocket',
    'console',
    'requireSignature',
    'keyring',
    'environment',
    'workers',
  ],
  examples: {
    'a policy folder, checked and compiled first, and the embedded store': 'bailiwick serve --policy policies',
    'a snapshot and an external PostgreSQL':
      'DATABASE_URL=postgres://bailiwick@db.example.org/bailiwick bailiwick serve --policy snapshot.json',
    'then, with a key of `bailiwick keys create`': `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"family":"resource","namespace":"/"}' http://127.0.0.1:8080/api/v1/query`,
  },
});

export const defineLocal = verb(TAKES, asGateway(local), {
  settings: ['config', 'dataDir', 'databaseUrl', 'listen'],
  examples: {
    'the embedded store in .bailiwick': 'bailiwick local',
    'then, without a key': `curl -H 'Content-Type: application/json' -d '{"family":"resource","namespace":"/","reach":"subtree"}' http://127.0.0.1:8080/api/v1/query`,
  },
});

type Options = Given<typeof TAKES> & SettingFlags;
type Run = (io: CliIo, options: Options, termination: Termination) => Promise<void>;

/**
 * From here on a signal causes an orderly end, whatever the start is doing. Without a handler it would be lost on the first
 * process of a container.
 */
function asGateway(run: Run): (io: CliIo, options: Options) => Promise<void> {
  return async (io, options) => {
    ignoreReloads();
    const termination = onTermination();
    try {
      await run(io, options, termination);
    } finally {
      termination.stop();
    }
  };
}

/** Resolves when the gateway has ended in order. Throws `CliFailure` if it cannot start. */
async function serve(io: CliIo, options: Options, termination: Termination): Promise<void> {
  const config = await configOf(io, options);
  (await import('../open-store.js')).requireStoreOfGateway(config);
  requireAuthentication(config);
  const { policyAtStart } = await import('../policy-at-start.js');
  const finding = policyAtStart(io, config, { typed: options.policy, signal: termination.signal });
  const found = await Promise.race([finding, termination.requested]);
  const { endEarly, runGateway } = await import('../run-gateway.js');
  if (typeof found === 'string') await endEarly(io, config, { signal: found, finding });
  else await runGateway(io, { config, found, format: options.format, termination });
}

/** Throws `CliFailure` (2) where nobody could authenticate. */
export function requireAuthentication({ authentication }: Config): void {
  const { keys, oidc, introspection, mtls, anonymous } = authentication;
  const isOpen = keys.enabled || mtls !== null || anonymous !== null;
  if (!isOpen && oidc.length === 0 && introspection.length === 0) {
    const message = 'no method of authentication is enabled, so every request would be refused';
    const help = 'set `authentication.keys.enabled: true`, or name an issuer of tokens in `authentication.oidc`';
    throw new CliFailure(EXIT.usage, 'serve.authentication', message, { help });
  }
}

/** Like `serve`, for the unrestricted single user of this machine. */
async function local(io: CliIo, options: Options, termination: Termination): Promise<void> {
  const config = await configOf(io, { ...options, adminListen: 'none' });
  (await import('../open-store.js')).requireStoreOfGateway(config);
  if (!isLoopbackName(config.listen.host)) {
    const message = 'local mode needs no credential, so it listens on a loopback address only';
    const help = 'use --listen 127.0.0.1:8080, or `bailiwick serve` for a network';
    throw new CliFailure(EXIT.usage, 'local.listen', message, { help });
  }
  const conflicts = localConflicts(config).map((key) => `\`${key}\``);
  if (conflicts.length > 0) {
    const message = `local mode needs no credential, but these settings require one: ${conflicts.join(', ')}`;
    const help = 'use `bailiwick serve`, or other settings with --config';
    throw new CliFailure(EXIT.usage, 'local.settings', message, { help });
  }
  const { runGateway } = await import('../run-gateway.js');
  await runGateway(io, { config, found: null, format: options.format, termination });
}

/** Settings that promise what local mode does not do: it asks nobody for a credential and decides by no policy. */
function localConflicts({ authentication, cors, snapshot, trustProxy }: Config): readonly string[] {
  const { oidc, introspection, mtls, anonymous, revocationsFile } = authentication;
  return [
    oidc.length > 0 && 'authentication.oidc',
    introspection.length > 0 && 'authentication.introspection',
    mtls !== null && 'authentication.mtls',
    anonymous !== null && 'authentication.anonymous',
    revocationsFile !== null && 'authentication.revocationsFile',
    cors.origins !== null && 'cors.origins',
    snapshot.requireSignature && 'snapshot.requireSignature',
    trustProxy !== null && 'trustProxy',
  ].filter((key) => key !== false);
}
