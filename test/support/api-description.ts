// The API's description, as a gateway would answer it, for what has no gateway at hand.
import { noStore } from '../../server/db/no-store.js';
import { describeApi } from '../../server/http/openapi/document.js';
import type { Route } from '../../server/http/route.js';
import { makeRoutes } from '../../server/http/routes.js';
import type { Description } from './described-answers.js';

export function descriptionOf(routes: readonly Route[]): Description {
  return JSON.parse(JSON.stringify(describeApi(routes))) as Description;
}

/** For what they declare alone: none of them is run. */
export function declaredRoutes(): readonly Route[] {
  return makeRoutes({ db: noStore(), cursorKey: new Uint8Array(32) });
}
