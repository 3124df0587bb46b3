// A minimal balancer of TCP connections. A connection goes to the next target that is ready, or to another one if that
// one refuses it. Open connections stay where they are.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Target {
  readonly port: number;
  readonly isReady: () => boolean;
}

export interface Balancer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** `targets` is read for each connection. */
export async function startBalancer(targets: readonly Target[]): Promise<Balancer> {
  let turn = 0;
  const open = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    open.add(socket);
    return socket.on('error', () => undefined).once('close', () => open.delete(socket));
  };
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (client) => {
    track(client);
    turn += 1;
    const inTurn = [...targets.slice(turn % targets.length), ...targets.slice(0, turn % targets.length)];
    void reach(inTurn.filter(({ isReady }) => isReady())).then((target) => {
      if (target === null || client.destroyed) {
        client.destroy();
        target?.destroy();
        return;
      }
      track(target).once('close', () => {
        client.destroySoon();
      });
      client.once('close', () => {
        target.destroy();
      });
      client.pipe(target);
      target.pipe(client);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}

async function reach([next, ...others]: readonly Target[]): Promise<Socket | null> {
  if (next === undefined) return null;
  const socket = connect({ port: next.port, host: '127.0.0.1', noDelay: true });
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return reach(others);
  }
}
