// Opening one connection of the driver. A server that leaves can say goodbye in one breath with its greeting: then the driver
// has announced the end before anybody could listen, and hands out a connection that takes no query.
import type pg from 'pg';

/** Connects and sets up; rejects also where the connection was lost on the way, whatever else was answered. */
export async function openClient(client: pg.Client, setUp: () => Promise<unknown> = nothing): Promise<pg.Client> {
  const losses: Error[] = [];
  client.on('error', (error) => losses.push(error));
  try {
    await client.connect();
    await setUp();
    const [loss] = losses;
    if (loss !== undefined) throw loss;
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}

const nothing = (): Promise<void> => Promise.resolve();
