// Routes of commands. Each says how a request becomes a command. The route of batches reads its commands with the same
// routes, so a batch accepts exactly the commands that can be sent alone.
import type { ObjectSchema } from '../api/body-shape.js';
import type { CommandAnswer, Executed, Executor } from '../commands/execute.js';
import type { Asking, Under } from '../commands/session.js';
import type { Command } from '../commands/command.js';
import { answerKey } from '../commands/kept-answers.js';
import { newRecordId } from '../commands/record-id.js';
import { pathTemplate } from './path-template.js';
import type { ActorCall, ActorRoute, BodyInput, NamedHeader, QueryInput, RouteDescription } from './route.js';

/** What a request says about the command that it asks for. */
export interface CommandRequest<Value> {
  /** What stands for `{id}` or `{path}`. */
  readonly part: string;
  readonly body: Value;
  /** Empty if the route takes none. */
  readonly ifMatch: string;
  /** The id for the record that the command makes, if it makes one. */
  readonly newId: string;
  /** The query parameters that the route names. */
  readonly query: ReadonlyMap<string, string>;
  /** Whether an existing record is to be left alone (`If-None-Match: *`). */
  readonly onlyNew: boolean;
}

interface CommandRouteParts<Value> extends RouteDescription {
  /** The header that makes a change conditional or a creation safe to repeat. */
  readonly header?: NamedHeader;
  /** Headers that may be missing. */
  readonly optional?: readonly NamedHeader[];
  readonly query?: QueryInput;
  readonly body: BodyInput<Value>;
  /** Whether a request has no body. In a batch it may be an empty object. */
  readonly isBare?: boolean;
  /** Throws a problem (400, 404) for faults that show without a policy or a store. */
  readonly commandOf: (said: CommandRequest<Value>) => Command;
}

/** A route whose commands may stand in batches. */
export interface CommandRoute extends ActorRoute {
  /** The open part of a path, or null if the path belongs to another route. */
  readonly partOf: (path: string) => string | null;
  readonly header: NamedHeader | null;
  readonly optional: readonly NamedHeader[];
  readonly query: QueryInput;
  readonly bodySchema: ObjectSchema;
  readonly readBody: (body: unknown) => unknown;
  readonly commandOf: (said: CommandRequest<unknown>) => Command;
}

export function commandRoute<Value>(execute: Executor, route: CommandRouteParts<Value>): CommandRoute {
  const { header = null, optional = [], query = {}, body, isBare = false, commandOf, ...told } = route;
  const { pattern, partOf } = pathTemplate(told.path);
  const makeCommand = (said: CommandRequest<unknown>): Command =>
    commandOf({ ...said, body: body.shape.asRead(said.body) });
  return {
    ...told,
    access: 'command',
    input: {
      ...(isBare ? {} : { body }),
      ...(header === null ? {} : { headers: [header] }),
      ...(optional.length === 0 ? {} : { optional }),
      ...(Object.keys(query).length === 0 ? {} : { query }),
    },
    partOf: (path) => (path === pattern ? '' : partOf(path)),
    header,
    optional,
    query,
    bodySchema: body.shape.schema,
    readBody: body.shape.read,
    commandOf: makeCommand,
    run: async (call) => {
      const said = {
        part: partOf(call.path) ?? '',
        body: isBare ? body.shape.read({}) : call.body,
        ifMatch: call.headers.get('if-match') ?? '',
        query: call.query,
        onlyNew: call.headers.get('if-none-match') !== undefined,
      };
      const key = keyOf(call, told.method);
      const asking = askingOf(call);
      const executed = await execute(asking, {
        commands: (idOf) => [makeCommand({ ...said, newId: idOf(0) ?? newRecordId(call.at) })],
        key,
      });
      const [shown] = executed.shown;
      if (shown === undefined) throw new TypeError('a command without an answer');
      return { status: shown.status, json: shown.json, headers: headersOf(shown, { collection: told.path, executed }) };
    },
  };
}

const CONDITIONS = Object.freeze(['if-match', 'if-none-match'] as const);

/** The idempotency key of a request, if its route takes one and the request has it. */
export function keyOf(call: ActorCall, method: string): ReturnType<typeof answerKey> | null {
  const { actor, headers, query, body } = call;
  const key = headers.get('idempotency-key');
  // The same question, however its parameters are ordered and written.
  const asked = new URLSearchParams([...query]);
  asked.sort();
  const path = query.size === 0 ? call.path : `${call.path}?${asked.toString()}`;
  const conditions = CONDITIONS.flatMap((name) => {
    const value = headers.get(name);
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  return key === undefined ? null : answerKey(actor, { key, method, path, body, conditions });
}

export function askingOf(call: ActorCall): Asking {
  const { requestId, actor, at, gone, judged } = call;
  const { policy, generation } = call.pin();
  const pinned: Under = { snapshot: policy.digest, generation, resolved: call.resolve() };
  return { requestId, actor, at, pinned, current: call.current, judged, gone };
}

/** Marks an answer that was kept from an earlier request with the same key. */
export function replayHeader({ replayed }: Executed): readonly string[] {
  return replayed ? ['Idempotency-Replayed', 'true'] : [];
}

/** The end of a path under which one record is made of another, or by its name. */
const OF_ANOTHER = /\/(?:\{id\}\/(?:copies|versions)|by-name)$/;

function headersOf(
  shown: CommandAnswer,
  { collection, executed }: { readonly collection: string; readonly executed: Executed },
): readonly string[] {
  const { status, id, etag } = shown;
  const isMade = status === 201 && id !== null && !collection.includes('{path}');
  return [
    ...(isMade ? ['Location', `${collection.replace(OF_ANOTHER, '')}/${id}`] : []),
    ...(etag === null ? [] : ['ETag', etag]),
    ...replayHeader(executed),
  ];
}
