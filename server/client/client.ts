// The calls of the API as functions, over any transport: the same over HTTP and in this process.
import { type BatchBuilder, makeBatch } from './batch.js';
import { AnswerError } from './errors.js';
import {
  type AnswerOf,
  type Arguments,
  type AskedOf,
  type At,
  type Copied,
  type CopyTo,
  type Deleted,
  type Made,
  type NewVersion,
  nameOf,
  type NamedResource,
  NAMES,
  type NamespaceThere,
  type NewNamespace,
  type NewRecord,
  type OperationName,
  type Patch,
  type Versioned,
  type Written,
} from './operations.js';
import { operationOf } from './operation-of.js';
import type {
  AggregateEnvelope,
  CountEnvelope,
  Family,
  FieldOf,
  IncludedIn,
  IncludesOf,
  ItemOf,
  PageOf,
  QueryEnvelope,
  Records,
} from './queries.js';
import { type Answer, type CallOptions, type KeyedOptions, sendBy } from './send.js';
import { pause } from './pause.js';
import type { Transport } from './transport.js';

type Selected<F extends Family> = readonly FieldOf<F>[] | undefined;
type Included<F extends Family> = IncludesOf<F> | undefined;
type Page<F extends Family, S, I> = PageOf<ItemOf<F, S>> & IncludedIn<F, I>;

/** What is asked of the feed of changes. */
export interface FeedAsked {
  /** `next` of a page, or the `cursor` of an item. Without it, a page has no items, and the cursor of the present end. */
  readonly after?: string;
  /** Changes there and below. Defaults to everywhere. */
  readonly namespace?: string;
  /** Defaults to all. */
  readonly families?: readonly Family[];
  /** The most changes of a page. */
  readonly limit?: number;
}

export interface Followed extends FeedAsked {
  /** Milliseconds to wait when there is nothing new. Defaults to 1,000. */
  readonly every?: number;
}

interface Reads {
  /** One page. */
  readonly query: <F extends Family, const S extends Selected<F> = undefined, const I extends Included<F> = undefined>(
    query: QueryEnvelope<F, S, I>,
    options?: CallOptions,
  ) => Promise<Page<F, S, I>>;
  /** Page after page. Each is requested only when it is needed. `page.next` of one goes on from there later. */
  readonly pages: <F extends Family, const S extends Selected<F> = undefined, const I extends Included<F> = undefined>(
    query: QueryEnvelope<F, S, I>,
    options?: CallOptions,
  ) => AsyncGenerator<Page<F, S, I>, void>;
  /** The records of all pages. */
  readonly records: <F extends Family, const S extends Selected<F> = undefined>(
    query: QueryEnvelope<F, S>,
    options?: CallOptions,
  ) => AsyncGenerator<ItemOf<F, S>, void>;
  /** Counts, least and greatest values and sums, by the values of a field. */
  readonly aggregate: <F extends Family>(
    query: AggregateEnvelope<F>,
    options?: CallOptions,
  ) => Promise<AnswerOf<'aggregateRecords'>['groups']>;
  readonly count: <F extends Family>(query: CountEnvelope<F>, options?: CallOptions) => Promise<number>;
  /** A record by its id, a namespace by its path. */
  readonly get: <F extends Family>(family: F, name: string, options?: CallOptions) => Promise<Records[F]>;
  /** One page of what has changed in what the actor may see. */
  readonly changes: (asked?: FeedAsked, options?: CallOptions) => Promise<AnswerOf<'listChanges'>>;
  /**
   * Page after page, each with the cursor to go on from, for as long as it is wanted. Rejects with `changes.expired` if
   * the cursor is too old: then everything has to be read again.
   */
  readonly follow: (asked: Followed, options?: CallOptions) => AsyncGenerator<AnswerOf<'listChanges'>, void>;
  readonly whoami: (options?: CallOptions) => Promise<AnswerOf<'whoami'>>;
}

export interface PutOptions extends KeyedOptions {
  readonly revision?: number;
  readonly onlyNew?: boolean;
}

/** An actor who may not read what it writes gets the id and the revision alone. */
interface Writes {
  /** Creates a namespace, or finds that it is there as described. */
  readonly putNamespace: (path: string, body?: NewNamespace, options?: CallOptions) => Promise<NamespaceThere>;
  /**
   * Creates or changes the resource of that name, whose template asks for unique names. With a `revision`, only that is
   * changed; with `onlyNew`, it is only created.
   */
  readonly putByName: (
    at: { readonly namespace: string; readonly name: string },
    body: NamedResource,
    options?: PutOptions,
  ) => Promise<Written<'resource'>>;
  readonly create: <F extends Made>(family: F, body: NewRecord<F>, options?: KeyedOptions) => Promise<Written<F>>;
  /** Changes the record as it was at that revision. If it has changed since, rejects with `record.precondition`. */
  readonly change: <F extends Family>(
    family: F,
    at: At<F>,
    patch: Patch<F>,
    options?: CallOptions,
  ) => Promise<Written<F>>;
  readonly archive: <F extends Family>(family: F, at: At<F>, options?: CallOptions) => Promise<Written<F>>;
  readonly restore: <F extends Family>(family: F, at: At<F>, options?: CallOptions) => Promise<Written<F>>;
  /** Moves the record into another namespace. Its id stays. */
  readonly move: <F extends Made>(
    family: F,
    at: At<F>,
    namespace: string,
    options?: CallOptions,
  ) => Promise<Written<F>>;
  /** Deletes an archived record for good. */
  readonly delete: <F extends Made>(family: F, at: At<F>, options?: CallOptions) => Promise<Deleted>;
  /** Makes a new version of a template, beside it. */
  readonly version: <F extends Versioned>(
    family: F,
    id: string,
    version: NewVersion<F>,
    options?: KeyedOptions,
  ) => Promise<Written<F>>;
  readonly copy: <F extends Copied>(
    family: F,
    id: string,
    to: CopyTo<F>,
    options?: KeyedOptions,
  ) => Promise<Written<F>>;
  /** Collects writes that are all done, or none of them. */
  readonly batch: () => BatchBuilder;
}

export interface Client extends Reads, Writes {
  /**
   * Any operation of the API by its name. Rejects with `ProblemError` if the gateway refuses, and with `TypeError` if no
   * operation has that name.
   */
  readonly call: <Name extends OperationName>(
    name: Name,
    asked: AskedOf<Name>,
    options?: CallOptions,
  ) => Promise<AnswerOf<Name>>;
  /** As `call`, with what the headers of the answer say. */
  readonly answer: <Name extends OperationName>(
    name: Name,
    asked: AskedOf<Name>,
    options?: CallOptions,
  ) => Promise<Answer<AnswerOf<Name>>>;
}

/** Any call, with the body that the operation is known to answer. */
type Ask = <Body>(name: OperationName, asked: Arguments, options?: CallOptions) => Promise<Body>;

export function makeClient(transport: Transport): Client {
  const send = sendBy(transport);
  const ask: Ask = async <Body>(name: OperationName, asked: Arguments, options?: CallOptions) =>
    (await send<Body>(operationOf(name), asked, options)).body;
  return Object.freeze({
    call: <Name extends OperationName>(name: Name, asked: AskedOf<Name>, options?: CallOptions) =>
      ask<AnswerOf<Name>>(name, asked, options),
    answer: async <Name extends OperationName>(name: Name, asked: AskedOf<Name>, options?: CallOptions) =>
      send<AnswerOf<Name>>(operationOf(name), asked, options),
    ...readsBy(ask),
    ...writesBy(ask),
  });
}

function readsBy(ask: Ask): Reads {
  const query = async <F extends Family, S extends Selected<F>, I extends Included<F>>(
    asked: QueryEnvelope<F, S, I>,
    options?: CallOptions,
  ): Promise<Page<F, S, I>> => {
    const page = await ask<Page<F, S, I>>('queryRecords', { body: asked }, options);
    if (page.family !== asked.family) throw new AnswerError(200, 'the answer is to another query');
    return page;
  };
  const pages = async function* <F extends Family, S extends Selected<F>, I extends Included<F>>(
    asked: QueryEnvelope<F, S, I>,
    options?: CallOptions,
  ): AsyncGenerator<Page<F, S, I>, void> {
    for (let after = asked.page?.after ?? null; ;) {
      const page = await query({ ...asked, page: { ...asked.page, after } }, options);
      yield page;
      if (page.page.next === null) return;
      after = page.page.next;
    }
  };
  const get = async <F extends Family>(family: F, name: string, options?: CallOptions): Promise<Records[F]> => {
    const asked = family === 'namespace' ? { path: name } : { id: name };
    const record = await ask<Records[F]>(`get${NAMES[family]}`, asked, options);
    if (record.family !== family) throw new AnswerError(200, 'the answer is another record');
    return record;
  };
  const changes: Reads['changes'] = ({ after, namespace, families, limit } = {}, options) =>
    ask(
      'listChanges',
      {
        query: {
          ...(after === undefined ? {} : { after }),
          ...(namespace === undefined ? {} : { namespace }),
          ...(families === undefined ? {} : { families: families.join(',') }),
          ...(limit === undefined ? {} : { limit: String(limit) }),
        },
      },
      options,
    );
  return {
    query,
    pages,
    changes,
    follow: async function* ({ every = 1_000, ...asked }, options) {
      for (let { after } = asked; ;) {
        const page = await changes({ ...asked, ...(after === undefined ? {} : { after }) }, options);
        yield page;
        if (page.items.length === 0) await pause(every, options?.signal);
        after = page.next;
      }
    },
    records: async function* (asked, options) {
      for await (const page of pages(asked, options)) yield* page.items;
    },
    aggregate: async (asked, options) =>
      (await ask<AnswerOf<'aggregateRecords'>>('aggregateRecords', { body: asked }, options)).groups,
    count: async (asked, options) =>
      (await ask<AnswerOf<'countRecords'>>('countRecords', { body: asked }, options)).count,
    get,
    whoami: (options) => ask('whoami', {}, options),
  };
}

function writesBy(ask: Ask): Writes {
  return {
    putNamespace: (path, body = {}, options) => ask('putNamespace', { path, body }, options),
    putByName: ({ namespace, name }, body, { revision, onlyNew = false, ...options } = {}) =>
      ask(
        'putResourceByName',
        {
          query: { namespace, name },
          body,
          onlyNew,
          ...(revision === undefined ? {} : { revision }),
          ...keyOf(options),
        },
        options,
      ),
    create: (family, body, options = {}) => ask(`create${NAMES[family]}`, { body, ...keyOf(options) }, options),
    change: (family, at, body, options) => ask(`change${NAMES[family]}`, { ...nameOf(family, at), body }, options),
    archive: (family, at, options) => ask(`archive${NAMES[family]}`, nameOf(family, at), options),
    restore: (family, at, options) => ask(`restore${NAMES[family]}`, nameOf(family, at), options),
    move: (family, at, namespace, options) =>
      ask(`move${NAMES[family]}`, { ...nameOf(family, at), body: { namespace } }, options),
    delete: (family, at, options) => ask(`delete${NAMES[family]}`, nameOf(family, at), options),
    version: (family, id, body, options = {}) =>
      ask(`version${NAMES[family]}`, { id, body, ...keyOf(options) }, options),
    copy: (family, id, body, options = {}) => ask(`copy${NAMES[family]}`, { id, body, ...keyOf(options) }, options),
    batch: () => makeBatch((body, options = {}) => ask('runBatch', { body, ...keyOf(options) }, options)),
  };
}

function keyOf({ idempotencyKey }: KeyedOptions): Pick<Arguments, 'idempotencyKey'> {
  return idempotencyKey === undefined ? {} : { idempotencyKey };
}
