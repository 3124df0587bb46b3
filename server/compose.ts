// The composition root of the gateway, in two steps: services (services.ts), then any number of listeners on them, each
// with its routes and its guard. Everything that starts a gateway, or a part of one, uses this file.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from './config/index.js';
import { makeApp } from './http/app.js';
import { makeCors } from './http/cors.js';
import {
  anyHost,
  type HostGuard,
  isLoopback,
  isLoopbackName,
  loopbackHost,
  noPage,
  ownPage,
} from './http/host-guard.js';
import { bindTcp, type Bound } from './http/http-server.js';
import { countUnreadable } from './http/identify.js';
import { HTTP_LIMITS } from './limits/http.js';
import { type ListenAt, type SocketAt, type TcpAt, urlOf } from './http/listen-at.js';
import type { Services } from './http/door.js';
import type { Route } from './http/route.js';
import { WAITING_CHECKS } from './http/waiting-probes.js';
import { makeRegistry, type Series } from './metrics/series.js';
import { publishReadiness } from './metrics/state-metrics.js';
import { type ActivePolicy } from './policy/active/active-policy.js';
import { type Activator } from './policy/active/activator.js';
import { closeAfter } from './lib/close-after.js';
import type { Poller } from './lib/poller.js';
import type { Logger } from './lib/ports.js';
import { type GatewayServices, makeServices, type ServicesOptions } from './services.js';
import { loadPatterns } from './templates/pattern.js';

export { AuthenticationError } from './auth/authenticators.js';
export { connectionLimits } from './http/client-address.js';
export { bindSocket, bindTcp, sharedTcp } from './http/http-server.js';
export { urlOf } from './http/listen-at.js';
export { answerOnSocket, answerProbes, type EndProbes } from './http/waiting-probes.js';
export { CA_REFUSED, openTlsIdentity, TlsFileError, type TlsIdentity, watchTlsFiles } from './http/tls-files.js';
export { type GatewayMode, type GatewayServices, makeServices, type ServicesOptions } from './services.js';

/** All that there is to measure while a gateway waits for its store. */
export function waitingSeries(): Promise<readonly Series[]> {
  const registry = makeRegistry();
  publishReadiness(registry, () => Promise.resolve({ checks: WAITING_CHECKS }));
  return registry.read();
}

export interface ListenerOptions<Where extends ListenAt> {
  readonly routes: readonly Route[];
  readonly manner: Manner | ((at: Where) => Manner);
  /** Origins of web pages that may send requests. Defaults to none. */
  readonly origins?: readonly string[] | null;
  /** The address. It belongs to this listener from now on. */
  readonly at: Bound<Where>;
}

/** How a listener treats those who reach it. */
export interface Manner {
  readonly guard: HostGuard;
  /** Whether everybody who reaches it may see what runs here. Defaults to no. */
  readonly showsStatus?: true;
}

interface Listener<Where extends ListenAt = ListenAt> {
  readonly at: Where;
  readonly url: string;
  /** Refuses new requests, lets those in flight end for `patience` milliseconds, then closes. Safe to call twice. */
  readonly close: (patience?: number) => Promise<void>;
}

/**
 * Answers requests at an address, which it opens. Several listeners may share services. Rejects with Node's error if
 * somebody else has taken the address by now.
 */
export async function listen<Where extends ListenAt>(
  services: ListeningServices,
  { routes, manner, origins, at: bound }: ListenerOptions<Where>,
): Promise<Listener<Where>> {
  // Whoever depends on the address is asked once it is known.
  let known: Manner | null = typeof manner === 'function' ? null : manner;
  const own = (): Manner => (known ??= typeof manner === 'function' ? manner(bound.at) : manner);
  await bound.serve({
    app: makeApp(routes, {
      services,
      guard: (host, origin) => {
        own().guard(host, origin);
      },
      get showsStatus() {
        return own().showsStatus === true;
      },
      scheme: bound.at.kind === 'tls' ? 'https' : 'http',
      cors: makeCors(origins ?? []),
      isClosing: bound.isClosing,
    }),
    currentDigest: () => services.policies.current().policy.digest,
    nextId: services.nextId,
    onRefused: (refusal) => {
      countUnreadable(services, refusal.address);
      services.observer.refused(refusal);
    },
    onHandshakeFailed: services.observer.handshakeFailed,
    onCut: services.onCut,
    onFull: services.onFull,
  });
  return { at: bound.at, url: urlOf(bound.at), close: bound.close };
}

type ListeningServices = Services & Pick<GatewayServices, 'isProxy' | 'onCut' | 'onFull'>;

export interface GatewayOptions extends ServicesOptions {
  /** An address, or one that was found free before. */
  readonly listen: Address | Bound<TcpAt>;
  /** The addresses for admins. Defaults to none. */
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
  readonly activations: Poller | null;
  readonly revocations: Poller | null;
  /** Rejects when the gateway cannot go on. */
  readonly failed: Promise<never>;
  /** What the workers watch; null if there are no workers. */
  readonly workers: Poller | null;
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
  let opened: GatewayServices | null = null;
  try {
    if (isLocal && !isLoopbackName(bound.at.host)) throw new NotLoopbackError();
    const { isLeaving, connections } = bound;
    const services = await makeServices({ ...options, isLeaving, connections });
    opened = services;
    const manner = isLocal ? (at: TcpAt) => ({ guard: loopbackHost(at) }) : { guard: anyHost };
    const { routes } = services;
    const admins = await listenToAdmins(services, doors);
    const listener = await listen(services, { routes, manner, origins: options.origins ?? null, at: bound });
    let closing: Promise<void> | null = null;
    const close = async ({ notice, deadline = HTTP_LIMITS.drainTimeout }: Partial<Ending> = {}): Promise<void> => {
      bound.leave();
      if (typeof notice === 'number') await sleep(notice);
      // One deadline for all. Closed before the admin listeners, so that watchers see the gateway end.
      const end = performance.now() + deadline;
      await listener.close(deadline);
      await Promise.all(admins.map((one) => one.close(Math.max(0, end - performance.now()))));
      await services.close();
    };
    const { policies, activator, activations, revocations } = services;
    const failed = new Promise<never>(() => undefined);
    loadTheRest(options.log);
    const parts = { policies, activator, activations, revocations, failed, workers: null };
    return { url: listener.url, address: listener.at, ...parts, close: (ending) => (closing ??= close(ending)) };
  } catch (error) {
    const doorsToClose = [bound, doors.tcp, doors.socket].map((door) => () => door?.close(0));
    return closeAfter(error, ...doorsToClose, () => opened?.close());
  }
}

/**
 * For a gateway that answers. Whatever it has not loaded by then, somebody may have replaced by another version when it
 * is needed. Threads load what they need when they start (lib/start-thread.ts).
 */
export function loadTheRest(log: Logger): void {
  setImmediate(() => {
    try {
      loadPatterns();
    } catch (error) {
      log.error({ error }, 'patterns of templates cannot be judged: `re2js` cannot be loaded, so install it again');
    }
  });
}

/**
 * The Unix socket is for the gateway's own user. On loopback everybody may see what runs here, and web pages reach
 * nothing.
 */
export async function listenToAdmins(
  services: GatewayServices,
  { tcp, socket }: AdminDoors,
): Promise<readonly Listener[]> {
  const { adminRoutes: routes, bySocket } = services;
  const elsewhere = services.hasConsole ? ownPage : () => noPage;
  const manner = (at: TcpAt): Manner =>
    isLoopback(at.host) ? { guard: loopbackHost(at), showsStatus: true } : { guard: elsewhere(at) };
  const listeners: Listener[] = [];
  if (tcp !== null) listeners.push(await listen(services, { routes, manner, at: tcp }));
  if (socket !== null)
    listeners.push(await listen({ ...services, ...bySocket }, { routes, manner: { guard: noPage }, at: socket }));
  return listeners;
}

/** Local mode was asked to listen where other machines can reach it. */
export class NotLoopbackError extends Error {
  override readonly name = 'NotLoopbackError';

  constructor() {
    super('local mode listens on a loopback address only');
  }
}
