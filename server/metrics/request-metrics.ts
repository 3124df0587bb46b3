// Counts how requests end: by route and status, by decision, and by the reason of a refusal. Labels are only names of
// ours, never part of a request. Nothing is counted that the answer does not say: whether an invisible record exists
// changes no metric.
import { type Family, FAMILIES } from '../../engine/index.js';
import type { Exchange } from '../http/exchange.js';
import type { RequestObserver } from '../http/request-observer.js';
import type { Route } from '../http/route.js';
import { collectionOf } from '../http/routes/names.js';
import type { ApiProblem } from '../problem.js';
import type { Registry } from './series.js';

/** In seconds, for answers to requests and for work in the store. */
const SLOW = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** In seconds, for decisions, which do not involve the store. */
const FAST = [0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.001, 0.01, 0.1];

export function makeRequestMetrics({ counter, histogram }: Registry): RequestObserver {
  const requests = counter({
    name: 'bailiwick_http_requests_total',
    help: 'Requests that were answered, by route and by the status of the answer.',
    labels: ['method', 'route', 'status'],
  });
  const durations = histogram({
    name: 'bailiwick_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer.',
    labels: ['method', 'route'],
    bounds: SLOW,
  });
  const problems = counter({
    name: 'bailiwick_problems_total',
    help: 'Requests that were refused, by the code of the problem.',
    labels: ['code'],
  });
  const abandoned = counter({
    name: 'bailiwick_http_requests_abandoned_total',
    help: 'Requests whose client disconnected before the answer.',
  });
  const failedHandshakes = counter({
    name: 'bailiwick_tls_failures_total',
    help: 'Connections that ended because the TLS handshake failed.',
  });
  const decisions = counter({
    name: 'bailiwick_decisions_total',
    help: 'Decisions about requests, as they were answered, by the result, the step at which a denial failed, and the kind of request.',
    labels: ['result', 'step', 'family', 'action'],
  });
  const decisionTimes = histogram({
    name: 'bailiwick_decision_duration_seconds',
    help: 'Time to decide what a read request may see.',
    bounds: FAST,
  });
  const queryTimes = histogram({
    name: 'bailiwick_query_duration_seconds',
    help: 'Time from the decision about a read request to its answer, including the store.',
    labels: ['family', 'operation'],
    bounds: SLOW,
  });
  const failures = counter({
    name: 'bailiwick_auth_failures_total',
    help: 'Requests without a valid credential, by the reason.',
    labels: ['reason'],
  });
  const limited = counter({
    name: 'bailiwick_rate_limited_total',
    help: 'Requests that were refused for a limit, by the limit.',
    labels: ['limit'],
  });

  const countProblem = ({ code, detail }: ApiProblem): void => {
    problems.add(code);
    if (code === 'auth.required') failures.add('missing');
    if (code === 'auth.invalid') failures.add(detail.fault ?? 'unusable');
    if (code === 'auth.unavailable') failures.add(detail.fault ?? 'issuer');
    if (code === 'limit.rate') limited.add(detail.limit ?? 'actor');
    if (code === 'overloaded') limited.add('overloaded');
  };
  /** Counts the decision as the answer shows it. An answer that hides whether a record exists shows none. */
  const countDecision = ({ route, judged }: Exchange, problem: ApiProblem | undefined): void => {
    if (problem !== undefined && problem.code !== 'authz.denied') return;
    const told = [problem === undefined ? 'allow' : 'deny', problem?.detail.step ?? 'none'] as const;
    if (route?.access === 'command') decisions.add(...told, familyOf(route), 'write');
    else if (judged !== null) decisions.add(...told, partsOf(judged.operation)[0], 'read');
  };
  return {
    answered: (exchange, status, problem) => {
      const { route, startedAt, judged, decided } = exchange;
      const now = performance.now();
      const [method, path] = labelsOf(route);
      requests.add(method, path, String(status));
      durations.observe((now - startedAt) / 1000, method, path);
      if (problem !== undefined) countProblem(problem);
      countDecision(exchange, problem);
      if (judged === null || decided === null) return;
      decisionTimes.observe((decided.ended - decided.began) / 1000);
      if (problem !== undefined) return;
      const [family, operation] = partsOf(judged.operation);
      queryTimes.observe((now - decided.ended) / 1000, family, operation);
    },
    abandoned: () => {
      abandoned.add();
    },
    refused: ({ problem }) => {
      requests.add(...NO_ROUTE, String(problem.status));
      countProblem(problem);
    },
    handshakeFailed: () => {
      failedHandshakes.add();
    },
  };
}

const NO_ROUTE = Object.freeze(['other', 'none'] as const);

function labelsOf(route: Route | null): readonly [method: string, route: string] {
  return route === null ? NO_ROUTE : [route.method, route.path];
}

/** The family that the commands of a route change. The commands of a batch may change all families. */
function familyOf({ path }: Route): Family | 'batch' {
  return FAMILIES.find((family) => path.startsWith(collectionOf(family))) ?? 'batch';
}

/** `resource` and `query` of `resource.query`. */
function partsOf(operation: string): readonly [family: string, verb: string] {
  const dot = operation.indexOf('.');
  return [operation.slice(0, dot), operation.slice(dot + 1)];
}
