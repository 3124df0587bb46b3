// How often the gateway's own client goes to the store while something is done.
import { StoreClient } from '../../server/db/connections.js';

export async function tripsOf(work: () => Promise<unknown>): Promise<number> {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- applied to the client that it is called on
  const { query } = StoreClient.prototype;
  let trips = 0;
  StoreClient.prototype.query = function (this: StoreClient, ...parameters: unknown[]) {
    trips += 1;
    return Reflect.apply(query, this, parameters);
  };
  try {
    await work();
  } finally {
    StoreClient.prototype.query = query;
  }
  return trips;
}
