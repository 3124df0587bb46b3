// The API's description, as a gateway would answer it, for tests without a gateway.
import { instantOf } from '../../engine/index.js';
import { storedActivations } from '../../server/policy/store/activations.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { noStore } from '../../server/db/no-store.js';
import { NO_AGE_LIMITS } from '../../server/policy/active/staleness.js';
import { makeAdminRoutes } from '../../server/http/admin-routes.js';
import { describeApi } from '../../server/http/openapi/document.js';
import type { Route } from '../../server/http/route.js';
import { makeRoutes } from '../../server/http/routes.js';
import type { Description } from './described-answers.js';

export function descriptionOf(routes: readonly Route[]): Description {
  return JSON.parse(JSON.stringify(describeApi(routes))) as Description;
}

const unasked = (): never => {
  throw new Error('nobody asks this route');
};

/** For what they declare alone: none of them is run. */
export function declaredRoutes(): readonly Route[] {
  return makeRoutes({ db: noStore(), cursorKey: new Uint8Array(32), readiness: unasked });
}

export function declaredAdminRoutes(): readonly Route[] {
  const policies = {
    ...{ current: unasked, state: unasked, activate: unasked, confirm: unasked, refuse: unasked },
    ...{ fallBehind: unasked, startLease: unasked, renewLease: unasked, beat: unasked, noteLabels: unasked },
    subscribe: unasked,
  };
  const activator = {
    newest: unasked,
    offer: unasked,
    choose: unasked,
    ask: unasked,
    catchUp: unasked,
    confirmLabels: unasked,
    close: unasked,
  };
  const [snapshots, activations] = [storedSnapshots(noStore()), storedActivations(noStore())];
  const shadow = {
    ...{ begin: unasked, end: unasked, state: unasked, totals: unasked, toFollow: unasked, subscribe: unasked },
    ...{ add: unasked, join: unasked, note: unasked, take: unasked, close: unasked },
  };
  return makeAdminRoutes({
    rule: null,
    clock: { now: unasked },
    shadow,
    activator: { ...activator, snapshots, activations, tables: null },
    db: noStore(),
    fingerprint: unasked,
    nextId: unasked,
    policies,
    ages: NO_AGE_LIMITS,
    peers: { list: unasked },
    readiness: unasked,
    storeFault: unasked,
    readSeries: unasked,
    audit: null,
    auditFolder: null,
    hasConsole: true,
    certificates: null,
    workers: null,
    authzen: null,
    startedAt: instantOf(0),
  });
}
