// Requests that arrive before the client has read the answers to earlier ones of its connection: they wait, one after the
// other. Those of one connection are bounded, and so are those of all. If all together take too much, connections of
// strangers end first, and of those the ones that read most slowly.
import { HTTP_LIMITS } from '../limits/http.js';
import { type Connection, connectionOf } from './connection.js';
import type { GatewayRequest, GatewayResponse } from './http-message.js';

export interface Pipelined {
  /**
   * Begins a request once the client has read the answers to all earlier requests of its connection. So a connection
   * never holds more than one answer.
   */
  readonly inTurn: (request: GatewayRequest, response: GatewayResponse, begin: () => void) => void;
  /** Nothing waits on the connection any more, because it has ended. */
  readonly forget: (connection: Connection) => void;
}

export function makePipelined(): Pipelined {
  const waiting = new Map<Connection, number>();
  let total = 0;
  const count = (connection: Connection, bytes: number): void => {
    total += bytes;
    waiting.set(connection, (waiting.get(connection) ?? 0) + bytes);
  };
  const forget = (connection: Connection): void => {
    total -= waiting.get(connection) ?? 0;
    waiting.delete(connection);
  };
  return {
    inTurn: (request, response, begin) => {
      // Node gives a response its socket when the one before has left.
      if (response.socket !== null) {
        begin();
        return;
      }
      const { socket } = request;
      // The rest of what was read is still parsed.
      if (socket.destroyed) return;
      const connection = connectionOf(socket);
      connection.newest = request;
      const characters = charactersOf(request);
      const bytes = characters + bodyBytesOf(request) + HTTP_LIMITS.pipelinedOverhead;
      connection.waiting += 1;
      connection.waitingCharacters += characters;
      const { pipelined, pipelinedCharacters, pipelinedBytes } = HTTP_LIMITS;
      if (connection.waiting > pipelined || connection.waitingCharacters > pipelinedCharacters) {
        forget(connection);
        connection.cut('pipelined');
        return;
      }
      count(connection, bytes);
      while (total > pipelinedBytes) {
        const first = [...waiting.keys()].reduce(givesWay);
        forget(first);
        first.cut('pipelined');
      }
      response.once('socket', () => {
        connection.waiting -= 1;
        connection.waitingCharacters -= characters;
        if (waiting.has(connection)) count(connection, -bytes);
        if (connection.waiting === 0) {
          connection.newest = null;
          forget(connection);
        }
        // Node goes on with the response after this event.
        process.nextTick(() => {
          if (!socket.destroyed) begin();
        });
      });
    },
    forget,
  };
}

function givesWay(a: Connection, b: Connection): Connection {
  if (a.isKnown !== b.isKnown) return a.isKnown ? b : a;
  return b.pace() < a.pace() ? b : a;
}

function charactersOf({ url = '', rawHeaders }: GatewayRequest): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
}

/** Most of what Node reads of a body that nobody asks for. */
function bodyBytesOf({ headers }: GatewayRequest): number {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers;
  const most = HTTP_LIMITS.pipelinedBody;
  return coding === undefined ? Math.min(Number(length) || 0, most) : most;
}
