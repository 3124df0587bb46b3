// The addresses of a gateway, found to be free before there is anything to serve: the API, the admin listener, and the
// Unix socket for commands of the same user.
import { dirname } from 'node:path';
import {
  type AdminDoors,
  answerOnSocket,
  answerProbes,
  bindSocket,
  bindTcp,
  connectionLimits,
  type EndProbes,
  CA_REFUSED,
  openTlsIdentity,
  TlsFileError,
  type TlsIdentity,
  waitingSeries,
} from '../compose.js';
import { type Address, adminSocketOf, type Config, storeOf } from '../config/index.js';
import { isLoopbackName } from '../http/host-guard.js';
import { closeAfter } from '../lib/close-after.js';
import { type Logger, systemClock } from '../lib/ports.js';
import { systemCodeOf } from '../lib/small-file.js';
import { makeFolder } from '../lib/whole-file.js';
import { CliFailure, EXIT, type ExitStatus } from './exit.js';

/** Null if the API uses clear text. */
export async function openTls(
  log: Logger,
  { tls: { certFile, keyFile }, authentication }: Config,
): Promise<TlsIdentity | null> {
  if (certFile === null || keyFile === null) return null;
  const clientCaFile = authentication.mtls?.caFile ?? null;
  try {
    const identity = await openTlsIdentity({ certFile, keyFile, clientCaFile });
    if (identity.isKeyExposed()) log.warn({ path: keyFile }, 'every user of this machine can read the private key');
    const fault = identity.fault();
    if (fault !== null) log.error({ path: certFile }, `clients refuse the TLS certificate: it ${fault}`);
    const clientCa = identity.clientCaFault();
    if (clientCa !== null) log.error({ path: clientCaFile }, `${CA_REFUSED} ${clientCa}`);
    return identity;
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error;
    throw new CliFailure(EXIT.usage, 'serve.tls', error.message, {
      help: 'name a certificate and its key in PEM form with `tls.certFile` and `tls.keyFile`',
      cause: error,
    });
  }
}

type Warnings = Pick<Logger, 'warn'>;

const OLDEST_SUPPORTED_NODE = 22;

/** About addresses that other machines reach. */
export function warnOfNetwork(log: Warnings, { listen, adminListen, tls }: Config): void {
  const served = [listen, ...(adminListen === null ? [] : [adminListen])].filter(({ host }) => !isLoopbackName(host));
  if (served.length === 0) return;
  const { node } = process.versions;
  if (Number.parseInt(node) < OLDEST_SUPPORTED_NODE) {
    const advice = `serve a network with Node ${String(OLDEST_SUPPORTED_NODE)} or newer`;
    log.warn({}, `Node ${node} gets no security fixes any more; ${advice}`);
  }
  if (tls.certFile !== null) return;
  for (const { host, port } of served)
    log.warn(
      { host, port },
      'keys travel in clear text to this address: set `tls.certFile` and `tls.keyFile`, put a proxy with TLS in front of it, or listen on 127.0.0.1',
    );
}

export interface Addresses {
  readonly api: Bound;
  /** Null if there is none. */
  readonly admin: Bound | null;
  readonly close: () => Promise<void>;
}

type Bound = Awaited<ReturnType<typeof bindTcp>>;

/** All TCP addresses, or none of them. */
export async function takeAddresses(
  { listen, adminListen, ...config }: Pick<Config, 'listen' | 'adminListen' | 'limits' | 'trustProxy'>,
  tls: TlsIdentity | null,
): Promise<Addresses> {
  const api = await takeAddress('--listen', listen, { tls, connections: connectionLimits(config) });
  try {
    const admin =
      adminListen === null
        ? null
        : await takeAddress('--admin-listen', adminListen, { tls: adminTls(adminListen, tls) });
    const close = async (): Promise<void> => {
      await Promise.all([api.close(), admin?.close()]);
    };
    return { api, admin, close };
  } catch (error) {
    return closeAfter(error, api.close);
  }
}

/** No TLS on loopback: nobody can listen on the way, and no certificate would name it. */
function adminTls({ host }: Address, tls: TlsIdentity | null): TlsIdentity | null {
  return isLoopbackName(host) ? null : tls;
}

/**
 * Answers probes where admins will be answered later, and says there what the gateway waits for. Resolves to what ends
 * that. Throws `CliFailure` (6 or 10).
 */
export async function probesAtAdminAddresses(
  config: Config,
  { tls, reason }: { readonly tls: TlsIdentity | null; readonly reason: () => string },
): Promise<EndProbes> {
  const { adminListen } = config;
  const facts = { startedAt: systemClock.now(), store: storeOf(config).kind, reason, readSeries: waitingSeries };
  // Nobody knows which port 0 would be.
  const ends =
    adminListen === null || adminListen.port === 0
      ? []
      : [
          await answerProbes(adminListen, { tls: adminTls(adminListen, tls), facts }).catch(
            addressFailure('--admin-listen', adminListen),
          ),
        ];
  const path = adminSocketOf(config);
  // Who has it now is asked again once it is needed. A folder for it is made then.
  const atSocket = path === null ? null : await answerOnSocket(path, facts).catch(() => null);
  if (atSocket !== null) ends.push(atSocket);
  return async () => {
    await Promise.all(ends.map((end) => end()));
  };
}

type AddressFlag = '--listen' | '--admin-listen';

async function takeAddress(
  flag: AddressFlag,
  { host, port }: Address,
  options: NonNullable<Parameters<typeof bindTcp>[1]>,
): Promise<Bound> {
  const fail = addressFailure(flag, { host, port });
  const bound = await bindTcp({ host, port }, options).catch(fail);
  return {
    ...bound,
    get at() {
      return bound.at;
    },
    // Somebody else may have taken it since.
    serve: (service) => bound.serve(service).catch(fail),
  };
}

function addressFailure(flag: AddressFlag, { host, port }: Address): (error: unknown) => never {
  return (error) => {
    const reason = LISTEN_FAULTS.get(systemCodeOf(error));
    if (reason === undefined) throw error;
    const where = `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
    throw new CliFailure(statusOf(error), 'serve.listen', `cannot listen on \`${where}\`: ${reason}`, {
      help: HELP[flag],
      cause: error,
    });
  };
}

/**
 * Whoever has the address may be about to end, one that moves between machines may be about to come, and somebody may
 * free a disk.
 */
function statusOf(error: unknown): ExitStatus {
  return PASSING.has(systemCodeOf(error)) ? EXIT.away : EXIT.precondition;
}

const PASSING: ReadonlySet<string> = new Set(['EADDRINUSE', 'EADDRNOTAVAIL', 'EAI_AGAIN', 'ENOSPC']);

const HELP: Readonly<Record<AddressFlag, string>> = {
  '--listen': 'choose another address with --listen, as in `--listen 127.0.0.1:8090`',
  '--admin-listen':
    'choose another address for admins with --admin-listen, as in `--admin-listen 127.0.0.1:8091`, or `none`',
};

const LISTEN_FAULTS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'another process uses the port'],
  ['EACCES', 'this user may not use the port'],
  ['EADDRNOTAVAIL', 'this machine does not have the address'],
  ['ENOTFOUND', 'there is no host with this name'],
  ['EAI_AGAIN', 'its name cannot be looked up now'],
]);

/**
 * The Unix socket, once the data folder exists. A gateway can work without it. So if nobody named a socket, a failure
 * is only reported; a socket that was named must work.
 */
export async function takeAdminSocket(log: Warnings, config: Config): Promise<AdminDoors['socket']> {
  const path = adminSocketOf(config);
  if (path === null) return null;
  try {
    if (config.adminSocket === null) await makeFolder(dirname(path), 0o700);
    return await bindSocket(path);
  } catch (error) {
    const code = systemCodeOf(error);
    const reason = SOCKET_FAULTS.get(code);
    if (reason === undefined) throw error;
    const message = `cannot listen on the socket \`${path}\`: ${reason}`;
    const first = code === 'ENOTSOCK' ? 'move it away, or ' : '';
    const help = `${first}choose another path with --admin-socket, or \`none\``;
    if (config.adminSocket !== null) {
      throw new CliFailure(statusOf(error), 'serve.admin_socket', message, { help, cause: error });
    }
    log.warn({}, `${message}; the gateway continues without it: ${help}`);
    return null;
  }
}

const SOCKET_FAULTS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'another gateway listens on it'],
  ['ENOTSOCK', 'something that is not a socket is in its place'],
  ['ENAMETOOLONG', 'its path is too long for a socket'],
  ['EACCES', 'this user may not write there'],
  ['EPERM', 'this user may not write there'],
  ['EROFS', 'the file system is read-only'],
  ['ENOENT', 'its folder does not exist'],
  ['ENOTDIR', 'its folder is not a folder'],
  ['EEXIST', 'its folder is not a folder'],
  ['ENOSPC', 'the disk is full'],
  ['EOPNOTSUPP', 'the file system takes no sockets'],
]);
