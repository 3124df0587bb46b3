// A network between a gateway and its PostgreSQL that can go silent.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Network {
  /** Of the socket, as a host for the driver. */
  readonly folder: string;
  readonly swallow: (all: boolean) => void;
  readonly stop: () => void;
}

/** Passes bytes between its own socket and the server's, or keeps them to itself: a connection that is half open. */
export async function startNetwork(behind: string): Promise<Network> {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-net-'));
  const file = '.s.PGSQL.5432';
  let swallowing = false;
  const sockets = new Set<Socket>();
  const server: Server = createServer((near) => {
    const far = connect(join(behind, file));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!swallowing) to.write(chunk);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(join(folder, file), resolve);
  });
  return {
    folder,
    swallow: (all) => {
      swallowing = all;
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
