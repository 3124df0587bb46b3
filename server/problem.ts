// Problems: a request that we refuse, as RFC 9457 tells it. One table says the status and the fixed text of every code;
// what goes to the client is decided here alone, private detail travels in `cause` and reaches the operator's log only.
import type { Step } from '../engine/index.js';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** What whoever gets it can do, for the page of all problems; names of keys, headers and values stand in backquotes. */
  readonly help: string;
}

const KINDS = {
  'request.malformed': {
    status: 400,
    title: 'The request is not well-formed',
    help: 'Send one JSON value in the body, one `Host` header and a plain path as the target. An integer that would lose digits as a double is refused: send it as a string.',
  },
  'request.duplicate_key': {
    status: 400,
    title: 'An object in the body has the same key twice',
    help: 'Remove one of the two; `pointer` says where. A key that is spelled with escapes is the same key.',
  },
  'request.forbidden_key': {
    status: 400,
    title: 'An object in the body has a key that is never accepted',
    help: 'Rename the key. `__proto__`, `constructor` and `prototype` are refused wherever they stand.',
  },
  'request.invalid_unicode': {
    status: 400,
    title: 'The body is not valid Unicode',
    help: 'Encode the body as UTF-8, without half surrogate pairs and without the character U+0000.',
  },
  'request.too_deep': {
    status: 400,
    title: 'The body is nested too deeply',
    help: 'Put fewer arrays and objects inside one another: 32 at most.',
  },
  'request.schema': {
    status: 400,
    title: 'The request does not have the documented shape',
    help: 'Each entry of `errors` names a part of the body that is missing, not known or of another type. Routes take no query string unless they say so.',
  },
  'namespace.invalid': {
    status: 400,
    title: 'A namespace is not a canonical path',
    help: 'Write it like `/labs/optics`: segments of lower-case letters, digits, `.`, `_`, `~` and `-`, up to 63 characters each and 32 in all, neither `.` nor `..` nor an empty one.',
  },
  'query.unknown_field': {
    status: 400,
    title: 'The query names a field that this family does not have',
    help: 'Use a field of the family, `properties.` and a name, or for process runs `parameters.` and a name.',
  },
  'query.unknown_operator': {
    status: 400,
    title: 'The query uses an operator that does not exist',
    help: 'The operators are `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `in`, `notIn`, `contains`, `startsWith`, `endsWith` and `isNull`; `and`, `or` and `not` combine conditions.',
  },
  'query.type_mismatch': {
    status: 400,
    title: 'A value does not have the type that its field or operator takes',
    help: 'Compare a field with a value of its own type, and keep the values of a list to one type. Instead of comparing with null, ask `isNull`.',
  },
  'query.limit': {
    status: 400,
    title: 'A size is outside its limits',
    help: 'A page holds 0 to 500 records; go on with `page.next` for more.',
  },
  'query.cursor': {
    status: 400,
    title: 'The cursor does not belong to this query, or what you may see has changed: start again from the first page',
    help: 'Send `page.next` back as `page.after`, unchanged, with the same query and as the same actor; only `page.size` and `select` may differ. If it was so, start again without `page.after`.',
  },
  'query.too_complex': {
    status: 400,
    title: 'The query is larger than the limits allow',
    help: 'Ask several smaller queries. One may have 100 conditions, 8 levels of them, 1,000 values in a list and 4 levels of a property.',
  },
  'auth.required': {
    status: 401,
    title: 'This needs a credential',
    help: 'Send `Authorization: Bearer` and an API key. Whoever runs the gateway makes one with `bailiwick keys create`.',
  },
  'auth.invalid': {
    status: 401,
    title: 'The credential is not valid',
    help: 'Check that the key is sent whole. It may also have expired or been revoked, which this answer does not tell: ask whoever gave it to you for another.',
  },
  'authz.denied': {
    status: 403,
    title: 'The actor may not do this',
    help: '`step` says which check failed: for `no_matching_grant` ask the owners of the namespace for a grant, for `restriction` or `credential_scope` use a key that reaches as far, for `target_relationship` name the namespace where the record is. The answer is the same whether there is anything or not.',
  },
  'route.not_found': {
    status: 404,
    title: 'There is no such route',
    help: 'Check the path. It is exact: capital letters, a slash at the end and encoded characters make another one.',
  },
  'record.not_found': {
    status: 404,
    title: 'There is no such record among those that the actor may read',
    help: 'Check the id, and that the path names the family of the record. If both are right, ask the owners of its namespace for a grant, or use a key that reaches as far: which of these it is, is not told.',
  },
  'namespace.not_found': {
    status: 404,
    title: 'There is no such namespace',
    help: 'Check the spelling of the path or of `namespace`, or have it created first.',
  },
  'request.method': {
    status: 405,
    title: 'The route does not take this method',
    help: 'Use one of those in the `Allow` header.',
  },
  'request.timeout': {
    status: 408,
    title: 'The request did not arrive in time',
    help: 'Send the headers within 8 seconds and the whole request within 15, on a new connection.',
  },
  'request.too_large': {
    status: 413,
    title: 'The body is too large',
    help: 'Keep the body to 1 MiB, not counting the cursor in `page.after`. Split long lists over several requests.',
  },
  'request.uri_too_long': {
    status: 414,
    title: 'The request target is too long',
    help: 'Keep the path to 4,096 characters; a namespace has 1,024 at most.',
  },
  'request.media_type': {
    status: 415,
    title: 'The body must be application/json',
    help: 'Send `Content-Type: application/json`, with no charset or with `charset=utf-8`.',
  },
  'request.encoding': {
    status: 415,
    title: 'The body must not be compressed',
    help: 'Send it as it is, without `Content-Encoding`.',
  },
  'request.host': {
    status: 421,
    title: 'This host name is not served here',
    help: 'In local mode, address the gateway as `127.0.0.1`, `[::1]` or `localhost` with its port, and not from the web page of another site.',
  },
  'request.precondition_required': {
    status: 428,
    title: 'The change needs to say which revision it is of',
    help: 'Read the record, and send the value of its `ETag` as `If-Match`.',
  },
  'limit.rate': {
    status: 429,
    title: 'Too many requests',
    help: 'Wait for as many seconds as `Retry-After` says, then send fewer at once. `RateLimit` and `RateLimit-Policy` tell the quota.',
  },
  'request.headers_too_large': {
    status: 431,
    title: 'The headers are too large',
    help: 'Keep all headers together to 16 KiB.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'Tell whoever runs the gateway the `requestId`: its log has the reason.',
  },
  overloaded: {
    status: 503,
    title: 'The gateway holds as many unread answers as it may',
    help: 'Try again after as many seconds as `Retry-After` says, and read each answer as it comes.',
  },
  'snapshot.unavailable': {
    status: 503,
    title: 'No policy is loaded',
    help: 'Try again later. Whoever runs the gateway has to load a policy.',
  },
  'db.unavailable': {
    status: 503,
    title: 'The store cannot be reached',
    help: 'Try again in a moment. If it stays so, tell whoever runs the gateway.',
  },
  shutting_down: {
    status: 503,
    title: 'The gateway is shutting down',
    help: 'Connect anew and send the request again; nothing of it was done.',
  },
  'db.timeout': {
    status: 504,
    title: 'The store did not answer in time',
    help: 'Ask for less: a smaller page, a narrower namespace, fewer conditions. Or try again later.',
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;

export type ProblemCode = keyof typeof KINDS;

/** Every problem there is, by status. */
export const PROBLEMS: readonly (ProblemKind & { readonly code: string })[] = Object.freeze(
  Object.entries(KINDS).map(([code, kind]) => Object.freeze({ code, ...kind })),
);

/** The page that explains them, each under its code; `type` of a problem refers to it. */
export const PROBLEMS_PATH = '/docs/problems';

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
