// The part of the PostgreSQL wire protocol that the embedded engine's front end needs: frames in and out, the
// handshake, errors, and statement names made unique per client.
import { EMBEDDED_LIMITS } from '../../limits/store.js';

/** Message types, by their byte. */
export const TYPE = {
  bind: 0x42,
  close: 0x43,
  copyData: 0x64,
  copyDone: 0x63,
  copyFail: 0x66,
  describe: 0x44,
  execute: 0x45,
  flush: 0x48,
  functionCall: 0x46,
  parse: 0x50,
  query: 0x51,
  sync: 0x53,
  terminate: 0x58,
  /** Not of the protocol: our clients say so who asks for what follows. */
  asker: 0x61,
  // from the server
  copyInResponse: 0x47,
  errorResponse: 0x45,
  notification: 0x41,
  readyForQuery: 0x5a,
} as const;

/** First word of a client's first message. */
export const STARTUP = { version3: 196_608, cancel: 80_877_102, ssl: 80_877_103, gss: 80_877_104 } as const;

/** What a `ReadyForQuery` says, by its byte. */
export const STATUS = { idle: 0x49, inTransaction: 0x54, failed: 0x45 } as const;

/** The protocol allows no longer startup message. */
const MAX_STARTUP_BYTES = 10_000;
const HEADER = 5;

export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** Cuts a byte stream into whole messages. The chunks of a message are joined only once, however many there are. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;
  /** The length of the message that is coming in; 0 before it is known. */
  #expected = 0;
  #typeBytes = 0;

  /** The first message, and any other before this is called, has no type byte. */
  startupDone(): void {
    this.#typeBytes = 1;
  }

  /** The whole messages that `chunk` completes. Throws `ProtocolError`. */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= Math.max(this.#expected, this.#typeBytes + 4)) {
      const buffer = this.#joined();
      const length = this.#messageLength(buffer);
      this.#expected = length;
      if (buffer.length < length) return;
      this.#chunks = buffer.length === length ? [] : [buffer.subarray(length)];
      this.#size = buffer.length - length;
      this.#expected = 0;
      yield buffer.subarray(0, length);
    }
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && this.#chunks.length === 1) return first;
    const joined = Buffer.concat(this.#chunks, this.#size);
    this.#chunks = [joined];
    return joined;
  }

  #messageLength(buffer: Buffer): number {
    const length = buffer.readInt32BE(this.#typeBytes);
    const limit = this.#typeBytes === 0 ? MAX_STARTUP_BYTES : EMBEDDED_LIMITS.messageBytes;
    if (length < 4 || length > limit) throw new ProtocolError(`a message says that it has ${String(length)} bytes`);
    return this.#typeBytes + length;
  }
}

export function frame(type: number, body: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(HEADER + body.length);
  message[0] = type;
  message.writeInt32BE(4 + body.length, 1);
  message.set(body, HEADER);
  return message;
}

const texts = (...values: readonly string[]): Buffer => Buffer.from(values.map((value) => `${value}\0`).join(''));

export const SYNC = frame(TYPE.sync, new Uint8Array(0));
export const READY_IDLE = frame(TYPE.readyForQuery, Uint8Array.of(STATUS.idle));
/** Tells a client to send its COPY data, text format, columns not named. */
export const COPY_IN = frame(TYPE.copyInResponse, Uint8Array.of(0, 0, 0));

export const queryFrame = (sql: string): Buffer => frame(TYPE.query, texts(sql));
export const copyFail = (message: string): Buffer => frame(TYPE.copyFail, texts(message));
export const askerFrame = (asker: string): Buffer => frame(TYPE.asker, texts(asker));
export const closeStatement = (name: string): Buffer => frame(TYPE.close, texts(`S${name}`));

export function errorFrame(severity: 'ERROR' | 'FATAL', code: string, message: string): Buffer {
  return frame(TYPE.errorResponse, texts(`S${severity}`, `V${severity}`, `C${code}`, `M${message}`, ''));
}

/** Everything that a server says to a client that it lets in. */
export function greeting(sessionId: number, parameters: ReadonlyMap<string, string>): Buffer {
  const key = Buffer.alloc(8);
  key.writeInt32BE(sessionId, 0);
  return Buffer.concat([
    frame(0x52, Buffer.alloc(4)), // AuthenticationOk: whoever reaches the socket is this user already
    ...Array.from(parameters, ([name, value]) => frame(0x53, texts(name, value))),
    frame(0x4b, key),
    READY_IDLE,
  ]);
}

/** Text from `start` to the next NUL. */
export function textAt(message: Buffer, start: number): string {
  const end = message.indexOf(0, start);
  if (end < 0) throw new ProtocolError('a text without an end');
  return message.toString('utf8', start, end);
}

/** A parameter that the client names in its startup message; null if it does not. */
export function startupParameter(message: Buffer, name: string): string | null {
  for (let at = 8; at < message.length && message[at] !== 0;) {
    const key = textAt(message, at);
    at += Buffer.byteLength(key) + 1;
    const value = textAt(message, at);
    if (key === name) return value;
    at += Buffer.byteLength(value) + 1;
  }
  return null;
}

/** Where a message names a prepared statement, or -1. */
function statementNameAt(message: Buffer): number {
  switch (message[0]) {
    case TYPE.parse:
      return HEADER;
    case TYPE.bind:
      return message.indexOf(0, HEADER) + 1; // after the portal's name
    case TYPE.close:
    case TYPE.describe:
      return message[HEADER] === 0x53 ? HEADER + 1 : -1; // S: a statement, P: a portal
    default:
      return -1;
  }
}

/** The statement a message names; null if it names none or the unnamed one. */
export function statementName(message: Buffer): string | null {
  const at = statementNameAt(message);
  const name = at < 0 ? '' : textAt(message, at);
  return name === '' ? null : name;
}

/** The message with a prefix to its statement's name: one backend serves all clients, and each has names of its own. */
export function withStatementPrefix(message: Buffer, prefix: string): Buffer {
  const at = statementNameAt(message);
  if (at < 0 || message[at] === 0) return message;
  return frame(
    message[0] ?? 0,
    Buffer.concat([message.subarray(HEADER, at), Buffer.from(prefix), message.subarray(at)]),
  );
}

/** The messages of an engine's output, in order. */
export function* framesOf(output: Buffer): Generator<Buffer> {
  for (let at = 0; at + HEADER <= output.length;) {
    const end = at + 1 + output.readInt32BE(at + 1);
    yield output.subarray(at, end);
    at = end;
  }
}

/** Body of a notification: pid of the sender, channel, payload. */
export const notificationChannel = (message: Buffer): string => textAt(message, HEADER + 4);

/** The fields of an error, by their letter. */
export function errorFields(message: Buffer): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (let at = HEADER; at < message.length && message[at] !== 0;) {
    const value = textAt(message, at + 1);
    fields.set(String.fromCharCode(message[at] ?? 0), value);
    at += 2 + Buffer.byteLength(value);
  }
  return fields;
}
