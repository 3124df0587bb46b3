// Web pages of other origins (CORS). Only origins that the settings name may send requests with a credential in
// `Authorization` and read the answers. Cookies mean nothing here, so no answer allows them. There is no wildcard for
// all origins.

export interface Cors {
  /** Headers of an answer to a request from this origin, or to one without an origin. */
  readonly headersFor: (origin: string | undefined) => readonly string[];
  /**
   * Headers of the answer to a preflight; null if the request is not one, or comes from an origin that is not allowed.
   */
  readonly preflightFor: (asked: Preflight, methods: Iterable<string>) => readonly string[] | null;
}

export interface Preflight {
  readonly method: string | undefined;
  readonly origin: string | undefined;
  /** The value of `Access-Control-Request-Method`. */
  readonly wanted: string | undefined;
}

/** Allows no origin and sends no header. */
export const NO_CORS: Cors = Object.freeze({ headersFor: () => [], preflightFor: () => null });

const SENT =
  'authorization, content-type, if-match, if-none-match, idempotency-key, last-event-id, x-request-id, traceparent, tracestate';
const READ =
  'Bailiwick-Snapshot, X-Request-Id, ETag, Location, Idempotency-Replayed, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate';
/** How many seconds a browser may remember a preflight. */
const MAX_AGE = '600';

export function makeCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return NO_CORS;
  const allowed: ReadonlySet<string> = new Set(origins);
  const allow = (origin: string): readonly string[] => ['Vary', 'Origin', 'Access-Control-Allow-Origin', origin];
  const isAllowed = (origin: string | undefined): origin is string => origin !== undefined && allowed.has(origin);
  return {
    headersFor: (origin) =>
      isAllowed(origin) ? [...allow(origin), 'Access-Control-Expose-Headers', READ] : ['Vary', 'Origin'],
    preflightFor: ({ method, origin, wanted }, methods) => {
      if (method !== 'OPTIONS' || wanted === undefined || !isAllowed(origin)) return null;
      return [
        ...allow(origin),
        ...['Access-Control-Allow-Methods', [...methods].join(', ')],
        ...['Access-Control-Allow-Headers', SENT],
        ...['Access-Control-Max-Age', MAX_AGE],
      ];
    },
  };
}
