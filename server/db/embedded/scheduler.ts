// Who may use the one engine, and when. Whole units of work run in order of arrival. But a client inside a transaction
// keeps the engine until it leaves the transaction, has been idle in it for too long, or is gone. And an asker has one
// place in the line, through whichever clients and processes it asks.
import { EMBEDDED_LIMITS } from '../../limits/store.js';
import type { EmbeddedEngine } from './engine.js';
import type { EngineSession, Unit } from './session.js';
import {
  READY_IDLE,
  STATUS,
  SYNC,
  TYPE,
  closeStatement,
  errorFields,
  errorFrame,
  framesOf,
  notificationChannel,
  queryFrame,
} from './wire.js';

export interface SchedulerOptions {
  readonly engine: EmbeddedEngine;
  /** Milliseconds that a client may do nothing inside a transaction. */
  readonly idleLimit: number;
  /** Called before the engine is used. Does not return if the engine must not be used. */
  readonly guard: () => void;
  /** Called before a client's unit with the milliseconds that its client waits for a statement, and after it with 0. */
  readonly mark: (limit: number) => void;
  readonly onBroken: (error: unknown) => never;
}

const { waiting: MAX_WAITING, longUnit: LONG, pauseAfterLong: PAUSE, unitsPerPlan: UNITS_PER_PLAN } = EMBEDDED_LIMITS;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #sessions = new Set<EngineSession>();
  readonly #waiting: EngineSession[] = [];
  /** Clients whose askers have another one in the line. */
  readonly #behind: EngineSession[] = [];
  /** Channels that the engine listens to for its clients. */
  readonly #channels = new Set<string>();
  /**
   * Closes for the prepared statements of clients that are gone. They are sent when nobody is in the middle of
   * something.
   */
  #orphans: Buffer[] = [];
  #owner: EngineSession | null = null;
  #idleTimer: NodeJS.Timeout | null = null;
  #scheduled = false;
  /** How many milliseconds the last unit took. No socket was read in that time. */
  #lastTook = 0;
  #onEmpty: (() => void) | null = null;
  /** Units since statements were planned anew. */
  #unitsPlanned = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  add(session: EngineSession): void {
    this.#sessions.add(session);
  }

  /** Says to every client why the engine ends. Nothing else is done: the engine may be in the middle of a statement. */
  sayLast(code: string, message: string): void {
    for (const session of this.#sessions) session.send(errorFrame('FATAL', code, message));
  }

  enqueue(session: EngineSession, unit: Unit): void {
    if (session !== this.#owner && session.queue.length === 0) {
      if (this.#waiting.length + this.#behind.length >= MAX_WAITING) {
        const message = `more than ${String(MAX_WAITING)} clients wait for the embedded store`;
        this.#refuse(session, unit, ['53300', message]);
        return;
      }
      this.#wait(session);
    }
    session.queue.push(unit);
    this.#schedule();
  }

  /** A client that is sending is not idle. */
  touched(session: EngineSession): void {
    if (session === this.#owner) this.#idleTimer?.refresh();
  }

  /** Withdraws the next unit of a client that waits. A unit that has begun runs to its end. */
  cancel(id: number): void {
    const session = [...this.#waiting, ...this.#behind].find((waiting) => waiting.id === id);
    const unit = session?.queue.shift();
    if (session === undefined || unit === undefined) return;
    if (session.queue.length === 0) this.#withdraw(session);
    this.#refuse(session, unit, ['57014', 'canceling statement due to user request']);
  }

  /** Rolls back what the client left open and forgets what it prepared and listened to. */
  leave(session: EngineSession): void {
    if (!this.#sessions.delete(session)) return;
    this.#withdraw(session);
    for (const statement of session.statements) this.#orphans.push(closeStatement(statement));
    if (this.#owner === session) {
      this.#run(Buffer.concat([SYNC, queryFrame('rollback')]));
      this.#release();
    } else if (this.#owner === null) {
      this.#tidy();
    }
    if (this.#sessions.size === 0) this.#onEmpty?.();
    this.#schedule();
  }

  /** Lets everyone finish what they have begun, for `patience` ms at most, and ends them. */
  async drain(patience: number): Promise<void> {
    if (this.#sessions.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        for (const session of this.#sessions) session.end('57P01', 'the embedded store is closing');
      }, patience);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#endQuiet();
    });
  }

  #endQuiet(): void {
    for (const session of this.#sessions) {
      if (session !== this.#owner && session.quiet) session.end('57P01', 'the embedded store is closing');
    }
  }

  /** Keys and health go before queries, which may take long. Otherwise the order is that of arrival. */
  #wait(session: EngineSession): void {
    const { asker } = session;
    if (asker !== '' && [this.#owner, ...this.#waiting].some((other) => other?.asker === asker)) {
      this.#behind.push(session);
      return;
    }
    const at = session.isVital ? this.#waiting.findIndex((other) => !other.isVital) : -1;
    this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, session);
  }

  /** Askers whose turn is over get their next place behind everybody who waits. */
  #letOn(): void {
    for (const session of this.#behind.splice(0)) this.#wait(session);
  }

  #withdraw(session: EngineSession): void {
    for (const line of [this.#waiting, this.#behind]) {
      const at = line.indexOf(session);
      if (at >= 0) line.splice(at, 1);
    }
  }

  #refuse(session: EngineSession, unit: Unit, [code, message]: readonly [code: string, message: string]): void {
    // The client believes that the statements it asked to close are closed.
    for (const statement of unit.closed) this.#orphans.push(closeStatement(statement));
    session.send(errorFrame('ERROR', code, message));
    session.send(READY_IDLE);
  }

  /**
   * Runs one unit per turn of the event loop, so that sockets are read in between. After a long unit, clients that came
   * in the meantime get their turn first.
   */
  #schedule(): void {
    this.#letOn();
    if (this.#scheduled) return;
    if (this.#owner === null ? this.#waiting.length === 0 : this.#owner.queue.length === 0) return;
    this.#scheduled = true;
    const next = (): void => {
      this.#scheduled = false;
      this.#next();
    };
    if (this.#owner === null && this.#lastTook > LONG) setTimeout(next, PAUSE);
    else setImmediate(next);
  }

  #next(): void {
    const session = this.#owner ?? this.#waiting.shift();
    const unit = session?.queue.shift();
    if (session !== undefined && unit !== undefined) this.#serve(session, unit);
    if (this.#onEmpty !== null) this.#endQuiet();
    this.#schedule();
  }

  #serve(session: EngineSession, unit: Unit): void {
    this.#stopTimer();
    this.#owner = session;
    this.#options.mark(session.statementTimeout);
    const begun = performance.now();
    const output = this.#run(unit.messages);
    this.#lastTook = performance.now() - begun;
    this.#unitsPlanned += 1;
    this.#options.mark(0);
    const answer = this.#read(output, unit.copy);
    session.send(answer.output);
    if (answer.fatal !== null) this.#options.onBroken(new Error(answer.fatal));
    if (!answer.failed) this.#noteChannels(session, unit);
    this.#notify(answer.notifications);
    if (answer.status === STATUS.idle) {
      this.#release();
      if (session.queue.length > 0) this.#wait(session);
    } else {
      this.#idleTimer = setTimeout(() => {
        session.end('25P03', `idle in a transaction for ${String(this.#options.idleLimit)} ms`);
      }, this.#options.idleLimit);
    }
  }

  #release(): void {
    this.#owner = null;
    this.#stopTimer();
    this.#tidy();
  }

  /**
   * Brings the engine in line with the clients that are left. Only call this while the engine belongs to none of them.
   */
  #tidy(): void {
    if (this.#orphans.length > 0) {
      this.#run(Buffer.concat([...this.#orphans, SYNC]));
      this.#orphans = [];
    }
    if (this.#unitsPlanned >= UNITS_PER_PLAN) {
      this.#run(queryFrame('discard plans'));
      this.#unitsPlanned = 0;
    }
    this.#listen();
  }

  #stopTimer(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
  }

  /**
   * Asks the guard after the unit as well. The machine may have slept in the meantime, and work unknown to a new owner
   * must not be acknowledged.
   */
  #run(messages: Buffer): Buffer {
    this.#options.guard();
    const output = this.#options.engine.run(messages);
    this.#options.guard();
    return output;
  }

  #read(output: Buffer, copy: boolean): Answer {
    const kept: Buffer[] = [];
    const notifications: Buffer[] = [];
    let status: number | null = null;
    let failed = false;
    let fatal: string | null = null;
    for (const message of framesOf(output)) {
      const type = message[0];
      if (type === TYPE.notification) notifications.push(message);
      else if (!(copy && type === TYPE.copyInResponse)) kept.push(message);
      if (type === TYPE.readyForQuery) status = message[5] ?? null;
      if (type === TYPE.errorResponse) {
        failed = true;
        const fields = errorFields(message);
        if (fields.get('V') !== 'ERROR') fatal = fields.get('M') ?? 'no message';
      }
    }
    const untouched = notifications.length === 0 && !copy;
    return { output: untouched ? output : Buffer.concat(kept), notifications, status, failed, fatal };
  }

  #noteChannels(session: EngineSession, unit: Unit): void {
    if (unit.channels.length === 0) return;
    for (const change of unit.channels) {
      if (change.kind === 'listen') {
        session.channels.add(change.channel);
        this.#channels.add(change.channel);
      } else if (change.kind === 'unlisten') {
        // Notes what the engine itself now listens to. `#listen` gives the other clients their channels back.
        for (const channels of [session.channels, this.#channels]) {
          if (change.channel === null) channels.clear();
          else channels.delete(change.channel);
        }
      }
    }
  }

  /**
   * The engine listens to every channel that any client listens to: an UNLISTEN of one client must not end it for the
   * others.
   */
  #listen(): void {
    const wanted = new Set<string>();
    for (const session of this.#sessions) for (const channel of session.channels) wanted.add(channel);
    const changes: string[] = [];
    for (const channel of wanted) if (!this.#channels.has(channel)) changes.push(`listen ${quoted(channel)}`);
    for (const channel of this.#channels) if (!wanted.has(channel)) changes.push(`unlisten ${quoted(channel)}`);
    if (changes.length === 0) return;
    this.#run(queryFrame(changes.join('; ')));
    this.#channels.clear();
    for (const channel of wanted) this.#channels.add(channel);
  }

  #notify(notifications: readonly Buffer[]): void {
    for (const message of notifications) {
      const channel = notificationChannel(message);
      for (const session of this.#sessions) if (session.channels.has(channel)) session.send(message);
    }
  }
}

interface Answer {
  readonly output: Buffer;
  readonly notifications: readonly Buffer[];
  /** The status of the last ReadyForQuery; null if there was none. */
  readonly status: number | null;
  readonly failed: boolean;
  /** The engine's last message, if it has failed as a whole. */
  readonly fatal: string | null;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
