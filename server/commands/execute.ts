// Runs the commands of one request, a single one or a batch, as a unit. In order:
//   1. decided under the pinned policy, before a transaction begins. By id that takes one look-up of the record's
//      namespace. Each demand on the policy is a `Rule`, which the session keeps
//   2. at once: a create, a copy or a change is one statement, which checks that everything is as it was judged
//      (at-once.ts). All else, and what that statement would have to refuse, goes on in a transaction
//   3. key: the lock of the `Idempotency-Key` is tried and its kept answer looked up (kept-answers.ts). A kept answer is
//      returned as far as the policy still allows, and nothing is done
//   4. checked: a record that changes is read and locked; for a new one, all that it depends on is read in the same trip
//      as the key (stored.ts). A template that takes more than a few milliseconds judges in a thread: the transaction is
//      given up, and the request is done again with the verdict. So it is if somebody moves what it depends on: that is
//      then locked first (lock-in-order.ts)
//   5. written: one statement, which returns the record's JSON
//   6. decided again, if another policy is in force by then
//   7. recorded: the answer under its key, and the event in the outbox (events.ts)
//   8. COMMIT, sent together with them. An answer is given only if the store says that it committed
// A transaction that the store aborted for others is retried four times; then the answer is 409 `record.conflict`. Where
// records are partitioned, moves wait for one that is retried (server/db/hold-moves.ts).
// Between BEGIN and COMMIT nothing is awaited but statements, because on the embedded store everybody else waits.
import { askedOf, type AuditEvent } from '../audit/event.js';
import { recordStatement } from '../audit/outbox.js';
import type { Database } from '../db/database.js';
import { sqlStateOf } from '../db/failures.js';
import { holdMoves } from '../db/hold-moves.js';
import type { Fragment } from '../db/sql.js';
import type { Spent, Writing } from '../db/writing.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import { type IdSource, makeIdSource } from '../lib/ports.js';
import { ApiProblem } from '../problem.js';
import { type Judgements, makeJudging, PutOff } from '../templates/judgements.js';
import {
  type AtOnce,
  type Command,
  type Done,
  Moved,
  type Perform,
  type Prepared,
  type Rule,
  type Session,
} from './command.js';
import { atOnceStatement, statusOf } from './at-once.js';
import { deletedOf } from './delete-record.js';
import { commandEvent, type Deed, replayEvent } from './events.js';
import { type AnswerKey, findKept, isOvertaken, keep, readDone } from './kept-answers.js';
import { lockInOrder } from './lock-in-order.js';
import { access, mayRead } from './rules.js';
import { type Asking, confirm, type Judging, sessionOf } from './session.js';
import { doneOf, type WrittenRecord } from './stored.js';
import { isNameOvertaken } from './unique-names.js';

export interface Order {
  /**
   * The commands in the order in which they are done. `idOf` gives the id of the record that the command at an index
   * makes.
   */
  readonly commands: (idOf: (index: number) => string | null) => readonly Command[];
  /** The key under which the answer is kept; null if it is not kept. */
  readonly key: AnswerKey | null;
}

/** The answer to a command. */
export interface CommandAnswer {
  readonly status: number;
  readonly json: string;
  readonly etag: string | null;
  /** The id of the record. */
  readonly id: string | null;
  /** Whether the record itself is shown, not only that it exists. */
  readonly isWhole: boolean;
}

export interface Executed {
  readonly shown: readonly CommandAnswer[];
  /** Whether this is the answer to an earlier request with the same key. */
  readonly replayed: boolean;
}

export type Executor = (asking: Asking, order: Order) => Promise<Executed>;

export interface ExecutorOptions {
  readonly db: Database;
  /** How many milliseconds answers are kept. */
  readonly keepFor: number;
  /** Called when something has been written. Defaults to nothing. */
  readonly onWritten?: () => void;
}

export function makeExecutor({ db, keepFor, onWritten = () => undefined }: ExecutorOptions): Executor {
  const judging = makeJudging();
  const nextId = makeIdSource();
  return async (asking, order) => {
    const spent = { time: 0 };
    const judgements = judging(asking.actor.id);
    const dependsOn = new Set<string>();
    for (let times = 0; ; times += 1) {
      try {
        const executed = await once(asking, order, { db, keepFor, nextId, judgements, spent, dependsOn });
        if (!executed.replayed) onWritten();
        return executed;
      } catch (error) {
        if (error instanceof PutOff) await judgements.settle();
        if (error instanceof Moved) for (const { id } of error.dependsOn) dependsOn.add(id);
        const isStale =
          error instanceof Moved || error instanceof PutOff || isOvertaken(error) || isNameOvertaken(error);
        if (isStale && times < COMMAND_LIMITS.retry) continue;
        throw isStale || isGivenUp(error) ? new ApiProblem('record.conflict', { cause: error }) : error;
      }
    }
  };
}

/**
 * Whether the store aborted the transaction in favour of others, even after it was repeated (serialization_failure,
 * deadlock_detected).
 */
function isGivenUp(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40001' || state === '40P01';
}

interface Tools extends ExecutorOptions {
  readonly nextId: IdSource;
  readonly judgements: Judgements;
  readonly spent: Spent;
  /** The ids of what somebody moved when the commands were done before. */
  readonly dependsOn: ReadonlySet<string>;
}

async function once(asking: Asking, order: Order, tools: Tools): Promise<Executed> {
  const { db, keepFor, judgements, spent, dependsOn } = tools;
  const from = { judgements, longestQuery: db.longestQuery };
  const [first, ...others] = order.commands(() => null);
  if (first === undefined) throw new TypeError('an order without commands');
  const before = sessionOf(asking, from, {
    rows: (statement) => db.read(statement, { signal: asking.gone, asker: asking.actor.id }),
    held: [],
  });
  // A refused command never opens a transaction, so it delays nobody.
  const authorized = await authorize(before, first).catch((error: unknown) => doneBefore(before, order, error));
  const held = [...before.held];
  const isAlone = others.length === 0 && authorized !== null && dependsOn.size === 0;
  const done = isAlone ? await writeAtOnce(before, authorized, { asking, order, tools }) : null;
  if (done !== null) return { shown: [show(before, done)], replayed: false };
  let times = 0;
  return db.write(
    async (writing) => {
      times += 1;
      const isRepeated = times > 1 || dependsOn.size > 0;
      const moves = [first, ...others].some(({ operation }) => operation.endsWith('.move'));
      const hold = holdMoves(db, { moves, isRepeated });
      if (hold !== null) writing.run(hold);
      const session = sessionOf(asking, from, { rows: writing.rows, held });
      const ran =
        authorized === null
          ? await replayAlone(session, order)
          : await run(session, { first: authorized, others, order, keepFor, writing, dependsOn });
      const events = eventsOf(asking, tools, ran);
      if (events.length > 0) writing.run(recordStatement(events));
      // There must be no await between this and COMMIT.
      confirm(session, asking);
      return { shown: ran.done.map(({ shown }) => shown), replayed: ran.replayed };
    },
    { retry: COMMAND_LIMITS.retry, asker: asking.actor.id, signal: asking.gone, spent },
  );
}

/**
 * Null if the request was done under its key: the record that is refused now may have been moved or deleted since, by
 * that very request, too. Throws the refusal otherwise.
 */
async function doneBefore(session: Session, { key }: Order, refusal: unknown): Promise<null> {
  if (key === null || !(refusal instanceof ApiProblem)) throw refusal;
  const kept = await findKept(session, key);
  if (kept.kind === 'kept') return null;
  throw refusal;
}

async function replayAlone(session: Judging, order: Order): Promise<Ran> {
  const kept = order.key === null ? null : await findKept(session, order.key);
  // It has expired meanwhile, and another request may have the key. This one is refused when it is done again.
  if (kept?.kind !== 'kept') throw new Moved();
  return replay(session, order, readDone(kept.answers));
}

interface Doing {
  readonly asking: Asking;
  readonly order: Order;
  readonly tools: Tools;
}

/**
 * Null if nothing was written, and the usual way is to find out why. The statement checks that the policy in force is
 * still the newest.
 */
async function writeAtOnce(
  session: Session,
  authorized: Authorized,
  { asking, order: { key }, tools: { db, keepFor, nextId, spent } }: Doing,
): Promise<Done | null> {
  const what = await atOnceOf(session, authorized);
  if (what === null) return null;
  const { record } = what;
  const status = statusOf(what);
  const event = commandEvent(asking, nextId, { ...deedOf(authorized), status, id: record.id });
  const make = (): Fragment | null => {
    const { snapshot, generation } = asking.current();
    if (snapshot !== asking.pinned.snapshot) return null;
    return atOnceStatement(session, what, { generation, keeping: key === null ? null : { key, keepFor }, event });
  };
  const options = { retry: COMMAND_LIMITS.retry, asker: asking.actor.id, signal: asking.gone, spent };
  const [written] = await db.writeOne<WrittenRecord>(make, options);
  return written === undefined ? null : doneOf(status, record, written);
}

/** What would be refused or judged in a thread here goes on in the transaction, where its key is looked up first. */
async function atOnceOf(session: Session, { atOnce }: Authorized): Promise<AtOnce | null> {
  try {
    const what = (await atOnce?.(session)) ?? null;
    session.judgements.assertSettled();
    return what;
  } catch (error) {
    if (error instanceof ApiProblem || error instanceof PutOff) return null;
    throw error;
  }
}

type Authorized = Command & Prepared;

/** What a command did, as it is answered. */
type Recorded = Omit<Deed, 'status' | 'id'> & { readonly done: Done; readonly shown: CommandAnswer };

interface Running extends Pick<Tools, 'dependsOn'> {
  readonly first: Authorized;
  readonly others: readonly Command[];
  readonly order: Order;
  readonly keepFor: number;
  readonly writing: Writing;
}

interface Ran {
  readonly done: readonly Recorded[];
  readonly replayed: boolean;
}

async function run(session: Judging, running: Running): Promise<Ran> {
  const { first, others, order, keepFor, writing, dependsOn } = running;
  const { key } = order;
  const isOrdered = others.length > 0 || dependsOn.size > 0;
  // Reads made together take one round trip to the store. This is not done where records would be locked out of order.
  const [kept, looked] = await Promise.all([
    key === null ? null : findKept(session, key),
    isOrdered ? null : first.look(session),
  ]);
  if (kept?.kind === 'taken') throw new ApiProblem('idempotency.in_progress');
  if (kept?.kind === 'kept') return replay(session, order, readDone(kept.answers));
  if (isOrdered) await lockInOrder(session, [first, ...others], dependsOn);
  const recorded: Recorded[] = [];
  let bytes = 0;
  const add = (one: Recorded): void => {
    bytes += Buffer.byteLength(one.done.json);
    if (bytes > COMMAND_LIMITS.batchAnswerBytes) throw new ApiProblem('request.too_large');
    recorded.push(one);
  };
  add(await perform(session, first, looked));
  for (const command of others) add(await perform(session, await authorize(session, command), null));
  session.judgements.assertSettled();
  // This check comes after all other refusals. Nothing done here is committed.
  if (kept?.kind === 'reused') throw new ApiProblem('idempotency.key_reused');
  const done = recorded.map((one) => one.done);
  if (key !== null) {
    const expired = kept?.kind === 'free' && kept.expired;
    for (const statement of keep(key, { at: session.at, done, keepFor, expired })) writing.run(statement);
  }
  return { done: recorded, replayed: false };
}

/** Throws if the actor may not do this, or may not know of the record. */
async function authorize(session: Judging, command: Command): Promise<Authorized> {
  const prepared = await command.prepare(session);
  session.begin({ ...command, ...prepared });
  session.hold(prepared.rule);
  if (prepared.also !== undefined) session.hold(prepared.also.rule, prepared.also.asked);
  return { ...command, ...prepared };
}

async function perform(session: Session, authorized: Authorized, looked: Perform | null): Promise<Recorded> {
  const done = await (looked ?? (await authorized.look(session)))();
  return { ...deedOf(authorized), done, shown: show(session, done) };
}

function deedOf({ operation, asked, record }: Authorized): Omit<Deed, 'status' | 'id'> {
  if (asked === null) throw new TypeError('a command without a rule');
  return { operation, asked, ...('source' in asked && record !== undefined ? { source: record } : {}) };
}

/** Gives the answer again to an actor who may still do the commands; nothing is done. */
async function replay(session: Judging, order: Order, done: readonly Done[]): Promise<Ran> {
  const commands = order.commands((index) => done[index]?.id ?? null);
  const deleted = await deletedOf(
    session,
    done.map(({ id }) => id),
  );
  const recorded: Recorded[] = [];
  for (const [index, command] of commands.entries()) {
    const before = done[index];
    if (before === undefined) continue;
    const authorized = await authorize(session, doneAs(command, before));
    const shown = show(session, deleted.has(before.id) ? { ...before, untold: 'deleted' } : before);
    recorded.push({ ...deedOf(authorized), done: before, shown });
  }
  return { done: recorded, replayed: true };
}

/** A command that was done. Where a record is gone, or was moved by the command, it is decided where the command left it. */
function doneAs(command: Command, { family, namespace }: Done): Command {
  return {
    ...command,
    prepare: async (session) => {
      const prepared = await command.prepare(session);
      const { asked, rule } = prepared;
      if (asked !== null && !('moves' in asked)) return prepared;
      const write = access(family, 'write', namespace);
      const writeOr: Rule = (judge) => {
        if (judge(write) !== 'allow') rule(judge);
      };
      return { ...prepared, asked: askedOf(write), rule: writeOr };
    },
  };
}

function eventsOf(asking: Asking, { nextId }: Tools, { done, replayed }: Ran): readonly AuditEvent[] {
  if (!replayed) {
    return done.map(({ done: { id }, shown: { status }, ...deed }) =>
      commandEvent(asking, nextId, { ...deed, status, id }),
    );
  }
  return done.filter(({ shown }) => shown.isWhole).map((one) => replayEvent(asking, nextId, one.done));
}

function show({ judge }: Session, { status, family, namespace, id, revision, json, untold }: Done): CommandAnswer {
  if (untold === 'deleted') return { status, json: JSON.stringify({ id, revision }), etag: null, id, isWhole: false };
  const etag = `"${String(revision)}"`;
  if (mayRead(judge, family, namespace)) return { status, json, etag, id, isWhole: true };
  if (untold === 'namespace') {
    return { status: 200, json: JSON.stringify({ namespace }), etag: null, id: null, isWhole: false };
  }
  return { status, json: JSON.stringify({ id, revision }), etag, id, isWhole: false };
}
