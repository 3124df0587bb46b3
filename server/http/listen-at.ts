// Where a gateway listens: a TCP address (in clear text or under TLS) or a Unix socket. Also how each is taken.
import { lstatSync, rmSync } from 'node:fs';
import { connect, type ListenOptions, type Server } from 'node:net';
import { SYSTEM_LIMITS } from '../limits/http.js';

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

export type At = TcpAt | SocketAt;

/** The address that clients connect to. */
export function urlOf(at: At): string {
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

/** Rejects with `EADDRINUSE` if somebody listens there. Replaces a socket that nobody listens on any more. */
export async function listenOnSocket(server: Server, path: string): Promise<SocketAt> {
  // The system would truncate a longer path to the address of another socket.
  if (Buffer.byteLength(path) > SYSTEM_LIMITS.socketPathBytes) throw systemError('ENAMETOOLONG', path);
  if (await isAnswered(path)) throw systemError('EADDRINUSE', path);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) rmSync(path);
  // The socket must have its permissions from the moment it exists, and `listen` creates it before it returns.
  const before = process.umask(0o177);
  let listening: Promise<void>;
  try {
    listening = listen(server, { path });
  } finally {
    process.umask(before);
  }
  await listening;
  return { kind: 'socket', path };
}

function listen(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: cannot listen on ${path}`), { code });
}
