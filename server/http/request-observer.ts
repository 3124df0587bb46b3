// Observers of how requests end: the log and the metrics. Each request is reported here exactly once, whether or not it
// was answered.
import type { Logger } from '../lib/ports.js';
import type { ApiProblem } from '../problem.js';
import type { Exchange } from './exchange.js';

export interface RequestObserver {
  /** `problem` is set if the answer is a refusal. */
  readonly answered: (exchange: Exchange, status: number, problem?: ApiProblem) => void;
  /** The client went away before its answer. */
  readonly abandoned: (exchange: Exchange) => void;
  /** Something was refused before it became a request. */
  readonly refused: (refusal: RefusedRequest) => void;
  /** A connection ended during its TLS handshake. The reason is a code of OpenSSL or Node. */
  readonly handshakeFailed: (client: FailedHandshake) => void;
}

export interface FailedHandshake {
  readonly address: string | null;
  readonly reason: string;
}

export interface RefusedRequest {
  readonly requestId: string;
  readonly address: string | null;
  readonly problem: ApiProblem;
}

/** Calls each observer, in this order. If one throws, the others are still called and the request is still answered. */
export function toldToEach(observers: readonly RequestObserver[], log: Pick<Logger, 'error'>): RequestObserver {
  const each =
    <Parts extends readonly unknown[]>(of: (one: RequestObserver) => (...parts: Parts) => void) =>
    (...parts: Parts): void => {
      for (const one of observers) {
        try {
          of(one)(...parts);
        } catch (error) {
          log.error({ error }, 'the end of a request could not be noted; this is a bug of bailiwick');
        }
      }
    };
  return {
    answered: each((one) => one.answered),
    abandoned: each((one) => one.abandoned),
    refused: each((one) => one.refused),
    handshakeFailed: each((one) => one.handshakeFailed),
  };
}
