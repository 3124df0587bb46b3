// The observers of how requests end: the log and the metrics. Everything that is answered, and everything that never
// is, comes by here once.
import type { ApiProblem } from '../problem.js';
import type { Exchange } from './exchange.js';

export interface RequestObserver {
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

/** Each is told, in this order. */
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
