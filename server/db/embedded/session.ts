// One client of the embedded engine: its connection, its handshake, and its messages gathered into whole units of work. A
// unit ends where the engine answers `ReadyForQuery`. Only whole units are run, so clients never see each other's
// answers.
import type { Duplex } from 'node:stream';
import { EMBEDDED_LIMITS } from '../../limits/store.js';
import { classify, mentionsCopyIn } from './statements.js';
import type { Statement } from './statements.js';
import {
  COPY_IN,
  FrameReader,
  ProtocolError,
  STARTUP,
  TYPE,
  closeStatement,
  copyFail,
  errorFrame,
  queryFrame,
  startupParameter,
  statementName,
  textAt,
  withStatementPrefix,
} from './wire.js';

export interface Unit {
  readonly messages: Buffer;
  /** The unit includes its COPY data, which its client has already been asked for. */
  readonly copy: boolean;
  /** Changes of the channels that the client listens to. */
  readonly channels: readonly Statement[];
  /** The prepared statements that the unit closes, by their names in the engine. */
  readonly closed: readonly string[];
}

export interface SessionHost {
  readonly greet: (session: EngineSession) => void;
  readonly enqueue: (session: EngineSession, unit: Unit) => void;
  /** The client sent something. */
  readonly touched: (session: EngineSession) => void;
  readonly leave: (session: EngineSession) => void;
  /** Another client asks to cancel what this one has sent, if it has not begun. */
  readonly cancel: (id: number) => void;
}

/** The `application_name` of a client that must not wait for queries. */
export const VITAL = 'bailiwick keys and health';

const { copyBytes: MAX_COPY_BYTES, messageBytes: MAX_BYTES, units: MAX_UNITS } = EMBEDDED_LIMITS;
/** What each message takes in memory beside its bytes. */
const MESSAGE_OVERHEAD = 200;
const COPY_GUARD = copyFail('COPY FROM STDIN must be sent as a statement of its own');

export class EngineSession {
  readonly id: number;
  readonly queue: Unit[] = [];
  /** How many milliseconds the client says it waits for a statement; 0 is forever. */
  statementTimeout = 0;
  /** Whether its units go before those of other clients. */
  isVital = false;
  /** Who asked for its last unit, as its client says; empty if it does not. */
  asker = '';
  /** Prepared statements, by their names in the engine. */
  readonly statements = new Set<string>();
  readonly channels = new Set<string>();

  readonly #socket: Duplex;
  readonly #host: SessionHost;
  readonly #reader = new FrameReader();
  #state: 'greeting' | 'ready' | 'copying' | 'gone' = 'greeting';
  #messages: Buffer[] = [];
  #bytes = 0;
  /** The memory that the messages take, about. */
  #weight = 0;
  #refusal: string | null = null;
  /** Of the unit that comes in. */
  #asker = '';
  #channels: Statement[] = [];
  #closed: string[] = [];

  constructor(id: number, socket: Duplex, host: SessionHost) {
    this.id = id;
    this.#socket = socket;
    this.#host = host;
    socket.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
    });
    socket.on('error', () => undefined); // `close` follows and says all there is to do
    socket.on('close', () => {
      this.#leave();
    });
  }

  /** True while the client owes us nothing and we owe it nothing, apart from a transaction that it may be in. */
  get quiet(): boolean {
    return this.queue.length === 0 && this.#messages.length === 0;
  }

  send(bytes: Uint8Array): void {
    if (this.#state !== 'gone') this.#socket.write(bytes);
  }

  /** Ends the client with a reason, as a server does when it shuts down or has had enough. */
  end(code: string, message: string): void {
    if (this.#state === 'gone') return;
    this.#socket.end(errorFrame('FATAL', code, message));
    this.#leave();
  }

  #leave(): void {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    this.#messages = [];
    this.queue.length = 0;
    this.#host.leave(this);
  }

  #receive(chunk: Buffer): void {
    this.#host.touched(this);
    try {
      for (const message of this.#reader.push(chunk)) {
        if (this.#state === 'gone') return;
        if (this.#state === 'greeting') this.#greet(message);
        else this.#take(message);
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.end('08P01', `protocol violation: ${error.message}`);
    }
  }

  #greet(message: Buffer): void {
    switch (message.length < 8 ? 0 : message.readInt32BE(4)) {
      case STARTUP.version3:
        this.#reader.startupDone();
        this.#state = 'ready';
        this.statementTimeout = Math.max(
          0,
          Number.parseInt(startupParameter(message, 'statement_timeout') ?? '0', 10) || 0,
        );
        this.isVital = startupParameter(message, 'application_name') === VITAL;
        this.#host.greet(this);
        return;
      case STARTUP.ssl:
      case STARTUP.gss:
        this.send(Buffer.from('N'));
        return;
      case STARTUP.cancel: // the engine cannot stop what it has begun
        if (message.length >= 12) this.#host.cancel(message.readInt32BE(8));
        this.#socket.end();
        this.#leave();
        return;
      default:
        throw new ProtocolError('not a startup message of version 3.0');
    }
  }

  #take(message: Buffer): void {
    if (this.#state === 'copying') {
      this.#takeCopy(message);
      return;
    }
    switch (message[0]) {
      case TYPE.terminate:
        this.#socket.end();
        this.#leave();
        return;
      case TYPE.asker:
        this.#asker = textAt(message, 5);
        return;
      case TYPE.query:
        this.#takeQuery(message);
        return;
      case TYPE.parse:
        this.#takeParse(message);
        return;
      case TYPE.close:
        this.#add(this.#owned(message));
        this.#noteClosed(this.#nameIn(message));
        return;
      case TYPE.bind:
      case TYPE.describe:
        this.#add(this.#owned(message));
        return;
      case TYPE.execute:
        this.#add(message);
        return;
      case TYPE.flush:
        this.#add(message);
        this.#finish('plain'); // more of the same follows before the engine is free
        return;
      case TYPE.sync:
      case TYPE.functionCall:
        this.#add(message);
        this.#finish('plain');
        return;
      case TYPE.copyData:
      case TYPE.copyDone:
      case TYPE.copyFail:
        return; // the rest of a COPY that has failed: to be ignored, says the protocol
      default:
        throw new ProtocolError('an unknown message');
    }
  }

  #takeQuery(message: Buffer): void {
    const text = textAt(message, 5);
    const statement = classify(text);
    this.#add(message);
    if (statement.kind === 'copy-in') {
      this.#state = 'copying'; // the engine cannot wait for data: collect them first
      this.send(COPY_IN);
      return;
    }
    this.#note(statement);
    // Without this, an engine that wants COPY data after all would find its input at an end, and exit.
    if (mentionsCopyIn(text)) this.#add(COPY_GUARD);
    this.#finish('plain');
  }

  #takeParse(message: Buffer): void {
    const text = textAt(message, message.indexOf(0, 5) + 1);
    const statement = classify(text);
    if (statement.kind === 'copy-in') this.#refusal ??= 'COPY FROM STDIN cannot be prepared';
    else this.#note(statement);
    const name = this.#nameIn(message);
    if (name !== null) this.statements.add(name);
    this.#add(this.#owned(message));
  }

  #takeCopy(message: Buffer): void {
    switch (message[0]) {
      case TYPE.copyData:
        this.#add(message);
        if (this.#weight > MAX_COPY_BYTES) {
          this.#refusal = `COPY of more than ${String(MAX_COPY_BYTES)} bytes at once`;
          this.#drop();
        }
        return;
      case TYPE.copyDone:
      case TYPE.copyFail:
        this.#add(message);
        this.#state = 'ready';
        this.#finish('copy');
        return;
      case TYPE.sync:
      case TYPE.flush:
        return; // to be ignored here, says the protocol
      case TYPE.terminate:
        this.#socket.end();
        this.#leave();
        return;
      default:
        throw new ProtocolError('a message that does not belong in COPY data');
    }
  }

  #note(statement: Statement): void {
    if (statement.kind === 'refused') this.#refusal ??= statement.reason;
    if (statement.kind === 'listen' || statement.kind === 'unlisten') this.#channels.push(statement);
  }

  #noteClosed(name: string | null): void {
    if (name === null) return;
    this.statements.delete(name);
    this.#closed.push(name);
  }

  #nameIn(message: Buffer): string | null {
    const name = statementName(message);
    return name === null ? null : this.#prefix + name;
  }

  #owned(message: Buffer): Buffer {
    return withStatementPrefix(message, this.#prefix);
  }

  get #prefix(): string {
    return `c${String(this.id)}_`;
  }

  /** A client that sends without end and never asks for an answer is ended. */
  #add(message: Buffer): void {
    this.#messages.push(message);
    this.#bytes += message.length;
    this.#weight += message.length + MESSAGE_OVERHEAD;
    if (this.#state !== 'copying' && this.#weight > MAX_BYTES) throw new ProtocolError('too much before a Sync');
  }

  #drop(): void {
    this.#messages = [];
    this.#bytes = 0;
    this.#weight = 0;
  }

  /** Nor may a client send ever more while its earlier requests still wait. */
  #assertFewUnits(): void {
    const waiting = this.queue.reduce((sum, { messages }) => sum + messages.length, this.#bytes);
    if (this.queue.length >= MAX_UNITS || waiting > MAX_BYTES) throw new ProtocolError('too many requests at once');
  }

  #finish(kind: 'plain' | 'copy'): void {
    this.#assertFewUnits();
    const refusal = this.#refusal;
    const unit: Unit = {
      messages:
        refusal === null
          ? Buffer.concat(this.#messages, this.#bytes)
          : Buffer.concat([...this.#closed.map(closeStatement), raise(refusal)]),
      channels: refusal === null ? this.#channels : [],
      copy: kind === 'copy',
      closed: this.#closed,
    };
    this.asker = this.#asker;
    this.#asker = '';
    this.#refusal = null;
    this.#channels = [];
    this.#closed = [];
    this.#drop();
    this.#host.enqueue(this, unit);
  }
}

/** An error that the engine itself raises, so that a transaction gets into the usual state. */
function raise(message: string): Buffer {
  const text = `embedded store: ${message}`.replaceAll("'", "''");
  return queryFrame(`do $$ begin raise exception using errcode = '0A000', message = '${text}'; end $$`);
}
