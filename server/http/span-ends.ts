// Ends the span of each request with its outcome.
import type { ApiProblem } from '../problem.js';
import type { Exchange } from './exchange.js';
import type { RequestObserver } from './request-observer.js';

export function endSpans(): RequestObserver {
  return {
    answered: end,
    abandoned: (exchange) => {
      end(exchange, null);
    },
    // Without a request there is no span.
    refused: () => undefined,
    handshakeFailed: () => undefined,
  };
}

function end({ span, route, requestId, active }: Exchange, status: number | null, problem?: ApiProblem): void {
  span.end({
    method: route?.method ?? 'other',
    route: route?.path ?? null,
    status,
    requestId,
    snapshot: active?.policy.digest ?? null,
    code: problem?.code ?? null,
    step: problem?.detail.step ?? null,
  });
}
