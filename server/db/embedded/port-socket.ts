// A connection between two threads of one process that behaves like a socket, so that the driver and the engine's front
// cannot tell the difference. It takes about half the time of a Unix socket, and no system call carries the bytes.
import { Duplex } from 'node:stream';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** What a port carries: bytes, or null when nothing more will come. */
type Sent = ArrayBuffer | null;
type Done = (error?: Error | null) => void;

export class PortSocket extends Duplex {
  readonly #port: MessagePort;
  readonly #begin: (() => void) | null;

  /** `begin` is called when the driver connects. The other end of a connection has none. */
  constructor(port: MessagePort, begin: (() => void) | null = null) {
    super({ allowHalfOpen: false });
    this.#port = port;
    this.#begin = begin;
    port.on('message', (sent: Sent) => {
      if (!this.readableEnded && !this.destroyed) this.push(sent === null ? null : Buffer.from(sent));
    });
    // The other end, or its thread, is gone.
    port.on('close', () => {
      this.destroy();
    });
  }

  /** Called by the driver. There is no address: the port leads to one engine. */
  connect(): this {
    this.#begin?.();
    process.nextTick(() => {
      this.emit('connect');
    });
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    this.#port.ref();
    return this;
  }

  unref(): this {
    this.#port.unref();
    return this;
  }

  override _read(): void {
    // Everything is pushed as it comes. Both ends read all they get, as their requests and answers are bounded.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#send([chunk], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: Done): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: Done): void {
    this.#port.postMessage(null);
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#port.close();
    done(error);
  }

  /** Moves a copy of the bytes. The buffers themselves may be parts of larger ones, which would move too. */
  #send(buffers: readonly Buffer[], done: Done): void {
    const bytes = new Uint8Array(buffers.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const buffer of buffers) {
      bytes.set(buffer, at);
      at += buffer.length;
    }
    this.#port.postMessage(bytes.buffer, [bytes.buffer]);
    done();
  }
}

/** A new connection. `give` gets the end for the other thread when the driver connects. */
export function portConnection(give: (port: MessagePort) => void): PortSocket {
  const { port1, port2 } = new MessageChannel();
  return new PortSocket(port1, () => {
    give(port2);
  });
}
