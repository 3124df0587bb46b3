// The connections that node:cluster is about to give to a worker. The primary keeps its own end of each until the worker says that it has
// it. If the worker dies before it says so, node forgets that end without closing it, and the client would wait for ever.
import type { Worker } from 'node:cluster';
import { WORKER_LIMITS } from '../limits/workers.js';

/** What node:cluster sends with a connection, and what comes back. Neither is documented; a test shows that they are still so. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

interface Connection {
  readonly close: () => void;
}

/** Closes connections that a dying worker was given and had not accepted yet, so that their clients notice at once. */
export function closeUntaken(worker: Worker): void {
  const { process: child } = worker;
  const send = child.send.bind(child);
  const handedOver = new Map<number, Connection>();
  child.send = (message: ClusterMessage, ...rest: readonly unknown[]): boolean => {
    const [handle] = rest;
    if (message.act === 'newconn' && message.seq !== undefined && isConnection(handle))
      handedOver.set(message.seq, handle);
    return Reflect.apply(send, child, [message, ...rest]) === true;
  };
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) handedOver.delete(ack);
  });
  // Its last message has been read by then. `disconnect` is not emitted where a connection was still on its way.
  child.once('exit', () => {
    setTimeout(() => {
      for (const connection of handedOver.values()) connection.close();
    }, WORKER_LIMITS.exchange);
  });
}

function isConnection(handle: unknown): handle is Connection {
  return typeof handle === 'object' && handle !== null && 'close' in handle;
}
