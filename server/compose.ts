// The composition root of the gateway: the only place that wires store, credentials, policy, routes and socket together.
import { unrestrictedPolicy } from '../engine/index.js';
import { type Authenticator, makeKeyAuthenticator, makeLocalAuthenticator } from './auth/authenticate.js';
import { makeFingerprinter } from './auth/fingerprint.js';
import type { Address, RateLimits } from './config/index.js';
import type { Database } from './db/database.js';
import { readSecrets } from './db/secrets.js';
import { makeApp } from './http/app.js';
import { anyHost, type HostGuard, isLoopback, loopbackHost, noHost } from './http/host-guard.js';
import { startHttpServer } from './http/http-server.js';
import { makeRateLimiter } from './http/rate-limit.js';
import { makeRoutes } from './http/routes.js';
import { type Gatekeeper, makeFloodNotice } from './http/serve-request.js';
import { type ActivePolicy, type Candidate, makeActivePolicy } from './policy/active-policy.js';
import { type Clock, type Logger, makeIdSource, systemClock } from './ports.js';

/** `serve`: every request is authenticated and decided by `policy`. `local`: one unrestricted user, on loopback only. */
export type GatewayMode = ({ readonly kind: 'serve' } & Candidate) | { readonly kind: 'local' };

export interface GatewayOptions {
  readonly mode: GatewayMode;
  /** Open and migrated; closed by whoever opened it, after the gateway. */
  readonly db: Database;
  /** Port 0 takes any free one. */
  readonly listen: Address;
  readonly rate: RateLimits;
  readonly log: Logger;
  readonly clock?: Clock;
}

export interface Gateway {
  /** Without a slash at the end. */
  readonly url: string;
  readonly address: Address;
  readonly policies: ActivePolicy;
  /** Refuses what comes, ends what is in flight, then closes; safe to call twice. */
  readonly close: () => Promise<void>;
}

/** Rejects where the address cannot be listened on, or in local mode is reached from other machines. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { mode, db, listen, rate, log, clock = systemClock } = options;
  const secrets = await readSecrets(db);
  const policies = makeActivePolicy(mode.kind === 'local' ? { policy: unrestrictedPolicy() } : mode, { clock, log });
  const authenticator = chooseAuthenticator(options, secrets.fingerprint);
  let draining = false;
  // In local mode the port belongs to the answer, and it is known only once there is a socket.
  let hostGuard: HostGuard = mode.kind === 'local' ? noHost : anyHost;
  const keeper: Gatekeeper = {
    authenticator,
    policies,
    hostGuard: (host, origin) => {
      hostGuard(host, origin);
    },
    limiters: {
      perActor: makeRateLimiter(rate.perActor),
      perAddress: makeRateLimiter(rate.perAddress),
      unauthenticated: makeRateLimiter(rate.unauthenticated),
    },
    clock,
    nextId: makeIdSource(),
    log,
    floodNotice: makeFloodNotice(log),
    around: { currentDigest: () => policies.current().policy.digest, isDraining: () => draining },
  };
  const app = makeApp(makeRoutes({ db, cursorKey: secrets.cursor }), keeper);
  const server = await startHttpServer({
    app,
    listen,
    currentDigest: keeper.around.currentDigest,
    nextId: keeper.nextId,
  });
  if (mode.kind === 'local') {
    hostGuard = loopbackHost(server.address.port);
    if (!isLoopback(server.address.host)) {
      await server.drain();
      throw new NotLoopbackError();
    }
  }
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    draining = true;
    await server.drain();
    await authenticator.close();
  };
  return { url: urlOf(server.address), address: server.address, policies, close: () => (closing ??= close()) };
}

/** Local mode was asked to listen where other machines can reach it. */
export class NotLoopbackError extends Error {
  override readonly name = 'NotLoopbackError';

  constructor() {
    super('local mode listens on a loopback address only');
  }
}

function chooseAuthenticator({ mode, db, log }: GatewayOptions, fingerprintKey: Uint8Array): Authenticator {
  const fingerprint = makeFingerprinter(fingerprintKey);
  return mode.kind === 'local' ? makeLocalAuthenticator(fingerprint) : makeKeyAuthenticator({ db, fingerprint, log });
}

function urlOf({ host, port }: Address): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
}
