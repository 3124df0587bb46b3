// Problems: refused requests as RFC 9457 describes them. One table has the status and the fixed text of every code.
// This file alone decides what the client sees; private detail travels in `cause` and reaches only the operator's log.
import type { AccessStep, Step } from '../engine/index.js';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** What the client can do, for the page of all problems. Names of keys, headers and values are in backquotes. */
  readonly help: string;
}

const KINDS = kindsOf({
  'request.malformed': {
    status: 400,
    title: 'The request is not well-formed',
    help: 'Send one JSON value in the body, one `Host` header and a plain path as the target. An integer that a double cannot represent exactly is refused: send it as a string.',
  },
  'request.duplicate_key': {
    status: 400,
    title: 'An object in the body has the same key twice',
    help: 'Remove one of the two; `pointer` says where. A key spelled with escapes is the same key.',
  },
  'request.forbidden_key': {
    status: 400,
    title: 'An object in the body has a key that is never accepted',
    help: 'Rename the key. `__proto__`, `constructor` and `prototype` are refused wherever they stand.',
  },
  'request.invalid_unicode': {
    status: 400,
    title: 'The body is not valid Unicode',
    help: 'Encode the body as UTF-8, without unpaired surrogates and without the character U+0000.',
  },
  'request.too_deep': {
    status: 400,
    title: 'The body is nested too deeply',
    help: 'Nest arrays and objects at most 32 levels deep.',
  },
  'request.schema': {
    status: 400,
    title: 'The request does not have the documented shape',
    help: 'Each entry of `errors` names a part of the body that is missing, unknown or of the wrong type. Queries take everything in the body; see docs/queries.md or `bailiwick schema query`.',
  },
  'namespace.invalid': {
    status: 400,
    title: 'A namespace is not a canonical path',
    help: 'Write it like `/labs/optics`: segments of lower-case letters, digits, `.`, `_`, `~` and `-`. A path has at most 32 segments of 1 to 63 characters, and none of them is `.` or `..`.',
  },
  'query.unknown_field': {
    status: 400,
    title: 'The query names a field that this family does not have',
    help: 'Use a field of the family, `properties.` and a name, or for process runs `parameters.` and a name or `resources.` and a slot.',
  },
  'query.unknown_operator': {
    status: 400,
    title: 'The query uses an operator that does not exist',
    help: 'The operators are `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `in`, `notIn`, `contains`, `containsIgnoreCase`, `startsWith`, `endsWith`, `isNull`, `has`, `hasAny` and `hasAll`; `and`, `or` and `not` combine conditions.',
  },
  'query.type_mismatch': {
    status: 400,
    title: 'A value has a type that its field or operator does not take',
    help: 'Compare a field with a value of its own type, and keep the values of a list to one type. Instead of comparing with null, use `isNull`.',
  },
  'query.limit': {
    status: 400,
    title: 'A size is outside its limits',
    help: 'A page holds 0 to 500 records. For more, send `page.next` as `page.after`.',
  },
  'query.cursor': {
    status: 400,
    title: 'The cursor does not belong to this query, or what you may see has changed: start again from the first page',
    help: 'Send `page.next` back as `page.after`, unchanged, with the same query and as the same actor; only `page.size` and `select` may differ. If you did all that, start again without `page.after`.',
  },
  'query.too_complex': {
    status: 400,
    title: 'The query is larger than the limits allow',
    help: 'Send several smaller queries. One may have 100 conditions, nested 8 levels deep, 1,000 values in a list and 4 levels in the name of a property.',
  },
  'auth.required': {
    status: 401,
    title: 'This needs a credential',
    help: 'Send `Authorization: Bearer` and an API key, or a token of an issuer that the gateway accepts. The operator of the gateway creates keys with `bailiwick keys create`.',
  },
  'auth.invalid': {
    status: 401,
    title: 'The credential is not valid',
    help: 'Check that you send the whole key or token. It may also have expired, been revoked, or be meant for somebody else. This answer does not say which, but the log of the gateway does. Sign in again, or ask for a new key.',
  },
  'authz.denied': {
    status: 403,
    title: 'The actor may not do this',
    help: '`step` names the check that failed. `no_matching_grant`: ask the owners of the namespace for a grant. `exclusive`: the policy keeps two of your identities apart, so use a credential with one of them. `restriction` or `credential_scope`: use a key that reaches far enough. `target_relationship`: send the namespace of the record itself as `namespace`. The answer is the same whether or not the record exists.',
  },
  'authz.asker': {
    status: 403,
    title: 'The credential may not ask about others',
    help: 'Use a key that was made with `bailiwick keys create --decide`. Other credentials can only ask about their own rights: `GET /api/v1/permissions`.',
  },
  'route.not_found': {
    status: 404,
    title: 'There is no such route',
    help: 'Check the path; `/openapi.json` lists the routes. Paths are exact: capital letters, a trailing slash and encoded characters make a different path.',
  },
  'record.not_found': {
    status: 404,
    title: 'There is no such record among those that the actor may read',
    help: 'Check the id, and that the path names the family of the record. If both are right, ask the owners of its namespace for a grant, or use a key that reaches far enough. The answer does not say which of these is the reason.',
  },
  'namespace.not_found': {
    status: 404,
    title: 'There is no such namespace',
    help: 'Check the spelling of the path or of `namespace`. Namespaces are created with `PUT`, from the top down.',
  },
  'key.not_found': {
    status: 404,
    title: 'There is no such key',
    help: 'Give the id of a key as `bailiwick keys list` shows it: the part between `bwk_` and the next `_`, never the key itself.',
  },
  'snapshot.not_found': {
    status: 404,
    title: 'The store does not have this snapshot',
    help: 'Publish the snapshot again, or use one of those that `bailiwick snapshots` lists. The store keeps only the snapshots that were used most recently.',
  },
  'request.method': {
    status: 405,
    title: 'The route does not take this method',
    help: 'Use one of the methods in the `Allow` header.',
  },
  'request.timeout': {
    status: 408,
    title: 'The request did not arrive in time',
    help: 'Open a new connection. Send the headers within 8 seconds and the whole request within 15.',
  },
  'request.too_large': {
    status: 413,
    title: 'The body is too large',
    help: 'Send at most 1 MiB, not counting the cursor in `page.after`. Split long lists over several requests. A record may have 1 MiB of JSON, and 2 MiB if its numbers are written without exponents. The answer to a batch, to one list of questions about others, and to one about own rights, may have 16 MiB.',
  },
  'request.uri_too_long': {
    status: 414,
    title: 'The request target is too long',
    help: 'A path may have 4,096 characters, and a namespace 1,024.',
  },
  'request.media_type': {
    status: 415,
    title: 'The body must be application/json',
    help: 'Send `Content-Type: application/json`, for `PATCH` also `application/merge-patch+json`, with no charset or with `charset=utf-8`.',
  },
  'request.encoding': {
    status: 415,
    title: 'The body must not be compressed',
    help: 'Send it as it is, without `Content-Encoding`.',
  },
  'request.host': {
    status: 421,
    title: 'This host name is not served here',
    help: 'In local mode and on the admin listener, use `127.0.0.1`, `[::1]` or `localhost` with the port of the gateway. Web pages of other sites may not send requests here.',
  },
  'idempotency.in_progress': {
    status: 409,
    title: 'A request with this Idempotency-Key is in progress',
    help: 'Wait a moment and send the same request again. You get the answer of the first one.',
  },
  'record.conflict': {
    status: 409,
    title: 'The record exists with other content, or somebody else changed it at the same time',
    help: 'Read the record and decide again. Use `PATCH` to change a namespace that exists.',
  },
  'record.archived': {
    status: 409,
    title: 'The record or its namespace is archived',
    help: 'Restore it first. An archived record cannot be changed or copied, and an archived namespace takes no new records at it or below it.',
  },
  'record.referenced': {
    status: 409,
    title: 'Other records refer to the record and could not do so after the move',
    help: 'A record may refer to records in its own namespace or above it. Move the records that refer to this one first, or move this one to a namespace that is the same as theirs or above all of them.',
  },
  'record.name_taken': {
    status: 409,
    title: 'Another record has this name, and names are unique here',
    help: 'The template asks for names that are unique in a namespace. Choose another name, or change the record that has it. An archived record does not reserve its name: it can be restored once the name is free.',
  },
  'record.active': {
    status: 409,
    title: 'Only an archived record can be deleted',
    help: 'Archive it first, and send the `ETag` of the archived record with the `DELETE`. A deleted record cannot be restored.',
  },
  'snapshot.refused': {
    status: 409,
    title: 'The snapshot cannot be served',
    help: '`errors` says whether its bytes, its statement or its labels are the reason. The policy in force stays. Publish the snapshot again, signed as the gateways require.',
  },
  'snapshot.rollback_refused': {
    status: 409,
    title: 'The statement of the snapshot is older than one that was accepted',
    help: 'To go back on purpose, use `POST /admin/v1/rollback` or `bailiwick rollback`, with a reason. Otherwise sign the snapshot with a later generation.',
  },
  'changes.expired': {
    status: 410,
    title: 'The feed cannot continue from this cursor: read everything again, and continue from a new cursor',
    help: 'Get a new cursor with `GET /api/v1/changes` without `after`. Then read the records that you need with queries, and continue from that cursor. The setting `changes.keep` says how long changes are kept.',
  },
  'record.precondition': {
    status: 412,
    title: 'The record has changed since you read it',
    help: 'Read it again, apply your change to the new content, and send the new `ETag` as `If-Match`.',
  },
  'idempotency.key_reused': {
    status: 422,
    title: 'This Idempotency-Key belongs to another request',
    help: 'A key belongs to one body, and its conditions, on one path. Use a new key for each new request, and the same key only to repeat that request.',
  },
  'record.invalid': {
    status: 422,
    title: 'The record does not satisfy its template, or the schema of the template cannot be used',
    help: '`errors` names each place, if you may read the template. A schema is JSON Schema 2020-12 without references to other documents and without patterns that look around or back.',
  },
  'reference.not_found': {
    status: 422,
    title: 'The record refers to something that it cannot use',
    help: '`errors` names each reference. It must be the id of a record of the right family that you may read, at the namespace of your record or above it, and not archived.',
  },
  'request.precondition_required': {
    status: 428,
    title: 'The request needs an If-Match header with the ETag of the record',
    help: 'Read the record, and send the value of its `ETag` as `If-Match`, with its quotes. In a batch, this is the member `ifMatch` of the command.',
  },
  'snapshot.invalid': {
    status: 422,
    title: 'The upload is not a snapshot that can be served',
    help: '`errors` says why. Send the bytes of a snapshot file as `bailiwick compile` writes it, or a JSON object with its text as `snapshot` and its signed statement as `statement`. Where signatures are required, sign it first.',
  },
  'limit.rate': {
    status: 429,
    title: 'Too many requests',
    help: 'Wait for as many seconds as `Retry-After` says, then send fewer requests at once. `RateLimit` and `RateLimit-Policy` state the quota.',
  },
  'request.headers_too_large': {
    status: 431,
    title: 'The headers are too large or too many',
    help: 'A request may have 100 headers, with 16 KiB in all.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'Give the `requestId` to the operator of the gateway: the log has the reason.',
  },
  'auth.unavailable': {
    status: 503,
    title: 'The issuer of the token cannot be asked now',
    help: 'The gateway cannot tell yet whether the token is valid. Keep it and try again after as many seconds as `Retry-After` says. If that does not help, tell the operator of the gateway, who can see why the issuer does not answer.',
  },
  overloaded: {
    status: 503,
    title: 'Too much waits at the gateway: answers to be read, or questions to be answered',
    help: 'Try again after as many seconds as `Retry-After` says, and read each answer as it arrives.',
  },
  'snapshot.unavailable': {
    status: 503,
    title: 'It is not known which policy is in force',
    help: 'Try again in a moment. The operator of the gateway has to find out why its store does not answer.',
  },
  'snapshot.busy': {
    status: 503,
    title: 'The snapshot could not be verified in time',
    help: 'It had to wait for other uploads, or verifying it takes too long. Nothing was stored: send it again after as many seconds as `Retry-After` says.',
  },
  'proof.unavailable': {
    status: 503,
    title: 'The question could not be answered now',
    help: 'The answer takes too long, or the store does not have the snapshot. Ask about fewer things at once, or try again after as many seconds as `Retry-After` says.',
  },
  'snapshot.expired': {
    status: 503,
    title: 'The policy is too old to decide, or its signed statement has expired',
    help: 'Try again later. `title` says which of the two it is. If the statement has expired, the operator of the gateway has to sign the snapshot again. If the policy is too old, the operator has to make its source reachable.',
  },
  'audit.unavailable': {
    status: 503,
    title: 'The request cannot be recorded now',
    help: 'Try again in a moment; nothing was done. `title` says what the operator of the gateway has to look after: the disk of the audit log, its store, or the gateway itself; or that too many events wait to be written, yours or those of all.',
  },
  'audit.unreadable': {
    status: 503,
    title: 'The audit log cannot be read now',
    help: 'Reading takes too long, a file of the log cannot be read, or this gateway records nothing. Ask about a shorter period, try again after as many seconds as `Retry-After` says, or use `bailiwick audit` where the log is.',
  },
  'db.unavailable': {
    status: 503,
    title: 'The store cannot be reached',
    help: 'Try again in a moment. If that does not help, tell the operator of the gateway. If `outcome` is `unknown`, a write may have been done: repeat it with the same `Idempotency-Key` or `If-Match`. Otherwise no record was written.',
  },
  starting: {
    status: 503,
    title: 'The gateway is starting',
    help: 'Try again in a moment; nothing was done. If it lasts, the log of the gateway says what it does.',
  },
  shutting_down: {
    status: 503,
    title: 'The gateway is shutting down',
    help: 'Connect again and send the request again; nothing was done.',
  },
  'db.timeout': {
    status: 504,
    title: 'The store did not answer in time',
    help: 'Ask for less: a smaller page, a narrower namespace, fewer conditions. Or try again later. If `outcome` is `unknown`, a write may have been done: repeat it with the same `Idempotency-Key` or `If-Match`. Otherwise no record was written.',
  },
});

/** The compiler keeps the codes alone: otherwise every text would stand in the declarations, too. */
function kindsOf<Code extends string>(kinds: Readonly<Record<Code, ProblemKind>>): Readonly<Record<Code, ProblemKind>> {
  return Object.freeze(kinds);
}

export type ProblemCode = keyof typeof KINDS;

/** Every problem, by status. */
export const PROBLEMS: readonly (ProblemKind & { readonly code: ProblemCode })[] = Object.freeze(
  Object.keys(KINDS)
    .filter(isProblemCode)
    .map((code) => Object.freeze({ code, ...KINDS[code] })),
);

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(KINDS, text);
}

/** The page that explains them, each under its code; `type` of a problem refers to it. */
export const PROBLEMS_PATH = '/docs/problems';

/** One fault of a bad input; `pointer` is an RFC 6901 pointer into the body and never holds a value of it. */
export interface InputFault {
  readonly pointer: string;
  readonly code: ProblemCode;
  readonly message: string;
}

/** What was wrong with a credential, for metrics of failures. */
export type AuthenticationFault =
  /** Not a credential of a kind that is accepted here. */
  | 'unreadable'
  /** It is unknown, or its issuer is. */
  | 'unknown'
  /** Its secret or its signature is wrong. */
  | 'wrong'
  /** It has expired, or is not valid yet. */
  | 'expired'
  | 'revoked'
  /** It is meant for another listener, audience, client or use, or bound to another certificate. */
  | 'misdirected'
  /** Its content cannot be used. */
  | 'unusable';

/** Which of the limits was reached. */
export type LimitName = 'actor' | 'address' | 'concurrency' | 'unauthenticated' | 'unread-bytes' | 'uploads';

export interface ProblemDetail {
  /** Replaces the usual title if the route has more to say. */
  readonly title?: string;
  readonly step?: Step;
  /** The step at which one side of a copy fails; `cause` in the answer. */
  readonly because?: AccessStep;
  /** For a batch: the index of the command that failed. */
  readonly command?: number;
  /** Set if nobody knows whether a write was done. */
  readonly outcome?: 'unknown';
  /** The policy that refused, if it is not the pinned one. */
  readonly snapshot?: string;
  readonly errors?: readonly InputFault[];
  /** Seconds. */
  readonly retryAfter?: number;
  /** Headers that the answer needs in addition to the usual ones: name, value, name, value. */
  readonly headers?: readonly string[];
  /** A fixed text for the operator's log; never sent. */
  readonly reason?: string;
  /** What is wrong with the credential, or may be; never sent. */
  readonly fault?: AuthenticationFault;
  readonly limit?: LimitName;
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
    const { title = kind.title } = detail;
    super(`${code}: ${title}`, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.status = kind.status;
    this.title = title;
    this.detail = detail;
  }
}

/** The refusal of an input with one fault, at this place. */
export function inputProblem(code: ProblemCode, pointer: string, message: string): ApiProblem {
  return new ApiProblem(code, { errors: [{ pointer, code, message }] });
}
