// A process that follows the candidate of another one takes it from the store, also if the store is away at first.
import { expect, it } from '@jest/globals';
import { ALL_SCOPES, instantOf, resolveActor } from '../../../engine/index.js';
import { queryAsked } from '../../../server/audit/event.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { makeActorResolver } from '../../../server/auth/resolved-actors.js';
import { openDatabase } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { systemClock as clock } from '../../../server/lib/ports.js';
import { makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { storedSnapshots } from '../../../server/policy/store/stored-snapshots.js';
import { makeShadow } from '../../../server/shadow/shadow.js';
import { SILENT } from '../../support/audit-log.js';
import { pathOf, snapshotOf } from '../../support/gateway.js';
import { findPostgres, startPostgres } from '../../support/postgres.js';
import { until } from '../../support/until.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const LIVE = snapshotOf([[ADA, '/', ['resource:read']]]);
const CANDIDATE = snapshotOf([]);
const ACTOR = {
  ...{ id: 'ada', kind: 'key', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null },
  credentialFingerprint: 'f'.repeat(64),
} as unknown as RequestActor;
const QUESTION = {
  access: queryAsked({ family: 'resource', context: pathOf('/'), reach: 'subtree' }),
  resolved: resolveActor(LIVE.policy, ACTOR),
};

const withPostgres = findPostgres() === null ? it.skip : it;

withPostgres('a candidate is judged once the store that has it is back', async () => {
  const server = await startPostgres();
  if (server === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
  const db = await openDatabase({ kind: 'external', url: server.url });
  await migrate(db);
  const snapshots = storedSnapshots(db);
  await snapshots.keep({ ...CANDIDATE, labels: 'verified', statement: null, at: clock.now() });
  const told: string[] = [];
  const log = { ...SILENT, error: (_: object, text: string) => void told.push(text) };
  const policies = makeActivePolicy({ policy: LIVE.policy }, { clock, log });
  const [tables, rule, resolve] = [null, null, makeActorResolver()];
  const shadow = makeShadow({ policies, snapshots, tables, rule, resolveActor: resolve, clock, log });
  await server.crash();
  void shadow.join({ era: 'one', snapshot: CANDIDATE.policy.digest });
  await until(() => told.length > 0);
  await server.start();
  await until(() => {
    const judged = { operation: 'resource.query', asked: QUESTION } as const;
    shadow.note({ actor: ACTOR, at: instantOf(0), judged, snapshot: LIVE.policy.digest });
    return (shadow.take()?.counts.lost ?? 0) > 0;
  });
  // However often it was tried.
  expect(told).toHaveLength(1);
  shadow.close();
  await db.close();
  await server.stop();
});
