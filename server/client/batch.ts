// A batch of writes, collected one by one. What a command makes can be named in the commands after it.
import {
  type AnswerOf,
  type Arguments,
  type At,
  type Copied,
  type CopyTo,
  type Deleted,
  type Made,
  type NewVersion,
  type NamedResource,
  NAMES,
  nameOf,
  type NamespaceThere,
  type NewNamespace,
  type NewRecord,
  type OperationName,
  OPERATIONS,
  type Patch,
  type Versioned,
  type Written,
} from './operations.js';
import type { Family } from './queries.js';
import { isBody, type KeyedOptions, targetOf } from './send.js';

/** A command of a batch, by which its answer is found. */
export interface Queued<Body> {
  readonly position: number;
  /** Only for its type; never present at run time. */
  readonly answer?: Body;
}

/**
 * A record that a command of the batch makes. Its `id` may stand wherever the commands after it name a record: in
 * `template`, `slots`, `resources`, and as the record that they change.
 */
export interface QueuedRecord<F extends Made> extends Queued<Written<F>> {
  readonly id: string;
  readonly revision: 1;
}

export interface BatchAnswers {
  /** The answer that the command would have got on its own. */
  readonly of: <Body>(command: Queued<Body>) => Body;
  readonly results: Results;
}

type Results = AnswerOf<'runBatch'>['results'];

export interface BatchBuilder {
  readonly putNamespace: (path: string, body?: NewNamespace) => Queued<NamespaceThere>;
  readonly putByName: (
    at: { readonly namespace: string; readonly name: string; readonly revision?: number; readonly onlyNew?: boolean },
    body: NamedResource,
  ) => Queued<Written<'resource'>>;
  readonly create: <F extends Made>(family: F, body: NewRecord<F>) => QueuedRecord<F>;
  readonly change: <F extends Family>(family: F, at: At<F>, patch: Patch<F>) => Queued<Written<F>>;
  readonly archive: <F extends Family>(family: F, at: At<F>) => Queued<Written<F>>;
  readonly restore: <F extends Family>(family: F, at: At<F>) => Queued<Written<F>>;
  readonly move: <F extends Made>(family: F, at: At<F>, namespace: string) => Queued<Written<F>>;
  readonly delete: <F extends Made>(family: F, at: At<F>) => Queued<Deleted>;
  readonly version: <F extends Versioned>(family: F, id: string, version: NewVersion<F>) => QueuedRecord<F>;
  readonly copy: <F extends Copied>(family: F, id: string, to: CopyTo<F>) => QueuedRecord<F>;
  /** Does all of it or nothing. The `command` of a `ProblemError` is the `position` of the command that was refused. */
  readonly send: (options?: KeyedOptions) => Promise<BatchAnswers>;
}

interface Command {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: '*';
  readonly as?: string;
}

type SendBatch = (
  body: { readonly commands: readonly Command[] },
  options?: KeyedOptions,
) => Promise<AnswerOf<'runBatch'>>;

export function makeBatch(sendBatch: SendBatch): BatchBuilder {
  const commands: Command[] = [];
  const add = (name: OperationName, asked: Arguments, as?: string): { readonly position: number } => {
    commands.push(commandOf(name, asked, as));
    return Object.freeze({ position: commands.length - 1 });
  };
  const make = (name: OperationName, asked: Arguments): QueuedRecord<never> => {
    const as = `c${String(commands.length)}`;
    return Object.freeze({ ...add(name, asked, as), id: `$${as}`, revision: 1 });
  };
  return Object.freeze({
    putNamespace: (path, body = {}) => add('putNamespace', { path, body }),
    putByName: ({ namespace, name, ...at }, body) =>
      add('putResourceByName', { query: { namespace, name }, body, ...at }),
    create: (family, body) => make(`create${NAMES[family]}`, { body }),
    change: (family, at, body) => add(`change${NAMES[family]}`, { ...nameOf(family, at), body }),
    archive: (family, at) => add(`archive${NAMES[family]}`, nameOf(family, at)),
    restore: (family, at) => add(`restore${NAMES[family]}`, nameOf(family, at)),
    move: (family, at, namespace) => add(`move${NAMES[family]}`, { ...nameOf(family, at), body: { namespace } }),
    delete: (family, at) => add(`delete${NAMES[family]}`, nameOf(family, at)),
    version: (family, id, body) => make(`version${NAMES[family]}`, { id, body }),
    copy: (family, id, body) => make(`copy${NAMES[family]}`, { id, body }),
    send: async (options) => answersOf((await sendBatch({ commands }, options)).results),
  } satisfies BatchBuilder);
}

function commandOf(
  name: OperationName,
  { body, revision, onlyNew, ...part }: Arguments,
  as: string | undefined,
): Command {
  const { method, path } = OPERATIONS[name];
  return {
    method,
    // The name of a command in place of an id; no id has a dollar sign.
    path: targetOf(path, part).replace('/%24', '/$'),
    ...(body === undefined ? {} : { body }),
    ...(revision === undefined ? {} : { ifMatch: `"${String(revision)}"` }),
    ...(onlyNew === true ? { ifNoneMatch: '*' } : {}),
    ...(as === undefined ? {} : { as }),
  };
}

function answersOf(results: Results): BatchAnswers {
  return Object.freeze({
    results,
    of: <Body>({ position }: Queued<Body>) => {
      const body = results[position]?.body;
      if (!isBody<Body>(body)) throw new TypeError('the command is of another batch');
      return body;
    },
  });
}
