// How often the gateway's own client goes to the store while something is done.
import { StoreClient } from '../../server/db/connections.js';

export async function tripsOf(work: () => Promise<unknown>): Promise<number> {
  return (await tripsByConnection(work)).reduce((sum, trips) => sum + trips, 0);
}

/** Of each connection: what takes long shares the store with what is done at intervals, but not its connection. */
export async function tripsByConnection(work: () => Promise<unknown>): Promise<readonly number[]> {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- applied to the client that it is called on
  const { query } = StoreClient.prototype;
  const trips = new Map<StoreClient, number>();
  StoreClient.prototype.query = function (this: StoreClient, ...parameters: unknown[]) {
    trips.set(this, (trips.get(this) ?? 0) + 1);
    return Reflect.apply(query, this, parameters);
  };
  try {
    await work();
  } finally {
    StoreClient.prototype.query = query;
  }
  return [...trips.values()];
}
