// The composition root of the gateway, in two steps: services (services.ts), then any number of listeners on them, each
// with its routes and its guard. Everything that starts a gateway, or a part of one, uses this file.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from './config/index.js';
import { makeApp } from './http/app.js';
import { makeCors } from './http/cors.js';
import { anyHost, type HostGuard, isLoopback, loopbackHost, noPage } from './http/host-guard.js';
import { bindTcp, type Bound } from './http/http-server.js';
import { type At, type SocketAt, type TcpAt, urlOf } from './http/listen-at.js';
import type { Services } from './http/pipeline.js';
import type { Route } from './http/route.js';
import { type ActivePolicy } from './policy/active-policy.js';
import { type Activator } from './policy/activator.js';
import type { Watch } from './watch.js';
import { type GatewayServices, makeServices, type ServicesOptions } from './services.js';

export { AuthenticationError } from './auth/authenticators.js';
export { bindSocket, bindTcp } from './http/http-server.js';
export { urlOf } from './http/listen-at.js';
export { openTlsIdentity, TlsFileError, type TlsIdentity, watchTlsFiles } from './http/tls-files.js';
export { type GatewayMode, type GatewayServices, makeServices, type ServicesOptions } from './services.js';

export interface ListenerOptions<Where extends At> {
  readonly routes: readonly Route[];
  readonly guard: HostGuard;
  /** Whether everybody who reaches the listener may see what runs here. Defaults to no. */
  readonly showsStatus?: true;
  /** Origins of web pages that may send requests. Defaults to none. */
  readonly origins?: readonly string[] | null;
  /** The bound address. It belongs to this listener from now on. */
  readonly at: Bound<Where>;
}

export interface Listener<Where extends At = At> {
  readonly at: Where;
  readonly url: string;
  /** Refuses new requests, lets those in flight end for `patience` milliseconds, then closes. Safe to call twice. */
  readonly close: (patience?: number) => Promise<void>;
}

/** Answers requests at an address. Several listeners may share services. */
export function listen<Where extends At>(
  services: Services,
  { routes, guard, showsStatus, origins, at: bound }: ListenerOptions<Where>,
): Listener<Where> {
  bound.serve({
    app: makeApp(routes, {
      services,
      guard,
      showsStatus: showsStatus === true,
      cors: makeCors(origins ?? []),
      isClosing: bound.isClosing,
    }),
    currentDigest: () => services.policies.current().policy.digest,
    nextId: services.nextId,
    onRefused: services.observer.refused,
    onUngreeted: services.observer.ungreeted,
  });
  return { at: bound.at, url: urlOf(bound.at), close: bound.close };
}

export interface GatewayOptions extends ServicesOptions {
  /** An address to take, or one that was taken before. */
  readonly listen: Address | Bound<TcpAt>;
  /** The addresses for admins, already taken. Defaults to none. */
  readonly admin?: AdminDoors;
  /** Origins of web pages that may use the API. Defaults to none. */
  readonly origins?: readonly string[] | null;
}

export interface AdminDoors {
  readonly tcp: Bound<TcpAt> | null;
  readonly socket: Bound<SocketAt> | null;
}

export interface Gateway {
  /** Without a slash at the end. */
  readonly url: string;
  readonly address: Address;
  readonly policies: ActivePolicy;
  readonly activator: Activator;
  readonly activations: Watch | null;
  readonly revocations: Watch | null;
  /** Rejects when the gateway cannot go on. */
  readonly failed: Promise<never>;
  /** What the workers watch; null if there are no workers. */
  readonly workers: Watch | null;
  /** Refuses new requests, lets those in flight end, then closes. Safe to call twice. */
  readonly close: (ending?: Ending) => Promise<void>;
}

/** How a gateway ends, in milliseconds. */
export interface Ending {
  /** How long the gateway says that it is not ready but still answers, until nobody sends it requests any more. */
  readonly notice: number | null;
  /** How long requests in flight may then take to end. */
  readonly deadline: number;
}

/**
 * Both steps, with one listener for the API. Rejects if the address cannot be taken, or if in local mode other machines
 * can reach it.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const bound = 'serve' in options.listen ? options.listen : await bindTcp(options.listen);
  const isLocal = options.mode.kind === 'local';
  const doors = options.admin ?? { tcp: null, socket: null };
  try {
    if (isLocal && !isLoopback(bound.at.host)) throw new NotLoopbackError();
    const services = await makeServices({ ...options, isLeaving: bound.isLeaving });
    const guard = isLocal ? loopbackHost(bound.at) : anyHost;
    const listener = listen(services, { routes: services.routes, guard, origins: options.origins ?? null, at: bound });
    const admins = listenToAdmins(services, doors);
    let closing: Promise<void> | null = null;
    const close = async ({ notice, deadline }: Partial<Ending> = {}): Promise<void> => {
      bound.leave();
      if (typeof notice === 'number') await sleep(notice);
      // Closed before the admin listeners, so that watchers see the gateway end.
      await listener.close(deadline);
      await Promise.all(admins.map((one) => one.close(deadline)));
      await services.close();
    };
    const { policies, activator, activations, revocations } = services;
    const failed = new Promise<never>(() => undefined);
    const parts = { policies, activator, activations, revocations, failed, workers: null };
    return { url: listener.url, address: bound.at, ...parts, close: (ending) => (closing ??= close(ending)) };
  } catch (error) {
    await Promise.all([bound.close(), doors.tcp?.close(), doors.socket?.close()]);
    throw error;
  }
}

/**
 * The Unix socket is for the gateway's own user. On loopback everybody may see what runs here, and web pages reach
 * nothing.
 */
export function listenToAdmins(services: GatewayServices, { tcp, socket }: AdminDoors): readonly Listener[] {
  const { adminRoutes: routes, socketAdmins } = services;
  const listeners: Listener[] = [];
  if (tcp !== null) {
    const guard = isLoopback(tcp.at.host) ? loopbackHost(tcp.at) : noPage;
    listeners.push(
      listen(services, { routes, guard, at: tcp, ...(isLoopback(tcp.at.host) ? { showsStatus: true } : {}) }),
    );
  }
  if (socket !== null)
    listeners.push(listen({ ...services, admins: socketAdmins }, { routes, guard: noPage, at: socket }));
  return listeners;
}

/** Local mode was asked to listen where other machines can reach it. */
export class NotLoopbackError extends Error {
  override readonly name = 'NotLoopbackError';

  constructor() {
    super('local mode listens on a loopback address only');
  }
}
