// A gateway from its settings to its end. A start, in order; what a step opens is closed again if a later one fails.
// commands/serve.ts has done the first two:
//   1. settings: every error is reported at once, with its place (config/load-config.ts)
//   2. policy: a folder is checked and compiled in memory, a snapshot is verified, and if signatures are required, its
//      publication is, too (policy/open/); the policy is loaded in a thread
//   3. addresses: found to be free before a store is made or migrated. A TCP address is opened once, when the gateway
//      can answer; until then clients are refused
//   4. store: opened, and an embedded one brought to this version's schema (cli/open-store.ts). After a wait for it the
//      policy is looked for again
//   5. services: what all requests share, once for the process (services.ts)
//   6. listeners: any number on the same services (compose.ts); then one line on stdout says the address
// A signal ends it in order.
import {
  type AdminDoors,
  AuthenticationError,
  type Ending,
  type Gateway,
  type GatewayMode,
  startGateway,
  urlOf,
  watchTlsFiles,
} from '../compose.js';
import { auditFolderOf, type Config, storeOf, tableFolderOf } from '../config/index.js';
import { andClose, closeAfter } from '../lib/close-after.js';
import { endsWithin } from '../lib/ends-within.js';
import { systemClock as clock } from '../lib/ports.js';
import { isAtDisk, noteStuckDisk } from '../lib/stuck-disk.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { SIGNING_LIMITS } from '../limits/policy.js';
import { followSource } from '../policy/active/follow-source.js';
import { watchAge } from '../policy/active/staleness.js';
import { signingReads } from '../policy/open/verify-offer.js';
import { keptTables } from '../policy/store/kept-tables.js';
import { type ClosableLogger, makeLogger } from '../telemetry/log.js';
import { logWarnings } from '../telemetry/log-warnings.js';
import { openTracing } from '../telemetry/tracing.js';
import { CliFailure, EXIT } from './exit.js';
import { openTls, probesAtAdminAddresses, takeAddresses, takeAdminSocket, warnOfNetwork } from './gateway-addresses.js';
import { type CliIo, print } from './io.js';
import { type OpenAudit, openAudit, refusalsTo } from './open-audit.js';
import { awaitStore, openStore, sayInLog, statusOfGateway, storeFailure } from './open-store.js';
import type { Format } from './options.js';
import { type PolicyAtStart, publicationRule, type StartedFrom, startServing } from './policy-at-start.js';
import { escapeText } from './render/escape.js';
import { linesText } from './render/text.js';
import { onReload, type Termination } from './signals.js';

export interface GatewayRun {
  readonly config: Config;
  /** The policy to serve; null in local mode. */
  readonly found: PolicyAtStart | null;
  readonly format: Format;
  readonly termination: Termination;
}

/** Resolves when the gateway has ended in order. Throws `CliFailure` if it cannot start. */
export async function runGateway(io: CliIo, options: GatewayRun): Promise<void> {
  const { config, found: first, termination } = options;
  const isLocal = first === null;
  const { signal } = termination;
  // The process's own standard error is written outside the event loop, so that a slow reader of the log stops no
  // request.
  const log = makeLogger({
    level: config.log.level,
    ...(io.stderr === process.stderr ? {} : { destination: io.stderr }),
  });
  const tls = await openTls(log, config);
  if (!isLocal) warnOfNetwork(log, config);
  const stopWarnings = logWarnings(log);
  const reload = onReload(log);
  // From here on: whoever asks what a gateway waits for gets the new certificate, too.
  if (tls !== null) reload.add(watchTlsFiles(tls, { log }));
  const tracing = await openTracing(io.env, log);
  let closing: (() => void) | null = null;
  const run = async (): Promise<void> => {
    // This comes before the store is made or migrated: if an address is taken, nothing is left behind.
    const addresses = await takeAddresses(config, tls);
    const closeAddresses = (error: unknown): Promise<never> => closeAfter(error, addresses.close);
    const isAwaited = !isLocal && config.database.waitAtStart;
    const answerProbes = (reason: () => string): Promise<() => Promise<void>> =>
      probesAtAdminAddresses(config, { tls, reason });
    const opening = isAwaited
      ? awaitStore(io, config, { log, ended: termination.requested, answerProbes })
      : openStore(io, config, { onWait: sayInLog(log), ...(isLocal ? {} : { isServed: true }) }).then((db) => ({
          db,
          isLate: false,
        }));
    const reached = await opening.catch(async (error: unknown) => closeAddresses(await startFailure(error)));
    if (reached === null) {
      log.info({ signal: await termination.requested }, 'shutting down');
      await addresses.close();
      return;
    }
    const { db, isLate } = reached;
    const folder = isLocal ? null : tableFolderOf(config);
    const tables = folder === null ? null : keptTables({ db, folder, log });
    const opened: { audit: OpenAudit | null; gateway: Gateway | null } = { audit: null, gateway: null };
    // A separate function, so that its variables are forgotten at its end: the first policy must be released at the
    // first swap.
    const begin = async (): Promise<Gateway> => {
      const rule = publicationRule(config);
      const look = async (): Promise<{ found: PolicyAtStart | null; start: StartedFrom | null }> => {
        signal.throwIfAborted();
        // Meanwhile others may have put in force what the source has offered since.
        const found = isLate && first?.again ? await first.again() : first;
        signal.throwIfAborted();
        const start = found === null ? null : await startServing({ db, found, rule, clock, log, tables, signal });
        signal.throwIfAborted();
        return { found, start };
      };
      // What the signal has ended says only that it has ended.
      const { found, start } = await look().catch((error: unknown) =>
        closeAddresses(signal.aborted ? signal.reason : error),
      );
      const mode: GatewayMode =
        start === null
          ? { kind: 'local' }
          : { kind: 'serve', ...start.candidate, generation: start.generation, age: start.age };
      const { rate, concurrency, idempotency } = config.limits;
      opened.audit = await openAudit({ config, db, log, start }).catch(closeAddresses);
      const { trail, keeper } = opened.audit;
      const socket = isLocal ? null : await takeAdminSocket(log, config).catch(closeAddresses);
      const admin = { tcp: addresses.admin, socket };
      const gatewayOptions = {
        mode,
        db,
        listen: addresses.api,
        admin,
        rate,
        concurrency,
        changes: config.changes,
        idempotency,
        log,
        audit: trail,
        auditFolder: auditFolderOf(config),
        console: config.console,
        authzen: config.authzen,
        authentication: config.authentication,
        trustProxy: config.trustProxy,
        requestLog: config.log,
        // In local mode the guard of hosts refuses other origins.
        origins: isLocal ? null : config.cors.origins,
        ages: config.snapshot,
        isPeer: !isLocal,
        certificates: tls,
        rule,
        tables,
        keep: keeper.keep,
        confirmedBy: found?.isInStore === true ? ('store' as const) : ('source' as const),
        ...(tracing === null ? {} : { beginSpan: tracing.beginSpan }),
      };
      const hasWorkers = !isLocal && config.workers > 1;
      const started = hasWorkers
        ? (await import('../workers/primary.js')).startPrimary({ ...gatewayOptions, config, env: io.env })
        : startGateway(gatewayOptions);
      const gateway = await started.catch((error: unknown) => {
        throw error instanceof AuthenticationError ? authenticationFailure(error) : workerFailure(error);
      });
      opened.gateway = gateway;
      await io.loadFailures();
      await announce(io, gateway, { ...options, admin });
      if (gateway.revocations !== null) reload.add(gateway.revocations);
      if (gateway.workers !== null) reload.add(gateway.workers);
      const { policies, activator } = gateway;
      if (gateway.activations !== null) reload.add(gateway.activations);
      const source = start?.source ?? null;
      if (source !== null) {
        const onRefused = refusalsTo(trail);
        const following = { source, rule, policies, activator, clock, log, onRefused };
        reload.add(followSource({ ...following, interval: config.snapshot.poll }));
      }
      if (!isLocal) reload.add(watchAge({ policies, ages: config.snapshot, clock, log, facts: source?.facts ?? {} }));
      const active = policies.current();
      if (start !== null && active.labels === 'unverified') activator.confirmLabels({ active, bytes: start.bytes });
      return gateway;
    };
    const serve = async (): Promise<void> => {
      const gateway = await begin().catch(async (error: unknown) => {
        closing = endInTime(log, AT_ONCE);
        if (signal.aborted && error === signal.reason) {
          log.info({ signal: await termination.requested }, 'shutting down');
          return null;
        }
        // It may answer already. The process would live as long as that.
        return closeAfter(await startFailure(error), () => opened.gateway?.close(AT_ONCE));
      });
      if (gateway === null) return;
      const lost = opened.audit === null ? [] : [opened.audit.trail.taken.then(lostLog)];
      const ended = await Promise.race([termination.requested, gateway.failed, ...lost]).catch(workerFailure);
      log.info(typeof ended === 'string' ? { signal: ended } : { error: ended }, 'shutting down');
      closing = endInTime(log, config.shutdown);
      const close = (): Promise<void> => gateway.close(config.shutdown);
      await (typeof ended === 'string' ? close() : closeAfter(ended, close));
    };
    const closeStore = async (): Promise<void> => {
      if (!(await db.close())) log.error({}, 'the store could not be closed: its disk does not answer');
    };
    const closeRest = async (): Promise<void> => {
      closing ??= endInTime(log, AT_ONCE);
      // Reloading stops first, so that it never finds the store closed.
      await reload.stop();
      const { keeper, trail } = opened.audit ?? {};
      const ends = await Promise.all([
        tables?.close(),
        keeper?.close(),
        trail?.close(),
        signingReads.end(SIGNING_LIMITS.reading),
      ]);
      if (ends.includes(false)) noteStuckDisk();
    };
    await andClose(serve, () => andClose(closeRest, closeStore));
  };
  await andClose(run, async () => {
    await reload.stop();
    await tracing?.close();
    stopWarnings();
    await log.flush();
    closing?.();
  });
}

/**
 * Ends a start that has opened nothing yet, and still looks for its policy. What it has begun ends with the signal and
 * removes what it has written, unless it computes, or waits for its input or for a disk.
 */
export async function endEarly(
  io: CliIo,
  config: Config,
  { signal, finding }: { readonly signal: NodeJS.Signals; readonly finding: Promise<unknown> },
): Promise<void> {
  const log = makeLogger({ level: config.log.level, destination: io.stderr });
  log.info({ signal }, 'shutting down');
  const callOff = endInTime(log, AT_ONCE);
  const isOver = finding.then(
    () => undefined,
    () => undefined,
  );
  while (!(await endsWithin(isOver, EARLY_STEP))) {
    if (isAtDisk()) continue;
    await log.flush();
    process.exit(EXIT.ok);
  }
  callOff();
}

/** Milliseconds. */
const EARLY_STEP = 100;

const AT_ONCE: Ending = { notice: null, deadline: 0 };

/** Ends the process if its end comes too late, whatever it waits for. Returns what calls that off. */
function endInTime(log: ClosableLogger, { notice, deadline }: Ending): () => void {
  const milliseconds = (notice ?? 0) + deadline + HTTP_LIMITS.closeTimeout;
  const end = async (): Promise<void> => {
    log.error({ milliseconds }, 'the gateway could not be closed in time, and ends itself with SIGKILL');
    await endsWithin(log.flush(), LAST_WORDS);
    process.kill(process.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => void end(), milliseconds);
  return () => {
    clearTimeout(timer);
  };
}

/** Milliseconds in which the reason is still printed. */
const LAST_WORDS = 500;

function authenticationFailure({ message, faults, cause }: AuthenticationError): CliFailure {
  const lines = faults.map((fault) => `  ${fault.setting}: ${fault.message}; ${fault.fix}`);
  const report = { faults: faults.map(({ setting: place, ...fault }) => ({ place, ...fault })) };
  const text = lines.map((line) => escapeText(line)).join('\n');
  return new CliFailure(EXIT.precondition, 'serve.authentication', message, { text, report, cause });
}

/** What fails for the store ends a gateway in its own way. Returns anything else unchanged. */
async function startFailure(error: unknown): Promise<unknown> {
  const failure = await storeFailure(error);
  if (!(failure instanceof CliFailure) || !failure.code.startsWith('store.')) return error;
  return new CliFailure(statusOfGateway(failure.code), failure.code, failure.message, failure.detail);
}

/** Its commands would be refused for good. Started again, it gets a log that nobody has. */
function lostLog(): CliFailure {
  const message = 'another process has taken over the audit log, because this one stood still for too long';
  const help = 'start the gateway again: it continues a log that nobody has, or begins one';
  return new CliFailure(EXIT.away, 'audit.taken', message, { help });
}

/** Of workers, other than failures of the store. */
const PASSING: ReadonlySet<string> = new Set(['serve.listen', 'serve.worker_lost']);

/** A worker that cannot start ends the whole gateway. */
function workerFailure(error: unknown): unknown {
  if (!(error instanceof Error && error.name === 'WorkerError' && 'code' in error)) return error;
  const { message } = error;
  const code = String(error.code);
  const status = PASSING.has(code) ? EXIT.away : statusOfGateway(code);
  return new CliFailure(status, code, `the workers cannot be started: ${message}`, { cause: error });
}

/** Says on stdout that the gateway answers. Scripts wait for it. */
async function announce(
  io: CliIo,
  gateway: Gateway,
  { config, found, format, admin }: GatewayRun & { readonly admin: AdminDoors },
): Promise<void> {
  const adminUrls = [admin.tcp, admin.socket].flatMap((bound) => (bound === null ? [] : [urlOf(bound.at)]));
  const policy = gateway.policies.current().policy;
  const mode: GatewayMode['kind'] = found === null ? 'local' : 'serve';
  const store = storeOf(config);
  const { name, digest: snapshot, decisions } = policy;
  const isLocal = found === null;
  await print(io, format, {
    json: () => ({
      url: gateway.url,
      admin: isLocal ? undefined : adminUrls,
      ...{ mode, policy: name, snapshot, decisions, store: { kind: store.kind } },
      workers: isLocal ? undefined : config.workers,
    }),
    text: () =>
      linesText([
        `bailiwick ${mode}: listening on ${gateway.url}`,
        `  policy    ${name}`,
        `  snapshot  ${snapshot}`,
        `  store     ${store.kind === 'embedded' ? `embedded, in ${store.dataDir}` : 'external PostgreSQL'}`,
        config.workers > 1 && !isLocal && `  workers   ${String(config.workers)}`,
        ...adminUrls.map((url) => `  admin     ${url}`),
        config.console && admin.tcp !== null && `  console   ${urlOf(admin.tcp.at)}/console`,
        isLocal && '  no credential is needed: every user of this machine is served and may see everything',
      ]),
  });
}
