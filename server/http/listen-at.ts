// Where a gateway listens: a TCP address (in clear text or under TLS) or a Unix socket. Also how each is bound.
import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { type BigIntStats, linkSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { connect, isIP, isIPv6, type ListenOptions, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_LIMITS } from '../limits/http.js';
import { systemCodeOf } from '../lib/small-file.js';

export interface TcpAt {
  readonly kind: 'tcp' | 'tls';
  readonly host: string;
  readonly port: number;
}

/** A Unix socket that only the process's own user can connect to. */
export interface SocketAt {
  readonly kind: 'socket';
  readonly path: string;
}

export type ListenAt = TcpAt | SocketAt;

/** The address that clients connect to. */
export function urlOf(at: ListenAt): string {
  if (at.kind === 'socket') return `unix:${at.path}`;
  return `${at.kind === 'tls' ? 'https' : 'http'}://${at.host.includes(':') ? `[${at.host}]` : at.host}:${String(at.port)}`;
}

/** Port 0 means any free port. */
export async function listenOnTcp(server: Server, { kind, host, port }: TcpAt): Promise<TcpAt> {
  await listen(server, { host, port });
  const bound = server.address();
  if (typeof bound !== 'object' || bound === null) throw new TypeError('a TCP server without an address');
  return { kind, host: bound.address, port: bound.port };
}

/**
 * Rejects as `listenOnTcp` would, but opens nothing: clients that connect are refused. It binds a socket of a client,
 * which is all that Node can bind without listening.
 */
export async function checkTcp({ host, port }: Pick<TcpAt, 'host' | 'port'>): Promise<void> {
  const localAddress = isIP(host) === 0 ? (await lookup(host)).address : host;
  // To itself, where nobody can notice, and to a port that nothing uses. It does not matter whether anybody answers.
  const anywhere = isIPv6(localAddress) ? '::1' : '127.0.0.1';
  const to = ['0.0.0.0', '::'].includes(localAddress) ? anywhere : localAddress;
  const socket = connect({ host: to, port: UNUSED_PORT, localAddress, localPort: port });
  await new Promise<void>((resolve, reject) => {
    let fault: Error | null = null;
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.syscall === 'bind') fault = error;
    });
    socket.once('close', () => {
      if (fault === null) resolve();
      else reject(fault);
    });
    // It is bound in the next tick, or never.
    setImmediate(() => setImmediate(() => socket.destroy()));
  });
}

const UNUSED_PORT = 1;

/**
 * Rejects with `EADDRINUSE` if somebody listens there, and with `ENOTSOCK` if something else is in its place. Replaces a
 * socket that nobody listens on any more.
 */
export async function listenOnSocket(server: Server, path: string): Promise<SocketAt> {
  // The system would truncate a longer path to the address of another socket.
  if (Buffer.byteLength(path) > SYSTEM_LIMITS.socketPathBytes) throw systemError('ENAMETOOLONG', path);
  const own = spareNameOf(path);
  // The socket must have its permissions from the moment it exists, and `listen` creates it before it returns.
  const before = process.umask(0o177);
  let listening: Promise<void>;
  try {
    listening = listen(server, { path: own });
  } finally {
    process.umask(before);
  }
  await listening;
  const { ino } = lstatSync(own);
  try {
    await takeName({ own, ino }, path);
  } catch (error) {
    await new Promise((resolve) => server.close(resolve));
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
  server.once('close', () => {
    if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) rmSync(path, { force: true });
  });
  return { kind: 'socket', path };
}

/**
 * Gives a listening socket its name. Of several processes that want the same name, one gets it, and none takes it from a
 * socket that somebody listens on.
 */
async function takeName({ own, ino }: { readonly own: string; readonly ino: number }, path: string): Promise<void> {
  for (let hasRemoved = false; ;) {
    if (isLinked(own, path)) {
      if (!hasRemoved) return;
      // Whoever found the same dead socket a moment ago may have this one in its hands now, and another be in its place.
      await sleep(SYSTEM_LIMITS.socketSettles);
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) return;
      throw systemError('EADDRINUSE', path);
    }
    const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    if (found === undefined) continue;
    if (!found.isSocket()) throw systemError('ENOTSOCK', path);
    if (!(await isDead(path))) throw systemError('EADDRINUSE', path);
    removeDead(path, found);
    hasRemoved = true;
  }
}

/** False if the name is taken. */
function isLinked(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
    return false;
  }
}

/**
 * Removes the socket that was found dead. This process may have been paused since then: what is in its place by now is
 * put back.
 */
function removeDead(path: string, found: BigIntStats): void {
  const aside = spareNameOf(path);
  try {
    renameSync(path, aside);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return;
    throw error;
  }
  const { ino, mtimeNs } = lstatSync(aside, { bigint: true });
  // The system gives the number of a removed file to a new one.
  if (ino !== found.ino || mtimeNs !== found.mtimeNs) isLinked(aside, path);
  rmSync(aside, { force: true });
}

/** A name that nobody else uses, in the same folder and no longer if that can be. */
function spareNameOf(path: string): string {
  const length = Math.max(SPARE_CHARACTERS, Math.min(basename(path).length, 2 * SPARE_CHARACTERS));
  return join(dirname(path), `.${randomBytes(length).toString('hex')}`.slice(0, length));
}

const SPARE_CHARACTERS = 8;

function listen(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Whether nobody listens there. Whoever is too busy to answer, or may not be asked, does. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error) => {
      resolve(['ECONNREFUSED', 'ENOENT'].includes(systemCodeOf(error)));
    });
  });
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: cannot listen on ${path}`), { code });
}
