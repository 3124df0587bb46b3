// A worker: a process that answers requests. Its primary starts it, tells it what it needs, and takes over what it has
// to record. It reads the store itself and follows the activations there like every gateway. An unexpected error ends
// it, and the primary starts another.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AuthenticationError,
  listen,
  loadTheRest,
  makeServices,
  openTlsIdentity,
  sharedTcp,
  type TlsIdentity,
  watchTlsFiles,
} from '../compose.js';
import type { Ending } from '../compose.js';
import { type Config, storeOf, tableFolderOf } from '../config/index.js';
import { openDatabase } from '../db/database.js';
import { StoreError, toStoreError } from '../db/failures.js';
import { connectionLimits } from '../http/client-address.js';
import { anyHost } from '../http/host-guard.js';
import { WORKER_LIMITS } from '../limits/workers.js';
import { makeLogger } from '../telemetry/log.js';
import { faultOfRefusal } from '../policy/policy-fault.js';
import { startPolicy } from '../policy/active/start-policy.js';
import { keptTables } from '../policy/store/kept-tables.js';
import { elapsedBetween, momentNow } from '../lib/moment.js';
import { makeIdSource, systemClock as clock } from '../lib/ports.js';
import { logWarnings } from '../telemetry/log-warnings.js';
import { openTracing } from '../telemetry/tracing.js';
import type { Poller } from '../lib/poller.js';
import { systemCodeOf } from '../lib/small-file.js';
import type { ToPrimary, ToWorker, WorkerFault, WorkerStart } from './messages.js';
import { makeRateLedger } from './rate-ledger.js';
import { makeRemoteTrail } from './remote-trail.js';

/** Handles messages of the primary once the worker serves. */
type MessageHandler = (message: ToWorker) => void;

async function start({
  number,
  env,
  config,
  rule,
  listen: address,
  certificate,
  state,
  toFollow,
  confirmed,
  spent,
}: WorkerStart): Promise<MessageHandler> {
  const told = momentNow();
  process.title = `bailiwick worker ${String(number)}`;
  const log = makeLogger({ fields: { worker: number }, level: config.log.level });
  logWarnings(log);
  process.on('uncaughtException', (error) => {
    log.error({ error }, 'an unexpected error ends this worker; this is a bug of bailiwick');
    void log.flush().finally(() => process.exit(1));
  });
  const tracing = await openTracing(env, log);
  const ledger = makeRateLedger();
  const trail = makeRemoteTrail({ ...config.audit, state, nextId: makeIdSource(), send });
  const tls = await openTls(config, certificate);
  const onFull = ({ message }: StoreError): void => {
    send({ kind: 'full', reason: message });
  };
  const db = await openDatabase({ ...storeOf(config), ...config.database, onFull, isGuest: true });
  const folder = tableFolderOf(config);
  // The primary keeps the tables, before it records an activation.
  const tables = folder === null ? null : keptTables({ db, folder, log, isReader: true });
  const begun = await startPolicy({ db, offered: null, rule, clock, tables }).catch((error: unknown) => {
    throw new StartError(faultOfRefusal(error));
  });
  if (begun === null) throw new StartError(NO_POLICY);
  const { rate, concurrency, idempotency } = config.limits;
  // It ages while the worker starts.
  const age = begun.generation === confirmed.generation ? confirmed.age + elapsedBetween(told, momentNow()) : begun.age;
  const at = sharedTcp(address, { tls, connections: connectionLimits(config) });
  const services = await makeServices({
    db,
    rate,
    concurrency,
    idempotency,
    changes: config.changes,
    log,
    rule,
    tables,
    audit: trail,
    authzen: config.authzen,
    makeLimiter: ledger.makeLimiter,
    mode: { kind: 'serve', ...begun.candidate, generation: begun.generation, age },
    authentication: config.authentication,
    trustProxy: config.trustProxy,
    requestLog: config.log,
    ages: config.snapshot,
    isLeaving: at.isLeaving,
    connections: at.connections,
    certificates: tls,
    // The primary tells this worker when the source has confirmed the policy.
    confirmedBy: 'source',
    ...(tracing === null ? {} : { beginSpan: tracing.beginSpan }),
  });
  const { policies, routes, shadow } = services;
  void shadow.join(toFollow);
  ledger.charge(spent, elapsedBetween(told, momentNow()));
  // This comes last, because from here on the worker is sent connections.
  const listener = await listen(services, { routes, manner: { guard: anyHost }, origins: config.cors.origins, at });
  policies.subscribe(({ to: { generation } }) => {
    send({ kind: 'activated', generation });
  });
  const watches: Poller[] = [
    services.activations,
    services.revocations,
    tls === null ? null : watchTlsFiles(tls, { log }),
  ].filter((watch) => watch !== null);
  const tellSpent = setInterval(() => {
    const spending = ledger.takeSpent();
    if (spending.length > 0) send({ kind: 'spent', spending });
    const findings = shadow.take();
    if (findings !== null) send({ kind: 'found', findings });
  }, WORKER_LIMITS.exchange);

  const end = async ({ notice, deadline }: Ending): Promise<void> => {
    at.leave();
    if (notice !== null) await sleep(notice);
    await listener.close(deadline);
    clearInterval(tellSpent);
    await Promise.all(watches.map((watch) => watch.stop()));
    await services.close();
    await trail.close();
    await db.close();
    await tracing?.close();
    await log.flush();
    process.exit(0);
  };
  send({ kind: 'serving', generation: policies.current().generation, at: listener.at });
  loadTheRest(log);
  return (message) => {
    switch (message.kind) {
      case 'start':
        throw new TypeError('a worker is started once');
      case 'audit':
        trail.told(message);
        return;
      case 'spent':
        ledger.charge(message.spending);
        return;
      case 'confirmed':
        if (policies.current().generation === message.generation) policies.confirm();
        return;
      case 'shadow':
        void shadow.join(message.toFollow);
        return;
      case 'full':
        db.hearOfDisk(new StoreError('store.full', message.reason));
        return;
      case 'series':
        void services.readSeries().then(
          (series) => {
            send({ kind: 'series', series });
          },
          (error: unknown) => {
            // The primary then shows the values that it got before.
            log.error({ error }, 'the metrics of this worker could not be read');
          },
        );
        return;
      case 'now':
        for (const watch of watches) void watch.pollNow();
        return;
      case 'end':
        void end(message.ending);
    }
  };
}

function openTls(
  { tls: { certFile, keyFile }, authentication }: Config,
  accepted: WorkerStart['certificate'],
): Promise<TlsIdentity | null> {
  if (certFile === null || keyFile === null) return Promise.resolve(null);
  return openTlsIdentity({ certFile, keyFile, clientCaFile: authentication.mtls?.caFile ?? null }, clock, accepted);
}

class StartError extends Error {
  override readonly name = 'StartError';
  readonly code: string;

  constructor({ code, message }: WorkerFault) {
    super(message);
    this.code = code;
  }
}

const NO_POLICY: WorkerFault = { code: 'serve.policy', message: 'the store has no activation' };

/** By somebody who came between the look at the address and now. */
const TAKEN: WorkerFault = { code: 'serve.listen', message: 'another process uses the port' };

function send(message: ToPrimary): void {
  process.send?.(message, undefined, undefined, () => undefined);
}

function messageOf(error: unknown): string {
  if (error instanceof AuthenticationError)
    return error.faults.map(({ setting, message }) => `${setting}: ${message}`).join('; ');
  return error instanceof Error ? error.message : 'a worker could not be started';
}

/** Tells the primary why, and ends. */
function giveUp(error: unknown): void {
  const known =
    error instanceof StartError ? error : systemCodeOf(error) === 'EADDRINUSE' ? TAKEN : toStoreError(error);
  const fault = {
    code: known?.code ?? 'serve.worker',
    message: known?.message ?? messageOf(error),
  };
  process.send?.({ kind: 'failed', ...fault } satisfies ToPrimary, undefined, undefined, () => process.exit(1));
}

// A terminal or a supervisor sends these to all processes of a group. The worker ignores them, because the primary says
// what to do. By default SIGUSR1 would open Node's debugger.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => undefined);

let serving: Promise<MessageHandler | null> | null = null;
process.on('message', (message: ToWorker) => {
  if (message.kind === 'start') {
    serving = start(message).catch((error: unknown) => {
      giveUp(error);
      return null;
    });
    return;
  }
  // Messages that arrive before it serves wait until it does.
  void serving?.then((told) => told?.(message));
});
send({ kind: 'here' });
setInterval(send, WORKER_LIMITS.sign, { kind: 'alive' });
