// The description of the API without a gateway: what a gateway of this version answers at /openapi.json.
import { noStore } from '../../db/no-store.js';
import { makeRoutes } from '../routes.js';
import { describeApi } from './document.js';

export function apiDescription(): object {
  return describeApi(makeRoutes({ db: noStore(), cursorKey: new Uint8Array(0), readiness: unasked }));
}

/** Routes are described, and not run. */
function unasked(): never {
  throw new TypeError('a route of a description was called');
}
