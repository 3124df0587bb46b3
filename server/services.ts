// The first step of the composition: the services for a configuration and its ports, once per process. This is the only
// place that wires store, credentials, policy, limits, metrics and routes together.
import { unrestrictedPolicy } from '../engine/index.js';
import { type Recorder, recordLife } from './audit/trail.js';
import { makeRegistry } from './auth/authenticator.js';
import {
  type AuthenticationSettings,
  makeAuthenticators,
  openAnonymous,
  openRevocations,
  prepareIssuers,
  warnOfNothingPublic,
  warnOfUndeclared,
} from './auth/authenticators.js';
import { makeFingerprinter } from './auth/fingerprint.js';
import { makeKeyAuthenticators } from './auth/key-authenticator.js';
import { makeLocalAuthenticator } from './auth/local-authenticator.js';
import { makeSocketAuthenticator } from './auth/socket-authenticator.js';
import type { RequestActor } from './auth/request-actor.js';
import { makeActorResolver } from './auth/resolved-actors.js';
import { makeFeed } from './changes/feed.js';
import type { Retention } from './changes/number-changes.js';
import type { ConcurrencyLimits, RateLimits } from './config/index.js';
import type { Database } from './db/database.js';
import { readSecrets } from './db/secrets.js';
import { watchStore } from './db/watch-store.js';
import { makeAdminRoutes } from './http/admin-routes.js';
import { makeClientAddress, proxiesOf } from './http/client-address.js';
import { NO_AUDIT, makeRequestAudit } from './http/request-audit.js';
import type { Services } from './http/door.js';
import { makeAttempts } from './http/attempts.js';
import { makeRateLimiter, type RateLimiter } from './http/rate-limit.js';
import { makeRequestLog, type RequestLogOptions } from './http/request-log.js';
import { makeReadiness } from './http/readiness.js';
import type { CertificateTimes } from './http/tls-files.js';
import type { Route } from './http/route.js';
import { endSpans } from './http/span-ends.js';
import { toldToEach } from './http/request-observer.js';
import { processMetrics } from './metrics/process-metrics.js';
import { makeRequestMetrics } from './metrics/request-metrics.js';
import {
  countReloads,
  publishCertificates,
  publishChanges,
  publishConnections,
  publishAudit,
  publishIssuers,
  publishPeers,
  publishPolicy,
  publishReadiness,
  publishShadow,
  publishStore,
  publishWorkers,
} from './metrics/state-metrics.js';
import { mergeSeries, type SeriesOfWorker } from './metrics/merge-series.js';
import { makeRegistry as makeMetrics, type Series } from './metrics/series.js';
import { makeRoutes } from './http/routes.js';
import type { AuthzenSettings } from './http/routes/authzen.js';
import type { StatusOptions } from './http/routes/status.js';
import type { CutReason } from './http/connection.js';
import type { ConnectionFacts } from './http/connection-table.js';
import { makeBodies, makeShares, makeReaders, type Shares } from './http/shares.js';
import { makeStreamPlaces } from './http/stream-places.js';
import { CHANGES_LIMITS } from './limits/changes.js';
import { SHARE_LIMITS } from './limits/http.js';
import { makeProver } from './policy/open/prover.js';
import { type Candidate, makeActivePolicy } from './policy/active/active-policy.js';
import { type Activator, type Keep, makeActivator } from './policy/active/activator.js';
import { followActivations, type FollowActivationsOptions } from './policy/store/follow-activations.js';
import type { KeptTables } from './policy/store/kept-tables.js';
import { joinPeers } from './policy/store/peers.js';
import { makeShadow, type Shadow } from './shadow/shadow.js';
import { type AgeLimits, NO_AGE_LIMITS } from './policy/active/staleness.js';
import type { PublicationRule } from './policy/open/verify-offer.js';
import { type Clock, type Logger, makeIdSource, systemClock } from './lib/ports.js';
import { type BeginSpan, makeUnrecordedSpans } from './telemetry/trace.js';
import { warnOfUnknownScopes } from './asking/vocabulary.js';
import type { Poller } from './lib/poller.js';

/** `serve`: every request is authenticated and decided by `policy`. `local`: one unrestricted user, on loopback only. */
export type GatewayMode =
  | ({ readonly kind: 'serve' } & Candidate & {
        /** The number of the activation that it begins with. Defaults to 1. */
        readonly generation?: number;
        /** How many milliseconds ago its source confirmed the policy. Defaults to 0. */
        readonly age?: number;
      })
  | { readonly kind: 'local' };

export interface ServicesOptions {
  readonly mode: GatewayMode;
  /** An open and migrated store. Whoever opened it closes it, after the services. */
  readonly db: Database;
  readonly rate: RateLimits;
  readonly concurrency: ConcurrencyLimits;
  /** Defaults to no limits. */
  readonly ages?: AgeLimits;
  /** Who must have published what is served. Defaults to nobody. */
  readonly rule?: PublicationRule | null;
  /** Defaults to a source. */
  readonly confirmedBy?: FollowActivationsOptions['confirmedBy'];
  /** Keeps the bytes of a policy that is about to decide. Defaults to keeping nothing. */
  readonly keep?: Keep;
  /** Where the tables of policies are kept. Whoever made it closes it. Defaults to nowhere. */
  readonly tables?: KeptTables | null;
  /** Makes a limiter of `quota` requests a second. Defaults to limiters for this process alone. */
  readonly makeLimiter?: (limiter: string, quota: number) => RateLimiter;
  /** How many milliseconds answers are kept under their Idempotency-Keys. Defaults to a day. */
  readonly idempotency?: number;
  /** How long changes are kept for those who follow them. Defaults to a week. */
  readonly changes?: Retention;
  /** Whether others are answered in the words of AuthZEN. Defaults to null: nobody is. */
  readonly authzen?: AuthzenSettings | null;
  readonly log: Logger;
  /** Which requests the log has. Defaults to all. */
  readonly requestLog?: RequestLogOptions;
  /** How callers of `serve` prove who they are. Defaults to API keys alone. */
  readonly authentication?: AuthenticationSettings;
  /** Proxies that are trusted to say where requests come from. Defaults to none. */
  readonly trustProxy?: readonly string[] | null;
  readonly clock?: Clock;
  /** Whether the gateway is about to stop. Defaults to never. */
  readonly isLeaving?: () => boolean;
  /** The connections of the API in this process. Defaults to none. */
  readonly connections?: () => ConnectionFacts;
  /** The audit log. Without it nothing is recorded. Whoever opened it closes it, after the services. */
  readonly audit?: Recorder;
  /** The folder of that log, for admins who search it. Defaults to none. */
  readonly auditFolder?: string;
  /** Whether admins are served the console. Defaults to no. */
  readonly console?: boolean;
  /**
   * What the workers of this gateway have counted and measured, to be shown with its own series. Defaults to no
   * workers.
   */
  readonly askWorkers?: () => Promise<readonly SeriesOfWorker[]>;
  /** The workers of this gateway. Defaults to none. */
  readonly workers?: StatusOptions['workers'];
  /** Whether the other gateways of the store see this one. Defaults to no. */
  readonly isPeer?: boolean;
  /** When the certificates of the API expire. Defaults to none. */
  readonly certificates?: CertificateTimes | null;
  /** Records the spans of requests. Defaults to no recording. */
  readonly beginSpan?: BeginSpan;
}

const KEYS_ALONE: AuthenticationSettings = Object.freeze({
  keys: { enabled: true },
  oidc: [],
  introspection: [],
  mtls: null,
  revocationsFile: null,
});

export interface GatewayServices extends Services {
  /** Every route of the API. */
  readonly routes: readonly Route[];
  /** Whether one of the routes for admins is a page that uses the others. */
  readonly hasConsole: boolean;
  /** Every route for admins. */
  readonly adminRoutes: readonly Route[];
  /** Who comes through the gateway's own Unix socket. */
  readonly bySocket: Pick<Services, 'admins' | 'watchers'>;
  /** The watch of the file that revokes credentials; null if there is none. */
  readonly revocations: Poller | null;
  /** The only way to change the policy in force. */
  readonly activator: Activator;
  /** A candidate beside the policy in force. */
  readonly shadow: Shadow;
  /** The watch of the store's activations; null in local mode, which has none. */
  readonly activations: Poller | null;
  /** Whether an address is that of a proxy, through which many clients come. */
  readonly isProxy: (address: string) => boolean;
  /** Told of a connection that was ended although nothing on it was wrong. */
  readonly onCut: (reason: CutReason) => void;
  /** Told when there is no place for another connection. */
  readonly onFull: (facts: ConnectionFacts) => void;
  /** What this process has counted and measured. */
  readonly readSeries: () => Promise<readonly Series[]>;
  /** Call this once no listener uses the services any more. */
  readonly close: () => Promise<void>;
}

/** Throws `AuthenticationError`. */
export async function makeServices(options: ServicesOptions): Promise<GatewayServices> {
  const { mode, db, rate, concurrency, ages = NO_AGE_LIMITS, idempotency, log, clock = systemClock } = options;
  const { authzen = null, authentication = KEYS_ALONE, isLeaving = () => false } = options;
  const secrets = await readSecrets(db);
  const fingerprint = makeFingerprinter(secrets.fingerprint);
  const nobody = mode.kind === 'local' ? null : (authentication.anonymous ?? null);
  const keys = makeKeyAuthenticators({ db, fingerprint, log, anonymous: nobody });
  const metrics = makeMetrics();
  const policies = countReloads(
    metrics,
    mode.kind === 'local'
      ? makeActivePolicy({ policy: unrestrictedPolicy() }, { clock, log })
      : makeActivePolicy(mode, { clock, log, generation: mode.generation ?? 1, age: mode.age ?? 0 }),
  );
  const { rule = null, confirmedBy = 'source', keep, tables = null } = options;
  const activator = makeActivator({ db, policies, rule, clock, log, tables, ...(keep === undefined ? {} : { keep }) });
  const resolveActor = makeActorResolver();
  const { snapshots } = activator;
  const prover = makeProver(snapshots);
  if (authzen !== null) {
    const { baseUrl, vocabulary } = authzen;
    log.info({ baseUrl, vocabulary: vocabulary?.digest ?? null }, 'the AuthZEN API is turned on');
    for (const warning of vocabulary?.warnings ?? []) log.warn({ vocabulary: vocabulary?.digest }, warning);
    warnOfUnknownScopes(vocabulary, policies.current().policy, log);
  }
  const shadow = makeShadow({ policies, snapshots, tables, rule, resolveActor, clock, log });
  const revocations = await openRevocations(mode.kind === 'local' ? KEYS_ALONE : authentication, log);
  const isRevoked = revocations?.has ?? ((): boolean => false);
  const actors = makeRegistry(
    mode.kind === 'local'
      ? [makeLocalAuthenticator(fingerprint)]
      : await makeAuthenticators(authentication, keys.actors, { fingerprint, clock, log }),
    isRevoked,
  );
  let anonymous: RequestActor | null = null;
  try {
    anonymous = openAnonymous(nobody, policies.current().policy);
    await prepareIssuers(actors.issuers, policies.current().policy);
  } catch (error) {
    await Promise.all([actors.close(), revocations?.stop()]);
    throw error;
  }
  policies.subscribe(({ to }) => {
    warnOfUndeclared(actors.issuers, to.policy, log);
    warnOfUnknownScopes(authzen?.vocabulary ?? null, to.policy, log);
    if (anonymous !== null) warnOfNothingPublic(anonymous, to.policy, { at: clock.now(), log });
  });
  if (anonymous !== null) warnOfNothingPublic(anonymous, policies.current().policy, { at: clock.now(), log });
  const admins = makeRegistry([keys.admins], isRevoked);
  const watchers = makeRegistry([keys.watchers], isRevoked);
  const bySocket = {
    admins: makeRegistry([makeSocketAuthenticator(), keys.admins], isRevoked),
    watchers: makeRegistry([makeSocketAuthenticator(), keys.watchers], isRevoked),
  };
  const { makeLimiter = (_: string, quota: number) => makeRateLimiter(quota) } = options;
  const unauthenticated = makeLimiter('unauthenticated', rate.unauthenticated);
  const nextId = makeIdSource();
  const auditFault = options.audit?.fault ?? ((): null => null);
  const { certificates = null } = options;
  const ping = (): Promise<void> => db.ping();
  const storeWatch = watchStore({ db, log });
  const { fault: storeFault } = storeWatch;
  const readiness = makeReadiness({ policies, ages, clock, ping, storeFault, auditFault, certificates, isLeaving });
  const peers = options.isPeer === true ? joinPeers({ db, policies, clock, nextId, log }) : null;
  publishPolicy(metrics, { policies, ages, clock });
  publishPeers(metrics, { peers, policies });
  publishStore(metrics, db);
  publishReadiness(metrics, readiness);
  publishShadow(metrics, shadow);
  publishIssuers(metrics, actors.issuers);
  const { workers = null } = options;
  publishWorkers(metrics, workers);
  publishCertificates(metrics, certificates);
  if (options.audit !== undefined) publishAudit(metrics, options.audit);
  const stopped = options.audit === undefined ? () => undefined : recordLife(options.audit, policies);
  const registries = [metrics, processMetrics()];
  const readSeries = async (): Promise<readonly Series[]> =>
    (await Promise.all(registries.map((registry) => registry.read()))).flat();
  const { askWorkers = () => Promise.resolve([]) } = options;
  const adminShares = (): Shares =>
    makeShares({ concurrency: concurrency.perActor, totalBytes: SHARE_LIMITS.adminsUnreadBytes });
  const { changes: retention = CHANGES_LIMITS } = options;
  const feed = makeFeed({ db, cursorKey: secrets.cursor, retention });
  const streams = makeStreamPlaces(publishChanges(metrics, feed));
  const endFeed = feed.start({ log });
  const activations = mode.kind === 'local' ? null : followActivations({ db, activator, policies, log, confirmedBy });
  return {
    actors,
    anonymous,
    admins,
    watchers,
    bySocket,
    policies,
    // A single user's policy is never published, so it does not age.
    ages: mode.kind === 'local' ? NO_AGE_LIMITS : ages,
    resolveActor,
    clientAddress: makeClientAddress(options.trustProxy ?? []),
    isProxy: proxiesOf(options.trustProxy ?? []),
    limiters: {
      perActor: makeLimiter('actor', rate.perActor),
      perAddress: makeLimiter('address', rate.perAddress),
      unauthenticated,
      attempts: makeAttempts({
        failures: unauthenticated,
        spare: makeLimiter('spare', rate.unauthenticated),
        unjudged: makeLimiter('unjudged', rate.unauthenticated),
      }),
    },
    shares: {
      actors: makeShares({ concurrency: concurrency.perActor, totalBytes: Infinity }),
      admins: { admin: adminShares(), operator: adminShares(), monitor: adminShares() },
      anonymous: makeShares({ concurrency: concurrency.perActor, totalBytes: Infinity }),
      // All of them together leave the store to others: they have what two actors may have, and half of the connections.
      crowd: makeShares({
        concurrency: Math.min(concurrency.perActor === 0 ? Infinity : 2 * concurrency.perActor, halfOfReaders(db)),
        totalBytes: Infinity,
      }),
      bodies: makeBodies(SHARE_LIMITS.anonymousBodyBytes),
      readers: {
        actors: makeReaders(SHARE_LIMITS.actorsUnreadBytes),
        anonymous: makeReaders(SHARE_LIMITS.anonymousUnreadBytes),
      },
      strangers: makeReaders(),
    },
    streams,
    onCut: publishConnections(metrics, options.connections ?? null),
    onFull: ({ max, known, strangers }) => {
      log.warn(
        { max, known, strangers },
        'all connections are in use; those without a valid credential give way to new ones (limits.connections.total)',
      );
    },
    clock,
    nextId,
    beginSpan: options.beginSpan ?? makeUnrecordedSpans(),
    observer: toldToEach([makeRequestLog(log, options.requestLog), makeRequestMetrics(metrics), endSpans()], log),
    audit: options.audit === undefined ? NO_AUDIT : makeRequestAudit(options.audit, log),
    routes: makeRoutes({
      db,
      prover,
      cursorKey: secrets.cursor,
      feed,
      readiness,
      authzen: mode.kind === 'local' ? null : authzen,
      isPublic: anonymous !== null,
      ...(idempotency === undefined ? {} : { idempotency }),
    }),
    hasConsole: options.console === true,
    adminRoutes: makeAdminRoutes({
      db,
      fingerprint,
      nextId,
      anonymous: nobody,
      policies,
      activator,
      shadow,
      rule,
      clock,
      ages,
      readiness,
      storeFault,
      readSeries: async () => mergeSeries(await readSeries(), await askWorkers()),
      startedAt: clock.now(),
      peers,
      audit: options.audit ?? null,
      auditFolder: options.auditFolder ?? null,
      hasConsole: options.console === true,
      certificates,
      workers,
      authzen,
    }),
    revocations,
    activator,
    shadow,
    readSeries,
    activations,
    close: async () => {
      shadow.close();
      prover.close();
      // All of them may wait for a store that does not answer.
      const watches = [peers, activations, revocations].map((watch) => watch?.stop());
      await Promise.all([storeWatch.stop(), endFeed(), ...watches]);
      activator.close();
      await Promise.all([actors.close(), admins.close()]);
      stopped();
    },
  };
}

function halfOfReaders(db: Database): number {
  const { max = Infinity } = db.pools().find(({ name }) => name === 'read') ?? {};
  return Math.max(1, Math.floor(max / 2));
}
