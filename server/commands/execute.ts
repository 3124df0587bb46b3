// Runs the commands of one request, one or a batch, as one: decided under the policy that was pinned, done in one transaction, decided
// again under the policy that is current before COMMIT, and told only after the store has said that it committed. With a key the
// answer is kept in the same transaction, and given to whoever repeats the request, as far as the policy allows it by then.
import { type Instant, judgeAs, type ResolvedActor } from '../../engine/index.js';
import type { AuditEvent } from '../audit/event.js';
import { recordInTransaction } from '../audit/outbox.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Database } from '../db/database.js';
import { sqlStateOf } from '../db/failures.js';
import { rowsOf } from '../db/sql.js';
import { COMMAND_LIMITS } from '../limits.js';
import { type IdSource, makeIdSource } from '../ports.js';
import { ApiProblem } from '../problem.js';
import { makeRecent } from '../recent.js';
import type { TemplateResult } from '../templates/template-schema.js';
import { type Authorized, type Command, type Done, type Judge, Moved, type Rule, type Session } from './command.js';
import { commandEvent, type Recorded, replayEvent } from './events.js';
import { type AnswerKey, findKept, keep } from './kept-answers.js';
import { lockInOrder } from './lock-in-order.js';
import { mayRead } from './rules.js';

/** A policy by its digest, and the actor under it. */
export interface Under {
  readonly snapshot: string;
  readonly resolved: ResolvedActor;
}

export interface Asking {
  /** Ours, not the client's. */
  readonly requestId: string;
  readonly actor: RequestActor;
  readonly at: Instant;
  readonly pinned: Under;
  /** The policy that is in force when this is called. */
  readonly current: () => Under;
  /** Aborted when nobody waits for the answer any more; what has begun is done all the same. */
  readonly gone: AbortSignal;
}

export interface Order {
  /** In the order in which they are done; `idOf` gives the id of what the command of that place makes. */
  readonly commands: (idOf: (index: number) => string | null) => readonly Command[];
  /** Under which the answer is kept; null where none is. */
  readonly key: AnswerKey | null;
}

/** What is told of a command. */
export interface Shown {
  readonly status: number;
  readonly json: string;
  readonly etag: string | null;
  /** Of the record. */
  readonly id: string | null;
  /** Whether the record is shown, and not only that there is one. */
  readonly isWhole: boolean;
}

export interface Executed {
  readonly shown: readonly Shown[];
  /** Whether it is the answer to an earlier request with the same key. */
  readonly replayed: boolean;
}

export type Executor = (asking: Asking, order: Order) => Promise<Executed>;

export interface ExecutorOptions {
  readonly db: Database;
  /** Milliseconds for which answers are kept. */
  readonly keepFor: number;
}

export function makeExecutor({ db, keepFor }: ExecutorOptions): Executor {
  const templates = makeRecent<TemplateResult | null>(Infinity, COMMAND_LIMITS.knownTemplates);
  const tools: Tools = { db, keepFor, templates, nextId: makeIdSource() };
  return async (asking, order) => {
    for (let times = 0; ; times += 1) {
      try {
        return await once(asking, order, tools);
      } catch (error) {
        const isStale = error instanceof Moved || error instanceof Overtaken;
        if (isStale && times < COMMAND_LIMITS.retry) continue;
        throw isStale || isGivenUp(error) ? new ApiProblem('record.conflict', { cause: error }) : error;
      }
    }
  };
}

/** Another request with the same key was committed after this one had looked: there is an answer now. */
class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** By the store, for the sake of others and more than once: serialization_failure, deadlock_detected. */
function isGivenUp(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40001' || state === '40P01';
}

interface Tools extends ExecutorOptions {
  readonly nextId: IdSource;
  readonly templates: Session['templates'];
}

async function once(asking: Asking, order: Order, tools: Tools): Promise<Executed> {
  const { db, keepFor } = tools;
  const [first, ...others] = order.commands(() => null);
  if (first === undefined) throw new TypeError('an order without commands');
  const before = sessionOf(asking, tools, {
    rows: (statement) => db.read(statement, { signal: asking.gone, asker: asking.actor.id }),
    rules: [],
  });
  // Whoever is refused takes no transaction, and holds up nobody.
  const authorized = await first.authorize(before);
  return db.transaction(
    async (trx) => {
      const rows: Session['rows'] = (statement) => rowsOf(trx, statement);
      const session = sessionOf(asking, tools, { rows, rules: before.rules });
      const ran = await run(session, { first: { ...first, ...authorized }, others, order, keepFor });
      await recordInTransaction(trx, eventsOf(asking, tools, ran));
      confirm(session, asking);
      return { shown: ran.done.map(({ shown }) => shown), replayed: ran.replayed };
    },
    { retry: COMMAND_LIMITS.retry },
  );
}

interface Running {
  readonly first: Authorized & Command;
  readonly others: readonly Command[];
  readonly order: Order;
  readonly keepFor: number;
}

interface Ran {
  readonly done: readonly Recorded[];
  readonly replayed: boolean;
}

async function run(session: Session, { first, others, order, keepFor }: Running): Promise<Ran> {
  const { key } = order;
  const kept = key === null ? null : await findKept(session, key);
  if (kept?.kind === 'taken') throw new ApiProblem('idempotency.in_progress');
  if (kept?.kind === 'kept' && kept.fingerprint === key?.fingerprint) {
    return replay(session, { first, order, done: kept.done });
  }
  await lockInOrder(session, [first, ...others]);
  const recorded = [await perform(session, first)];
  for (const command of others) recorded.push(await perform(session, await authorize(session, command)));
  // After all that is told before it: nothing of this is committed.
  if (kept?.kind === 'kept') throw new ApiProblem('idempotency.key_reused');
  const done = recorded.map((one) => one.done);
  const bytes = done.reduce((sum, { json }) => sum + json.length, 0);
  if (bytes > COMMAND_LIMITS.batchAnswerBytes) throw new ApiProblem('request.too_large');
  if (key !== null && !(await keep(session, key, { done, keepFor }))) throw new Overtaken();
  return { done: recorded, replayed: false };
}

async function authorize(session: Session, command: Command): Promise<Running['first']> {
  return { ...command, ...(await command.authorize(session)) };
}

async function perform(session: Session, authorized: Running['first']): Promise<Recorded> {
  const done = await authorized.perform(session);
  return { ...authorized, done, shown: show(session, done) };
}

interface Replaying extends Pick<Running, 'first' | 'order'> {
  readonly done: readonly Done[];
}

/** What was done is told again to whoever may still do it; nothing is done. The first is authorized by now. */
async function replay(session: Session, { first, order, done }: Replaying): Promise<Ran> {
  const [, ...others] = order.commands((index) => done[index]?.id ?? null);
  const authorized = [first];
  for (const command of others) authorized.push(await authorize(session, command));
  const recorded = authorized.flatMap((one, index) => {
    const before = done[index];
    return before === undefined ? [] : [{ ...one, done: before, shown: show(session, before) }];
  });
  return { done: recorded, replayed: true };
}

function eventsOf(asking: Asking, { nextId }: Tools, { done, replayed }: Ran): readonly AuditEvent[] {
  if (!replayed) return done.map((one) => commandEvent(asking, nextId, one));
  return done.filter(({ shown }) => shown.isWhole).map((one) => replayEvent(asking, nextId, one.done));
}

function show({ judge }: Session, { status, family, namespace, id, revision, json, untold }: Done): Shown {
  const etag = `"${String(revision)}"`;
  if (mayRead(judge, family, namespace)) return { status, json, etag, id, isWhole: true };
  if (untold === 'namespace') {
    return { status: 200, json: JSON.stringify({ namespace }), etag: null, id: null, isWhole: false };
  }
  return { status, json: JSON.stringify({ id, revision }), etag, id, isWhole: false };
}

interface Ruled extends Session {
  readonly rules: readonly Rule[];
}

function sessionOf(
  { actor, at, pinned }: Asking,
  { templates }: Tools,
  from: { readonly rows: Session['rows']; readonly rules: readonly Rule[] },
): Ruled {
  const judge = judgeOf(pinned, at);
  const rules = [...from.rules];
  const hold = (rule: Rule): void => {
    rule(judge);
    rules.push(rule);
  };
  return { actor, at, judge, rows: from.rows, templates, hold, rules };
}

/** Throws where the policy that is current by now refuses what the pinned one allowed. */
function confirm({ rules }: Ruled, { at, pinned, current }: Asking): void {
  const now = current();
  if (now.snapshot === pinned.snapshot) return;
  const judge = judgeOf(now, at);
  try {
    for (const rule of rules) rule(judge);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    throw new ApiProblem(error.code, { ...error.detail, snapshot: now.snapshot });
  }
}

function judgeOf({ resolved }: Under, at: Instant): Judge {
  return (request) => judgeAs(resolved, { request, at });
}
