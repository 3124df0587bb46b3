// Problems: a request that we refuse, as RFC 9457 tells it. One table says the status and the fixed text of every code;
// what goes to the client is decided here alone, private detail travels in `cause` and reaches the operator's log only.
import type { Step } from '../engine/index.js';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

const KINDS = {
  'request.malformed': { status: 400, title: 'The request is not well-formed' },
  'request.duplicate_key': { status: 400, title: 'An object in the body has the same key twice' },
  'request.forbidden_key': { status: 400, title: 'An object in the body has a key that is never accepted' },
  'request.invalid_unicode': { status: 400, title: 'The body is not valid Unicode' },
  'request.too_deep': { status: 400, title: 'The body is nested too deeply' },
  'request.schema': { status: 400, title: 'The request does not have the documented shape' },
  'namespace.invalid': { status: 400, title: 'A namespace is not a canonical path' },
  'query.unknown_field': { status: 400, title: 'The query names a field that this family does not have' },
  'query.unknown_operator': { status: 400, title: 'The query uses an operator that does not exist' },
  'query.type_mismatch': { status: 400, title: 'A value does not have the type that its field or operator takes' },
  'query.limit': { status: 400, title: 'A size is outside its limits' },
  'query.cursor': {
    status: 400,
    title: 'The cursor does not belong to this query, or what you may see has changed: start again from the first page',
  },
  'query.too_complex': { status: 400, title: 'The query is larger than the limits allow' },
  'auth.required': { status: 401, title: 'This needs a credential' },
  'auth.invalid': { status: 401, title: 'The credential is not valid' },
  'authz.denied': { status: 403, title: 'The actor may not do this' },
  'route.not_found': { status: 404, title: 'There is no such route' },
  'namespace.not_found': { status: 404, title: 'There is no such namespace' },
  'request.method': { status: 405, title: 'The route does not take this method' },
  'request.too_large': { status: 413, title: 'The body is too large' },
  'request.uri_too_long': { status: 414, title: 'The request target is too long' },
  'request.media_type': { status: 415, title: 'The body must be application/json' },
  'request.encoding': { status: 415, title: 'The body must not be compressed' },
  'request.host': { status: 421, title: 'This host name is not served here' },
  'limit.rate': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  'snapshot.unavailable': { status: 503, title: 'No policy is loaded' },
  'db.unavailable': { status: 503, title: 'The store cannot be reached' },
  shutting_down: { status: 503, title: 'The gateway is shutting down' },
  'db.timeout': { status: 504, title: 'The store did not answer in time' },
} as const satisfies Readonly<Record<string, ProblemKind>>;

export type ProblemCode = keyof typeof KINDS;

/** One fault of a bad input; `pointer` is an RFC 6901 pointer into the body and never holds a value of it. */
export interface ProblemError {
  readonly pointer: string;
  readonly code: ProblemCode;
  readonly message: string;
}

export interface ProblemDetail {
  readonly step?: Step;
  readonly errors?: readonly ProblemError[];
  /** Seconds. */
  readonly retryAfter?: number;
  /** Headers that the answer needs beside the usual: name, value, name, value. */
  readonly headers?: readonly string[];
  /** Fixed text for the operator's log; never sent. */
  readonly reason?: string;
  /** For the operator's log; never sent. */
  readonly cause?: unknown;
}

/** The one way to refuse a request: thrown anywhere below the routes, answered in one place. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  readonly detail: ProblemDetail;

  constructor(code: ProblemCode, detail: ProblemDetail = {}) {
    const kind = KINDS[code];
    super(`${code}: ${kind.title}`, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.status = kind.status;
    this.title = kind.title;
    this.detail = detail;
  }
}
