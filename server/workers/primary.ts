// The primary of a gateway with workers. It owns the audit log, the embedded store and the sources, serves admins, and
// answers no request of the API itself. For whoever starts and stops it, it is a gateway like any other.
import { isEvent } from '../audit/event-schema.js';
import type { AuditTrail } from '../audit/trail.js';
import {
  type Ending,
  type Gateway,
  type GatewayOptions,
  type GatewayServices,
  listenToAdmins,
  makeServices,
  type TlsIdentity,
  urlOf,
} from '../compose.js';
import type { Config } from '../config/index.js';
import { StoreError } from '../db/failures.js';
import type { Bound } from '../http/http-server.js';
import type { TcpAt } from '../http/listen-at.js';
import { makeRateLimiter, type RateLimiter } from '../http/rate-limit.js';
import { closeAfter } from '../lib/close-after.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { WORKER_LIMITS } from '../limits/workers.js';
import type { ActivePolicy } from '../policy/active/active-policy.js';
import { ageOf } from '../policy/active/staleness.js';
import type { ToPrimary, ToWorker, WorkerStart } from './messages.js';
import { gatherSeries, type WorkerPlace } from './gathered-series.js';
import { makeRateLedger } from './rate-ledger.js';
import { startTeam, type WorkerTeam } from './team.js';

export interface PrimaryOptions extends GatewayOptions {
  readonly config: Config;
  readonly env: WorkerStart['env'];
  /** The address where the workers will listen. They open it once they can answer. */
  readonly listen: Bound<TcpAt>;
  readonly audit: AuditTrail;
  /** What new workers use; null without TLS. */
  readonly certificates: TlsIdentity | null;
}

/** Resolves when all workers serve. Throws `WorkerError`, and `AuthenticationError`. */
export async function startPrimary(options: PrimaryOptions): Promise<Gateway> {
  const { config, env, listen: bound, audit: trail, log, admin, rule = null } = options;
  const asked = bound.at;
  const doors = admin ?? { tcp: null, socket: null };
  let isLeaving = false;
  let team: WorkerTeam | null = null;
  const answering = (): readonly WorkerPlace[] => team?.answering() ?? [];
  let opened: GatewayServices | null = null;
  let stopNews = (): void => undefined;
  try {
    const gathering = gatherSeries(() => {
      team?.tell({ kind: 'series' });
      return answering();
    });
    // Limits of the workers, for those that come later. What admins ask for counts by itself.
    const ledger = makeRateLedger();
    const makeLimiter = (limiter: string, quota: number): RateLimiter => {
      ledger.makeLimiter(limiter, quota);
      return makeRateLimiter(quota);
    };
    const services = await makeServices({
      ...options,
      makeLimiter,
      isLeaving: () => isLeaving || answering().length === 0,
      askWorkers: gathering.ask,
      workers: () => ({ size: config.workers, serving: answering().length }),
    });
    opened = services;
    team = startTeam({
      size: config.workers,
      start: () => ({
        config: shareOf(config),
        env,
        rule,
        // With port 0 cluster gives all of them the one that it found for the first.
        listen: { host: asked.host, port: asked.port },
        certificate: options.certificates?.files() ?? null,
        state: trail.state(),
        toFollow: services.shadow.toFollow(),
        confirmed: confirmedOf(services),
        spent: ledger.owed(),
      }),
      onMessage: (message, { member, answer }) => {
        if (message.kind === 'spent') {
          ledger.charge(message.spending);
          team?.tell(message, member.number);
        } else if (message.kind === 'full') {
          options.db.hearOfDisk(new StoreError('store.full', message.reason));
          team?.tell(message, member.number);
        } else if (message.kind === 'series') gathering.told(member, message.series);
        else if (message.kind === 'found') services.shadow.add(message.findings);
        else takeEvents(message, trail, answer);
      },
      log,
    });
    // Begun before a worker is told the state of the log, so that none misses a change of it.
    stopNews = tellNews(team, services.policies, trail);
    await team.ready;
    const at = team.address() ?? asked;
    services.shadow.subscribe((toFollow) => {
      team?.tell({ kind: 'shadow', toFollow });
    });
    const admins = await listenToAdmins(services, doors);
    const { tell, hurry, failed, close: closeTeam } = team;
    let closing: Promise<void> | null = null;
    const close = async ({
      notice = null,
      deadline = HTTP_LIMITS.drainTimeout,
    }: Partial<Ending> = {}): Promise<void> => {
      isLeaving = true;
      // One deadline for all.
      const end = performance.now() + (notice ?? 0) + deadline;
      await closeTeam({ notice, deadline });
      stopNews();
      await Promise.all(admins.map((one) => one.close(Math.max(0, end - performance.now()))));
      await services.close();
    };
    const { policies, activator, activations, revocations } = services;
    return {
      url: urlOf(at),
      address: at,
      policies,
      activator,
      activations,
      revocations,
      failed,
      workers: {
        pollNow: () => {
          tell({ kind: 'now' });
          hurry();
          return Promise.resolve();
        },
        stop: () => Promise.resolve(),
      },
      close: (ending) => (closing ??= close(ending)),
    };
  } catch (error) {
    stopNews();
    const parts = [bound, doors.tcp, doors.socket];
    const closing = [() => team?.close({ notice: null, deadline: 0 }), () => opened?.close()];
    return closeAfter(error, ...closing, ...parts.map((part) => () => part?.close()));
  }
}

/** A new worker's policy is as old as that of the others. */
function confirmedOf({ policies, clock }: Pick<GatewayServices, 'policies' | 'clock'>): WorkerStart['confirmed'] {
  const state = policies.state();
  return { generation: state.active.generation, age: ageOf(state, clock.now()) };
}

/**
 * Divides among the workers what the settings give to the gateway: connections to the store and of clients, and what
 * one actor may have at work.
 */
function shareOf(config: Config): Config {
  const { workers, database, limits } = config;
  const part = (whole: number): number => Math.ceil(whole / workers);
  const { maxConnections, maxWriters, maxVital } = database;
  return {
    ...config,
    database: {
      ...database,
      maxConnections: part(maxConnections),
      // One actor takes all but one of them.
      maxWriters: Math.min(maxWriters, Math.max(part(maxWriters), 2)),
      maxVital: part(maxVital),
    },
    limits: {
      ...limits,
      concurrency: { perActor: part(limits.concurrency.perActor) },
      connections: { total: part(limits.connections.total), perAddress: part(limits.connections.perAddress) },
    },
  };
}

type OfEvents = Extract<ToPrimary, { kind: 'events' | 'lost' }>;

function takeEvents(message: OfEvents, trail: AuditTrail, answer: (message: ToWorker) => void): void {
  const say = (got: number, written: number): void => {
    answer({ kind: 'audit', got, written, state: trail.state() });
  };
  if (message.kind === 'lost') {
    trail.noteLost(message.events);
    say(0, 0);
    return;
  }
  const { length } = message.events;
  let written = 0;
  for (const text of message.events) {
    const event: unknown = JSON.parse(text);
    if (!isEvent(event)) throw new TypeError('a worker has sent something that is not an event');
    trail.add(event, () => {
      written += 1;
      if (written === length) say(0, length);
    });
  }
  if (message.isWoken) trail.wake();
  say(length, 0);
}

/**
 * Tells the workers when the state of the log changes, and when the source has confirmed the policy in force. Returns a
 * way to stop.
 */
function tellNews({ tell }: WorkerTeam, policies: ActivePolicy, trail: AuditTrail): () => void {
  let told = trail.state();
  let confirmed = policies.state().confirmedTick;
  const timer = setInterval(() => {
    const state = trail.state();
    if (state.unwritten !== told.unwritten || state.behind !== told.behind)
      tell({ kind: 'audit', got: 0, written: 0, state });
    told = state;
    const { confirmedTick, active } = policies.state();
    if (confirmedTick !== confirmed) tell({ kind: 'confirmed', generation: active.generation });
    confirmed = confirmedTick;
  }, WORKER_LIMITS.exchange);
  return () => {
    clearInterval(timer);
  };
}
