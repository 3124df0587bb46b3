// Somebody who holds everything in one place by very many grants: every route answers, and no event of it is lost.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { SCOPES } from '../../engine/index.js';
import type { AuditTrail } from '../../server/audit/trail.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { systemClock } from '../../server/lib/ports.js';
import { readLines, trailIn } from '../support/audit-log.js';
import { call, openGateway, policyOf, type TestGateway, type TestGrant } from '../support/gateway.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

/** More than one call can take as arguments, and more ids in all scopes than one answer may have. */
const GRANTS = 180_000;
const ADA = { provider: 'orcid', subject: 'ada' };
const BOB = { provider: 'orcid', subject: 'bob' };

let dataDir: string;
let folder: string;
let db: Database;
let trail: AuditTrail;
let open: TestGateway;
let key: string;

beforeAll(async () => {
  [dataDir, folder] = [await newDataDir(), await makeFolder()];
  db = await openDatabase({ kind: 'embedded', dataDir });
  trail = await trailIn(folder, db, { clock: systemClock, lag: 10_000 });
  const policy = policyOf(
    Array.from({ length: GRANTS }, (): TestGrant => [ADA, '/t', SCOPES]).concat([[BOB, '/', SCOPES]]),
  );
  open = await openGateway({ db, audit: trail, mode: { kind: 'serve', policy } });
  key = (await open.key()).text;
});
afterAll(async () => {
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

const get = (path: string): ReturnType<typeof call> => call(open.port, { method: 'GET', path: `/api/v1/${path}`, key });

it('the audit log names the first grants of each answer, and counts the others', async () => {
  const { text: asker } = await open.key({ actor: 'portal', identities: [], decide: true });
  const { text: root } = await open.key({ actor: 'bob', identities: [BOB] });
  const seen = { family: 'resource', namespace: '/t', reach: 'subtree' };
  const statuses = [
    await call(open.port, { method: 'PUT', path: '/api/v1/namespaces/t', key: root, body: {} }),
    await call(open.port, { method: 'PUT', path: '/api/v1/namespaces/t/a', key, body: {} }),
    await call(open.port, { key, body: seen }),
    await get('changes?namespace=/t&families=resource'),
    await call(open.port, {
      path: '/api/v1/visible',
      key: asker,
      body: { ...seen, actor: { identities: ['orcid:ada'] } },
    }),
    await get('permissions?namespace=/t&scope=resource:read'),
    // All scopes together would be too many ids.
    await get('permissions?namespace=/t'),
  ].map(({ status, json }) => json?.['code'] ?? status);
  expect(statuses).toEqual([201, 201, 200, 200, 200, 200, 'request.too_large']);
  await open.dispose();
  await trail.close();
  const events = readLines(folder).map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const ids = Array.from({ length: GRANTS }, (_, index) => `g${String(index + 1)}`).sort();
  const cited = events.filter(({ grantsOmitted }) => grantsOmitted !== undefined);
  expect(cited.map(({ operation }) => operation).sort()).toEqual([
    'namespace.create',
    'permissions',
    'resource.changes',
    'resource.query',
    'visible',
  ]);
  for (const { grants, grantsOmitted } of cited) {
    expect(grants).toEqual(ids.slice(0, 100));
    expect(grantsOmitted).toBe(GRANTS - 100);
  }
  expect(events.map(({ operation }) => operation)).not.toContain('audit.lost');
});
