// The operator's log of requests: one line for each answer, with the caller as far as known. In a flood of refusals that
// anybody can cause, some get a line each, so that their ids can be found. The others are counted by address.
import { codeOf, toldReason } from '../db/failures.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { LOG_LIMITS } from '../limits/logs.js';
import type { Logger } from '../lib/ports.js';
import type { ApiProblem } from '../problem.js';
import type { Exchange } from './exchange.js';
import type { RequestObserver } from './request-observer.js';

export interface RequestLogOptions {
  /** Which requests get a line. Our own faults always do. */
  readonly requests: 'all' | 'refused' | 'none';
  /** Of the requests that were not refused, one in this many gets a line. */
  readonly sample: number;
}

const ALL: RequestLogOptions = { requests: 'all', sample: 1 };

export function makeRequestLog(log: Logger, { requests, sample }: RequestLogOptions = ALL): RequestObserver {
  const hasRoom = makeFloodGate(log);
  let answered = 0;
  const isSampled = ({ incoming }: Exchange): boolean => {
    if (requests !== 'all' || PROBES.has(pathForLog(incoming.url))) return false;
    answered += 1;
    return answered % sample === 0;
  };
  return {
    answered: (exchange, status, problem) => {
      const isFault = status >= 500 && problem?.code === 'internal';
      if (!isFault && (status < 400 ? !isSampled(exchange) : requests === 'none')) return;
      if (!isFault && status >= 400 && isOfMany(exchange, problem) && !hasRoom(exchange.address)) return;
      const fields = { ...describe(exchange, status), ...(problem === undefined ? {} : reasonsOf(problem)) };
      // An error is for somebody to act on. Why the store is away, or the gateway decides nothing, has a line of its own.
      if (isFault) log.error(fields, 'request');
      else if (status >= 500) log.warn(fields, 'request');
      else log.info(fields, 'request');
    },
    abandoned: (exchange) => {
      if (!isSampled(exchange) || (isOfStranger(exchange) && !hasRoom(exchange.address))) return;
      log.info(describe(exchange, null), 'the client went away');
    },
    refused: ({ requestId, address, problem }) => {
      if (requests === 'none' || !hasRoom(address)) return;
      log.info({ requestId, address, status: problem.status, ...reasonsOf(problem) }, 'request');
    },
    handshakeFailed: (client) => {
      if (requests !== 'none' && hasRoom(client.address)) log.info({ ...client }, 'the TLS handshake failed');
    },
  };
}

/** Whether anybody may have sent the request: nobody has shown a valid credential. */
function isOfStranger({ actor }: Exchange): boolean {
  return actor === null || actor.kind === 'anonymous';
}

/** Whether there may be any number of such refusals. An actor causes no more of the others than its limits allow. */
function isOfMany(exchange: Exchange, problem: ApiProblem | undefined): boolean {
  return isOfStranger(exchange) || problem?.code === 'limit.rate' || problem?.code === 'overloaded';
}

/** Asked every few seconds. Answers that refuse have a line. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics']);

function describe(exchange: Exchange, status: number | null): Readonly<Record<string, unknown>> {
  const isRefused = status !== null && status >= 400;
  const { incoming, address, requestId, clientId, span, actor, active, startedAt } = exchange;
  return {
    requestId,
    ...(clientId === null ? {} : { clientRequestId: clientId }),
    ...(span.isKnown ? { traceId: span.traceId, spanId: span.spanId } : {}),
    address,
    ...(address === incoming.peer.address ? {} : { proxy: incoming.peer.address }),
    method: incoming.method,
    path: pathForLog(incoming.url),
    ...(status === null ? {} : { status }),
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
    ...(actor === null
      ? {}
      : { actor: actor.id, ...(isRefused ? { fingerprint: begin(actor.credentialFingerprint) } : {}) }),
    ...(active === null ? {} : { snapshot: begin(active.policy.digest) }),
  };
}

/** The first digits. The audit log has all of them, under the same request id. */
function begin(digest: string | null): string | null {
  if (digest === null) return null;
  const start = digest.indexOf(':') + 1;
  return digest.slice(start, start + LOG_LIMITS.digestCharacters);
}

/** Only a fault of ours has a stack, since only that is looked for in the program. */
function reasonsOf({ code, detail }: ApiProblem): Readonly<Record<string, unknown>> {
  const { step, cause } = detail;
  const isFault = code === 'internal';
  const isTold = cause !== undefined && !isFault;
  const reason = detail.reason ?? (isTold ? toldReason(cause).slice(0, LOG_LIMITS.databaseMessage) : undefined);
  const causeCode = isTold ? codeOf(cause) : null;
  return {
    code,
    ...(step === undefined ? {} : { step }),
    ...(causeCode === null ? {} : { cause: causeCode }),
    ...(reason === undefined ? {} : { reason }),
    ...(isFault && cause !== undefined ? { error: cause } : {}),
  };
}

/** Leaves out the query string, where somebody may have put a secret by mistake. */
function pathForLog(url = ''): string {
  const end = url.search(/[?#]/);
  return (end < 0 ? url : url.slice(0, end)).slice(0, HTTP_LIMITS.loggedPathCharacters);
}

/**
 * Whether a refusal gets a line of its own. In a flood, one line each would fill the log, so only a number of refusals
 * get one in each interval. At its end one line says how many others there were.
 */
function makeFloodGate(log: Logger): (address: string | null) => boolean {
  let lines = 0;
  let refused = 0;
  let timer: NodeJS.Timeout | null = null;
  const addresses = new Map<string, number>();
  const end = (): void => {
    if (refused > 0) {
      log.warn({ refused, addresses: Object.fromEntries(addresses) }, 'more requests were refused or broken off');
    }
    lines = 0;
    refused = 0;
    addresses.clear();
    timer = null;
  };
  return (from) => {
    timer ??= setTimeout(end, LOG_LIMITS.floodInterval).unref();
    if (lines < LOG_LIMITS.floodLines) {
      lines += 1;
      return true;
    }
    refused += 1;
    const address = from ?? 'none';
    if (addresses.has(address) || addresses.size < LOG_LIMITS.floodAddresses) {
      addresses.set(address, (addresses.get(address) ?? 0) + 1);
    }
    return false;
  };
}
