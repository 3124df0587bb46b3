// Observers of how requests end: the log and the metrics. Each request is reported here exactly once, whether or not it
// was answered.
import type { ApiProblem } from '../problem.js';
import type { Exchange } from './exchange.js';

export interface RequestObserver {
  /** `problem` is set if the answer is a refusal. */
  readonly answered: (exchange: Exchange, status: number, problem?: ApiProblem) => void;
  /** The client went away before its answer. */
  readonly abandoned: (exchange: Exchange) => void;
  /** Something was refused before it became a request. */
  readonly refused: (refusal: Refusal) => void;
  /** A connection ended during its TLS handshake. The reason is a code of OpenSSL or Node. */
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

/** Tells each observer, in this order. */
export function toldToEach(observers: readonly RequestObserver[]): RequestObserver {
  return {
    answered: (exchange, status, problem) => {
      for (const one of observers) one.answered(exchange, status, problem);
    },
    abandoned: (exchange) => {
      for (const one of observers) one.abandoned(exchange);
    },
    refused: (refusal) => {
      for (const one of observers) one.refused(refusal);
    },
    ungreeted: (client) => {
      for (const one of observers) one.ungreeted(client);
    },
  };
}
