// The operator's log of requests: the one exit for everything that is answered, one line each, with whoever asked as far as it
// is known. A flood is one line a second, with the addresses that it comes from.
import { HTTP_LIMITS, LOG_LIMITS } from '../limits.js';
import type { Logger } from '../ports.js';
import type { ApiProblem } from '../problem.js';
import type { Exchange } from './exchange.js';

export interface RequestLog {
  /** `problem` where the answer is a refusal. */
  readonly answered: (exchange: Exchange, status: number, problem?: ApiProblem) => void;
  /** The client went away before its answer. */
  readonly abandoned: (exchange: Exchange) => void;
  /** What never became a request was refused with this. */
  readonly refused: (refusal: Refusal) => void;
  /** A connection ended before it was one, for this reason of OpenSSL's or Node's. */
  readonly ungreeted: (client: Ungreeted) => void;
}

export interface Ungreeted {
  readonly address: string | null;
  readonly reason: string;
}

export interface Refusal {
  readonly requestId: string;
  readonly address: string | null;
  readonly problem: ApiProblem;
}

export function makeRequestLog(log: Logger): RequestLog {
  const noticeFlood = makeFloodNotice(log);
  return {
    answered: (exchange, status, problem) => {
      if (problem?.code === 'limit.rate' || problem?.code === 'overloaded') {
        noticeFlood(exchange);
        return;
      }
      const fields = { ...describe(exchange, status), ...(problem === undefined ? {} : reasonsOf(problem)) };
      if (status >= 500) log.error(fields, 'request');
      else log.info(fields, 'request');
    },
    abandoned: (exchange) => {
      log.info(describe(exchange, null), 'the client went away');
    },
    refused: ({ requestId, address, problem }) => {
      log.info({ requestId, address, status: problem.status, ...reasonsOf(problem) }, 'request');
    },
    ungreeted: (client) => {
      log.info({ ...client }, 'TLS could not be agreed on');
    },
  };
}

function describe(exchange: Exchange, status: number | null): Readonly<Record<string, unknown>> {
  const { incoming, requestId, clientId, actor, active, startedAt } = exchange;
  return {
    requestId,
    ...(clientId === null ? {} : { clientRequestId: clientId }),
    address: incoming.peer.address,
    method: incoming.method,
    path: pathForLog(incoming.url),
    ...(status === null ? {} : { status }),
    milliseconds: Math.round((performance.now() - startedAt) * 1000) / 1000,
    ...(actor === null ? {} : { actor: actor.id }),
    ...(active === null ? {} : { snapshot: active.policy.digest }),
  };
}

function reasonsOf({ code, detail }: ApiProblem): Readonly<Record<string, unknown>> {
  const { step, reason, cause } = detail;
  return {
    code,
    ...(step === undefined ? {} : { step }),
    ...(reason === undefined ? {} : { reason }),
    ...(cause === undefined ? {} : { error: cause }),
  };
}

/** Without query string, which may hold what somebody took for the place of a secret. */
function pathForLog(url = ''): string {
  const end = url.search(/[?#]/);
  return (end < 0 ? url : url.slice(0, end)).slice(0, HTTP_LIMITS.loggedPathCharacters);
}

/** Says that requests are refused for their rate, at most once a second: a line for each would fill the log in a flood. */
function makeFloodNotice(log: Logger): (exchange: Exchange) => void {
  let refused = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  const addresses = new Map<string, number>();
  return ({ incoming }) => {
    refused += 1;
    const address = incoming.peer.address ?? 'none';
    if (addresses.has(address) || addresses.size < LOG_LIMITS.floodAddresses) {
      addresses.set(address, (addresses.get(address) ?? 0) + 1);
    }
    if (performance.now() - saidAt < LOG_LIMITS.floodInterval) return;
    const fields = { refused, addresses: Object.fromEntries(addresses) };
    log.warn(fields, 'requests refused for their rate since the last such line');
    refused = 0;
    addresses.clear();
    saidAt = performance.now();
  };
}
