// A candidate while the store, which has its snapshot, is away: what needs the store is tried again until it is back.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ALL_SCOPES, instantOf, resolveActor } from '../../../engine/index.js';
import { queryAsked } from '../../../server/audit/event.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { makeActorResolver } from '../../../server/auth/resolved-actors.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { systemClock as clock } from '../../../server/lib/ports.js';
import { type ActivePolicy, makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { storedSnapshots } from '../../../server/policy/store/stored-snapshots.js';
import { makeShadow, type Shadow } from '../../../server/shadow/shadow.js';
import { SILENT } from '../../support/audit-log.js';
import { pathOf, snapshotOf } from '../../support/gateway.js';
import { findPostgres, startPostgres, type TestPostgres } from '../../support/postgres.js';
import { until } from '../../support/until.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const LIVE = snapshotOf([[ADA, '/', ['resource:read']]]);
const CANDIDATE = snapshotOf([]);
const NEXT = snapshotOf([[ADA, '/labs', ['resource:read']]]);
const ACTOR = {
  ...{ id: 'ada', kind: 'key', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null },
  credentialFingerprint: 'f'.repeat(64),
} as unknown as RequestActor;
const QUESTION = {
  access: queryAsked({ family: 'resource', context: pathOf('/'), reach: 'subtree' }),
  resolved: resolveActor(LIVE.policy, ACTOR),
};

const withPostgres = findPostgres() === null ? describe.skip : describe;

withPostgres('while the store is away', () => {
  let server: TestPostgres;
  let db: Database;
  let shadow: Shadow;
  let policies: ActivePolicy;
  let told: string[] = [];
  beforeAll(async () => {
    const started = await startPostgres();
    if (started === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
    server = started;
    db = await openDatabase({ kind: 'external', url: server.url });
    await migrate(db);
    for (const made of [LIVE, CANDIDATE, NEXT])
      await storedSnapshots(db).keep({ ...made, labels: 'verified', statement: null, at: clock.now() });
  });
  beforeEach(() => {
    told = [];
    const tell = (_: object, text: string): void => void told.push(text);
    const log = { ...SILENT, error: tell, warn: tell };
    policies = makeActivePolicy({ policy: LIVE.policy }, { clock, log });
    const [snapshots, tables, rule, resolve] = [storedSnapshots(db), null, null, makeActorResolver()];
    shadow = makeShadow({ policies, snapshots, tables, rule, resolveActor: resolve, clock, log });
  });
  afterEach(() => {
    shadow.close();
  });
  afterAll(async () => {
    await db.close();
    await server.stop();
  });

  it('a process joins a candidate, and judges by it once the store is back', async () => {
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
  });

  it('another policy comes into force, and the candidate is compared with it once the store is back', async () => {
    const before = (): Promise<void> => Promise.resolve();
    await shadow.begin(CANDIDATE.policy.digest, { askedBy: 'test', before, signal: new AbortController().signal });
    await server.crash();
    policies.activate({ policy: NEXT.policy }, 'test');
    await until(() => told.length > 0 || shadow.state()?.fault !== null);
    await server.start();
    await until(() => shadow.state()?.difference !== null || shadow.state()?.fault !== null);
    expect(shadow.state()).toMatchObject({ fault: null, against: { snapshot: NEXT.policy.digest } });
    expect(told).toHaveLength(1);
  });
});
