// One call: an operation with its arguments becomes a request, and what comes back becomes an answer or an error.
import { AnswerError, problemIn, readJson } from './errors.js';
import type { Arguments, ClientOperation } from './operations.js';
import type { Received, Sent, Transport } from './transport.js';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** An id of yours, which the answer and the gateway's log repeat. */
  readonly requestId?: string;
}

export interface KeyedOptions extends CallOptions {
  /** `Idempotency-Key`. Defaults to a new one, so that a create whose answer was lost is repeated and done once. */
  readonly idempotencyKey?: string;
}

/** An answer with what its headers say. */
export interface Answer<Body> {
  readonly body: Body;
  readonly status: number;
  /** The revision of the one record that the answer is about, for the next change of it. */
  readonly revision: number | null;
  /** Whether this is the answer to an earlier request with the same idempotency key. */
  readonly isReplayed: boolean;
  /** The digest of the policy that decided. */
  readonly snapshot: string | null;
  /** Finds the request in the gateway's log. */
  readonly requestId: string | null;
}

/** Sends a call. The body has the type that the operation is described with; that it is so is the gateway's word. */
export type Send = <Body>(
  operation: ClientOperation<Arguments, unknown>,
  asked: Arguments,
  options?: CallOptions,
) => Promise<Answer<Body>>;

/** Rejects with `ProblemError` if the gateway refuses, and with `AnswerError` if it was no gateway that answered. */
export function sendBy(transport: Transport): Send {
  return async <Body>(operation: ClientOperation<Arguments, unknown>, asked: Arguments, options: CallOptions = {}) =>
    readAnswer<Body>(await transport(toSent(operation, asked, options)));
}

function readAnswer<Body>({ status, header, text }: Received): Answer<Body> {
  if (status < 200 || status >= 300)
    throw problemIn(text) ?? new AnswerError(status, 'the answer does not come from a gateway');
  const body = header('content-type')?.startsWith('application/json') === true ? readJson(text) : undefined;
  if (!isBody<Body>(body)) throw new AnswerError(status, 'the answer is not JSON');
  const revision = /^"(\d+)"$/.exec(header('etag') ?? '')?.[1];
  return {
    body,
    status,
    revision: revision === undefined ? null : Number(revision),
    isReplayed: header('idempotency-replayed') === 'true',
    snapshot: header('bailiwick-snapshot'),
    requestId: header('x-request-id'),
  };
}

/** The gateway's tests check what an answer contains. Here it only has to be an object. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the one place that takes the gateway's word for a body
export function isBody<Body>(value: unknown): value is Body {
  return typeof value === 'object' && value !== null;
}

function toSent(
  { method, path, again }: ClientOperation<Arguments, unknown>,
  asked: Arguments,
  options: CallOptions,
): Sent {
  const { body, revision, idempotencyKey, onlyNew } = asked;
  const { signal = null, requestId } = options;
  return {
    method,
    path: targetOf(path, asked),
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(revision === undefined ? {} : { 'if-match': `"${String(revision)}"` }),
      ...(onlyNew === true ? { 'if-none-match': '*' } : {}),
      ...(again === 'keyed' ? { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() } : {}),
      ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    isRepeatable: again !== 'once',
    signal,
  };
}

/** The path of an operation. A value that is put into it cannot lead out of its segment. */
export function targetOf(path: string, { id = '', path: namespace = '', query = {} }: Arguments): string {
  if (path.includes('{id}') && id === '') throw new TypeError('the id is empty');
  if (path.includes('{path}') && !namespace.startsWith('/'))
    throw new TypeError('the path of a namespace begins with a slash');
  const filled = path
    .replace('{id}', () => encodeURIComponent(id))
    .replace('{path}', () => namespace.split('/').map(encodeURIComponent).join('/'));
  const parameters = new URLSearchParams(query).toString();
  return parameters === '' ? filled : `${filled}?${parameters}`;
}
