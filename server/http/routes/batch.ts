// Several writes as one: all of them or none. Each command is read by the route that takes it alone, before any command
// is executed. Later commands can refer to the id that an earlier one makes by the name given to that earlier command.
import { BATCH_SCHEMA, BATCH_SHAPE, type SentCommand } from '../../api/command-schema.js';
import type { Command, Perform, Rule, Session } from '../../commands/command.js';
import type { CommandAnswer, Executor } from '../../commands/execute.js';
import { newRecordId } from '../../commands/record-id.js';
import type { Instant } from '../../../engine/index.js';
import { QUERY_LIMITS } from '../../limits/queries.js';
import { ApiProblem, type InputFault } from '../../problem.js';
import { askingOf, type CommandRoute, keyOf, replayHeader } from '../command-route.js';
import { checkTarget } from '../request-head.js';
import { isStrongTag, readQuery } from '../request-inputs.js';
import { type ActorRoute, jsonBody } from '../route.js';
import { isObject, pointerTo } from '../../json/strict-json.js';

const BODY = jsonBody(BATCH_SHAPE, {
  commands: [
    { method: 'PUT', path: '/api/v1/namespaces/beamlines/amx/run-12', body: {} },
    {
      method: 'POST',
      path: '/api/v1/resources',
      body: { namespace: '/beamlines/amx/run-12', name: 'lysozyme-7' },
      as: 'sample',
    },
    {
      method: 'POST',
      path: '/api/v1/process-runs',
      body: { namespace: '/beamlines/amx/run-12', resources: { sample: '$sample' } },
    },
  ],
});

export function batchRoute(execute: Executor, routes: readonly CommandRoute[]): ActorRoute {
  return {
    method: 'POST',
    path: '/api/v1/batch',
    operationId: 'runBatch',
    summary: 'Do up to 100 writes, all of them or none',
    problems: [
      ...(['namespace.invalid', 'request.precondition_required', 'record.not_found', 'namespace.not_found'] as const),
      ...(['record.archived', 'record.active', 'record.referenced', 'idempotency.in_progress'] as const),
      ...(['record.conflict', 'record.precondition', 'record.name_taken', 'reference.not_found'] as const),
      ...(['record.invalid', 'idempotency.key_reused'] as const),
    ],
    access: 'command',
    input: { headers: ['idempotency-key'], body: BODY },
    output: { 200: { type: 'application/json', schema: BATCH_SCHEMA, headers: ['Idempotency-Replayed'] } },
    run: async (call) => {
      const { commands } = BATCH_SHAPE.asRead(call.body);
      const key = keyOf(call, 'POST');
      const executed = await execute(askingOf(call), {
        commands: (idOf) => readCommands(commands, { routes, at: call.at, idOf }),
        key,
      });
      const json = `{"results":[${executed.shown.map(resultJson).join(',')}]}`;
      return { status: 200, json, headers: replayHeader(executed) };
    },
  };
}

function resultJson({ status, etag, json }: CommandAnswer): string {
  const tag = etag === null ? '' : `"etag":${JSON.stringify(etag)},`;
  return `{"status":${String(status)},${tag}"body":${json}}`;
}

interface BatchContext {
  readonly routes: readonly CommandRoute[];
  readonly at: Instant;
  readonly idOf: (index: number) => string | null;
}

/** Reads all commands. Throws one problem with the mistakes of all of them; its code and command are those of the first. */
function readCommands(commands: readonly SentCommand[], { routes, at, idOf }: BatchContext): readonly Command[] {
  const named = new Map<string, string>();
  const problems: ApiProblem[] = [];
  const read = commands.flatMap((command, index) => {
    const newId = idOf(index) ?? newRecordId(at);
    try {
      return [ofPlace(index, () => numbered(index, readCommand(command, { routes, named, newId, index })))];
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      problems.push(error);
      return [];
    } finally {
      // Also of a command that is refused, so that those which refer to it are not blamed.
      if (command.as !== undefined && !named.has(command.as)) named.set(command.as, newId);
    }
  });
  const [first] = problems;
  if (first === undefined) return read;
  const errors = problems.flatMap(({ detail }) => detail.errors ?? []);
  if (errors.length === 0) throw first;
  throw new ApiProblem(first.code, { ...first.detail, errors: errors.slice(0, QUERY_LIMITS.errors) });
}

const MATCH_MISSING = {
  pointer: '',
  code: 'request.precondition_required',
  message: 'needs the member `ifMatch`: the ETag of the record, like "\\"3\\"" with its quotes',
} as const;

const NO_MATCH = 'is only for commands that change an existing record, and this one takes no condition';
const NO_BODY = 'is required: this command has a body, as it has alone';
const BAD_MATCH = 'must be the ETag of one record, like "\\"3\\"" with its quotes: no list, no `*`, no `W/`';

interface ReadingOne {
  readonly routes: readonly CommandRoute[];
  /** The ids that earlier commands make, by the names that they were given. */
  readonly named: Map<string, string>;
  readonly newId: string;
  readonly index: number;
}

function readCommand(command: SentCommand, { routes, named, newId, index }: ReadingOne): Command {
  const wrong = (member: 'path' | 'as' | 'ifMatch' | 'ifNoneMatch' | 'body', message: string): ApiProblem => {
    const pointer = `/commands/${String(index)}/${member}`;
    return new ApiProblem('request.schema', { command: index, errors: [{ pointer, code: 'request.schema', message }] });
  };
  checkTarget(command.path);
  const [sentPath = ''] = command.path.split('?', 1);
  const path = sentPath.replace(/(?<=\/)\$([^/]+)/, (_, name: string) => {
    const id = named.get(name);
    if (id === undefined) throw wrong('path', UNNAMED_IN_PATH);
    return id;
  });
  const route = routes.find(({ method, partOf }) => method === command.method && partOf(path) !== null);
  if (route === undefined) throw wrong('path', 'is not a write that a batch accepts');
  const query = readQuery(command.path, route.query);
  const isMade = route.header === 'idempotency-key';
  if (command.as !== undefined) {
    if (!isMade) throw wrong('as', 'only a command that makes a record with an id can name it');
    if (named.has(command.as)) throw wrong('as', 'an earlier command has the same name');
  }
  const { ifMatch } = command;
  const needsMatch = route.header === 'if-match';
  if (needsMatch && ifMatch === undefined)
    throw new ApiProblem('request.precondition_required', { errors: [MATCH_MISSING] });
  if (ifMatch !== undefined && !needsMatch && !route.optional.includes('if-match')) throw wrong('ifMatch', NO_MATCH);
  if (ifMatch !== undefined && !isStrongTag(ifMatch)) throw wrong('ifMatch', BAD_MATCH);
  const onlyNew = command.ifNoneMatch !== undefined;
  if (onlyNew && !route.optional.includes('if-none-match'))
    throw wrong('ifNoneMatch', 'is only for commands that create or change a record, such as a write by name');
  const { body: taken } = route.input;
  // As alone, too: a change that nobody stated must not count as one.
  if (command.body === undefined && taken !== undefined && taken.optional !== true) throw wrong('body', NO_BODY);
  const { body: sent = {} } = command;
  if (!isObject(sent)) throw wrong('body', 'must be an object');
  const body = readBody(route, sent, named);
  return route.commandOf({ part: route.partOf(path) ?? '', body, ifMatch: ifMatch ?? '', newId, query, onlyNew });
}

type Sent = Readonly<Record<string, unknown>>;

const UNNAMED = 'begins with `$`, but no earlier command has the name after it';
const UNNAMED_IN_PATH = 'has a `$`, but no earlier command has the name after it';

/** The body with ids in place of names, in the shape of the route. Names that no command has are reported with the rest. */
function readBody(
  route: CommandRoute,
  body: Sent,
  named: ReadonlyMap<string, string>,
): ReturnType<CommandRoute['readBody']> {
  const errors: InputFault[] = [];
  const whole = withIds(body, (text, pointer) => {
    if (typeof text !== 'string' || !text.startsWith('$')) return text;
    const name = text.slice(1);
    const id = named.get(name);
    if (id === undefined) errors.push({ pointer, code: 'request.schema', message: UNNAMED });
    // Any id, so that only the name is reported, and not that it is no id.
    return id ?? NO_ID;
  });
  if (errors.length === 0) return route.readBody(whole);
  try {
    route.readBody(whole);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    errors.push(...(error.detail.errors ?? []));
  }
  throw new ApiProblem('request.schema', { errors: errors.slice(0, QUERY_LIMITS.errors) });
}

const NO_ID = '00000000-0000-0000-0000-000000000000';

/** Changes each part of the body that may hold an id of an earlier command. */
function withIds(body: Sent, idOf: (text: unknown, pointer: string) => unknown): Sent {
  const { template, slots, resources } = body;
  const slotOf = (slot: unknown, index: number): unknown =>
    isObject(slot) && 'template' in slot
      ? { ...slot, template: idOf(slot['template'], `/slots/${String(index)}/template`) }
      : slot;
  const used = isObject(resources)
    ? Object.entries(resources).map(([name, id]) => [name, idOf(id, pointerTo('/resources', name))])
    : null;
  return {
    ...body,
    ...(template === undefined ? {} : { template: idOf(template, '/template') }),
    ...(Array.isArray(slots) ? { slots: slots.map(slotOf) } : {}),
    ...(used === null ? {} : { resources: Object.fromEntries(used) }),
  };
}

/** A command with refusals that say which command of the batch they are about. */
function numbered(index: number, command: Command): Command {
  const placed =
    (rule: Rule): Rule =>
    (judge) => {
      ofPlace(index, () => {
        rule(judge);
      });
    };
  const within = (session: Session): Session => ({
    ...session,
    hold: (rule, asked) => {
      session.hold(placed(rule), asked);
    },
  });
  return {
    ...command,
    prepare: async (session) => {
      const { rule, also, look, ...prepared } = await ofPlaceLater(index, () => command.prepare(session));
      const placedLook = async (later: Session): Promise<Perform> => {
        const perform = await ofPlaceLater(index, () => look(within(later)));
        return () => ofPlaceLater(index, perform);
      };
      const placedAlso = also === undefined ? {} : { also: { ...also, rule: placed(also.rule) } };
      return { ...prepared, ...placedAlso, rule: placed(rule), look: placedLook };
    },
  };
}

function ofPlace<T>(index: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw inPlace(index, error);
  }
}

async function ofPlaceLater<T>(index: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw inPlace(index, error);
  }
}

/** Rewrites pointers so that they lead into the body of the batch. */
function inPlace(index: number, error: unknown): unknown {
  if (!(error instanceof ApiProblem) || error.detail.command !== undefined) return error;
  const { errors, ...detail } = error.detail;
  const at = `/commands/${String(index)}`;
  const moved = errors?.map((one) => ({ ...one, pointer: one.pointer === '' ? at : `${at}/body${one.pointer}` }));
  return new ApiProblem(error.code, { ...detail, command: index, ...(moved === undefined ? {} : { errors: moved }) });
}
