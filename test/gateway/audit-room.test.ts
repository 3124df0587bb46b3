// Many events at once: each answer leaves its own, whatever others ask for, and nobody waits for the events of others.
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import { systemFiles } from '../../server/audit/file-layer.js';
import { type AuditTrail, openTrail } from '../../server/audit/trail.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { readLines, SILENT } from '../support/audit-log.js';
import { call, openGateway, pathOf, type Reply, snapshotOf, type TestGateway } from '../support/gateway.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const CAROL = { provider: 'orcid', subject: 'carol' };
const { bytes, policy } = snapshotOf([[CAROL, '/labs', ['resource:read']]]);

let dataDir: string;
let db: Database;
let folder: string;
let trail: AuditTrail;
let open: TestGateway;
/** While it is set, the disk does not take anything. */
let held: Promise<void> | null = null;

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  folder = await makeFolder();
  const files = {
    ...systemFiles,
    create: async (path: string) => {
      const file = await systemFiles.create(path);
      const sync = async (): Promise<void> => {
        await held;
        await file.sync();
      };
      return { ...file, sync };
    },
  };
  const how = { folder, queries: 'all', onFailure: 'refuse', lag: 10_000, patience: 60_000, files } as const;
  trail = await openTrail({ ...how, db, clock: systemClock, nextId: makeIdSource(), log: SILENT });
  await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: null, at: instantOf(Date.now()) });
  open = await openGateway({ db, audit: trail, mode: { kind: 'serve', policy } });
});
afterAll(async () => {
  await open.dispose();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

const QUESTION = {
  actor: { identities: ['orcid:carol'] },
  request: { kind: 'access', scope: 'resource:read', target: '/labs' },
};

const askOnce = (key: string, questions: number): Promise<Reply> =>
  call(open.port, { path: '/api/v1/decide', key, body: { items: Array<object>(questions).fill(QUESTION) } });

/** Until it is answered: a busy gateway says when to ask again. */
async function ask(key: string, questions: number): Promise<Reply> {
  const reply = await askOnce(key, questions);
  if (reply.status !== 503) return reply;
  await sleep(Number(reply.json?.['retryAfter']) * 1_000);
  return ask(key, questions);
}

it('has each question that was answered, and nobody waits for those of another', async () => {
  const { text: pep } = await open.key({ actor: 'pep', identities: [], decide: true });
  const { text: carol } = await open.key({ actor: 'carol', identities: [CAROL] });
  let letGo: () => void = () => undefined;
  held = new Promise((resolve) => {
    letGo = resolve;
  });
  let answered = 0;
  const asked = Array.from({ length: 12 }, async () => {
    const { status } = await ask(pep, 1_000);
    answered += 1;
    return status;
  });
  const looks = [];
  for (let n = 0; n < 10; n += 1)
    looks.push(await call(open.port, { key: carol, body: { family: 'resource', namespace: '/labs' } }));
  expect(looks.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(answered).toBeLessThanOrEqual(2);
  letGo();
  held = null;
  expect(await Promise.all(asked)).toEqual(Array(12).fill(200));

  // A key from before the limit: each event repeats what it carries.
  const restrictions = Array.from({ length: 900 }, (_, n) =>
    pathOf(`/labs/n${String(n)}${`/${'y'.repeat(60)}`.repeat(15)}`),
  );
  const { text: bulky } = await open.key({ actor: 'bulky', identities: [], decide: true, restrictions });
  expect(await ask(bulky, 1_000)).toMatchObject({
    status: 413,
    json: { code: 'request.too_large', errors: [{ message: expect.stringContaining('ask fewer questions at once') }] },
  });
  expect((await ask(bulky, 10)).status).toBe(200);

  await trail.close();
  expect(trail.counts().lost).toBe(0);
  const events = readLines(folder).map((line) => JSON.parse(line) as { operation: string; actor: { id: string } });
  const count = (operation: string, id: string): number =>
    events.filter((event) => event.operation === operation && event.actor.id === id).length;
  expect([count('decide', 'pep'), count('decide', 'bulky'), count('resource.query', 'carol')]).toEqual([
    12_000, 10, 10,
  ]);
});
