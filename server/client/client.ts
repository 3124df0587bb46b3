// The calls of the API as functions, over any transport: the same over HTTP and in this process.
import type { CountEnvelope, QueryEnvelope } from '../api/query-schema.js';
import { AnswerError, problemIn, readJson } from './errors.js';
import {
  type AnswerOf,
  type Arguments,
  type AskedOf,
  type Family,
  type Operation,
  type OperationName,
  OPERATIONS,
  type Records,
} from './operations.js';
import type { Sent, Transport } from './transport.js';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** An id of yours, which the answer and the gateway's log repeat. */
  readonly requestId?: string;
}

/** With `select`, the named parts of a record; otherwise all of it. */
export type ItemOf<Q extends QueryEnvelope> = Q extends { readonly select: readonly string[] }
  ? Partial<Records[Q['family']]>
  : Records[Q['family']];

export type PageOf<Q extends QueryEnvelope> = Omit<AnswerOf<'queryRecords'>, 'items'> & {
  readonly items: readonly ItemOf<Q>[];
};

export interface Client {
  /** Any operation of the API by its name. Rejects with `ProblemError` if the gateway refuses. */
  readonly call: <Name extends OperationName>(
    name: Name,
    asked: AskedOf<Name>,
    options?: CallOptions,
  ) => Promise<AnswerOf<Name>>;
  /** One page. */
  readonly query: <const Q extends QueryEnvelope>(query: Q, options?: CallOptions) => Promise<PageOf<Q>>;
  /** Page after page. Each is requested only when it is needed. */
  readonly pages: <const Q extends QueryEnvelope>(query: Q, options?: CallOptions) => AsyncGenerator<PageOf<Q>, void>;
  /** The records of all pages. */
  readonly records: <const Q extends QueryEnvelope>(query: Q, options?: CallOptions) => AsyncGenerator<ItemOf<Q>, void>;
  readonly count: (query: CountEnvelope, options?: CallOptions) => Promise<number>;
  /** A record by its id, a namespace by its path. */
  readonly get: <F extends Family>(family: F, name: string, options?: CallOptions) => Promise<Records[F]>;
  readonly whoami: (options?: CallOptions) => Promise<AnswerOf<'whoami'>>;
}

export function makeClient(transport: Transport): Client {
  const call = async <Name extends OperationName>(
    name: Name,
    asked: AskedOf<Name>,
    options: CallOptions = {},
  ): Promise<AnswerOf<Name>> => {
    const operation = OPERATIONS[name];
    const { status, type, text } = await transport(toSent(operation, asked, options));
    if (status < 200 || status >= 300)
      throw problemIn(text) ?? new AnswerError(status, 'the answer does not come from a gateway');
    const value = type.startsWith('application/json') ? readJson(text) : undefined;
    if (!isAnswer<Name>(value)) throw new AnswerError(status, 'the answer is not JSON');
    return value;
  };
  const query = async <Q extends QueryEnvelope>(asked: Q, options?: CallOptions): Promise<PageOf<Q>> => {
    const page = await call('queryRecords', { body: asked }, options);
    if (!isPageOf(page, asked)) throw new AnswerError(200, 'the answer is to another query');
    return page;
  };
  const pages = async function* <Q extends QueryEnvelope>(
    asked: Q,
    options?: CallOptions,
  ): AsyncGenerator<PageOf<Q>, void> {
    for (let after = asked.page?.after ?? null; ;) {
      const page = await query({ ...asked, page: { ...asked.page, after } }, options);
      yield page;
      if (page.page.next === null) return;
      after = page.page.next;
    }
  };
  const records = async function* <Q extends QueryEnvelope>(
    asked: Q,
    options?: CallOptions,
  ): AsyncGenerator<ItemOf<Q>, void> {
    for await (const page of pages(asked, options)) yield* page.items;
  };
  const recordOf = (family: Family, name: string, options?: CallOptions): Promise<Records[Family]> =>
    family === 'namespace'
      ? call('getNamespace', { path: name }, options)
      : call(GETTERS[family], { id: name }, options);
  const get = async <F extends Family>(family: F, name: string, options?: CallOptions): Promise<Records[F]> => {
    const record = await recordOf(family, name, options);
    if (!isOfFamily(record, family)) throw new AnswerError(200, 'the answer is another record');
    return record;
  };
  return Object.freeze({
    call,
    query,
    pages,
    records,
    count: async (asked: CountEnvelope, options?: CallOptions) =>
      (await call('countRecords', { body: asked }, options)).count,
    get,
    whoami: (options?: CallOptions) => call('whoami', {}, options),
  });
}

/** The gateway's tests check what an answer contains. Here it only has to be an object. */
function isAnswer<Name extends OperationName>(value: unknown): value is AnswerOf<Name> {
  return typeof value === 'object' && value !== null;
}

function isPageOf<Q extends QueryEnvelope>(
  page: AnswerOf<'queryRecords'>,
  query: Q,
): page is AnswerOf<'queryRecords'> & PageOf<Q> {
  return page.family === query.family;
}

function isOfFamily<F extends Family>(record: Records[Family], family: F): record is Records[F] {
  return record.family === family;
}

const GETTERS = Object.freeze({
  'resource-template': 'getResourceTemplate',
  resource: 'getResource',
  'process-template': 'getProcessTemplate',
  'process-run': 'getProcessRun',
} as const satisfies Readonly<Record<Exclude<Family, 'namespace'>, OperationName>>);

function toSent({ method, path, again }: Operation<Arguments, unknown>, asked: Arguments, options: CallOptions): Sent {
  const { body, revision, idempotencyKey } = asked;
  const { signal = null, requestId } = options;
  return {
    method,
    path: targetOf(path, asked),
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(revision === undefined ? {} : { 'if-match': `"${String(revision)}"` }),
      ...(again === 'keyed' ? { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() } : {}),
      ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    isRepeatable: again !== 'once',
    signal,
  };
}

/** A value that is put into a path cannot lead out of its segment. */
function targetOf(path: string, { id = '', path: namespace = '', query = {} }: Arguments): string {
  if (path.includes('{id}') && id === '') throw new TypeError('the id is empty');
  if (path.includes('{path}') && !namespace.startsWith('/'))
    throw new TypeError('the path of a namespace begins with a slash');
  const filled = path
    .replace('{id}', () => encodeURIComponent(id))
    .replace('{path}', () => namespace.split('/').map(encodeURIComponent).join('/'));
  const parameters = new URLSearchParams(query).toString();
  return parameters === '' ? filled : `${filled}?${parameters}`;
}
