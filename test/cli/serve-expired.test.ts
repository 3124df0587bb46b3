// A gateway that starts after the statement of its policy has expired: like one that runs, it is not ready and decides nothing, until the
// snapshot is signed again.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { instantOf, type PublicationStatement } from '../../engine/index.js';
import { openDatabase } from '../../server/db/database.js';
import { startPolicy } from '../../server/policy/active/start-policy.js';
import { call, snapshotOf } from '../support/gateway.js';
import { HOUR } from '../support/followed-policy.js';
import { makeSigner, ruleIn, signedBy, statementOf } from '../support/publisher.js';
import { runCli } from '../support/run-cli.js';
import { serveHere, serveThere } from '../support/serve-here.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const made = snapshotOf([[{ provider: 'orcid', subject: 'ada' }, '/', ['namespace:read']]]);
const signer = makeSigner();
const PAST = instantOf(Date.now() - 2 * HOUR);
const expired = statementOf(made, { issued: PAST, expires: instantOf(Date.now() - HOUR) });
let folder: string;

beforeAll(async () => {
  folder = await makeFolder({ 'bailiwick.yaml': 'snapshot: { poll: 1s }\n' });
  ruleIn(folder, [signer]);
});

async function sign(statement: PublicationStatement): Promise<void> {
  await writeFile(join(folder, 's.json'), made.bytes);
  await writeFile(join(folder, 's.json.dsse.json'), signedBy(statement, [signer]));
}

const flags = (): readonly string[] => [
  ...['--policy', join(folder, 's.json'), '--config', join(folder, 'bailiwick.yaml')],
  ...['--require-signature', '--keyring', join(folder, 'keyring.yaml'), '--environment', 'production'],
];

const dataDirs: string[] = [];
afterAll(() => Promise.all(dataDirs.map((dataDir) => rm(dataDir, { recursive: true, force: true }))));

it.each([[[]], [['--workers', '2']]])('serves what was in force, and decides nothing: %j', async (workers) => {
  const dataDir = await newDataDir();
  dataDirs.push(dataDir);
  const db = await openDatabase({ kind: 'embedded', dataDir });
  const statement = { says: expired, envelope: signedBy(expired, [signer]), signers: [] };
  const offered = { ...made, labels: 'verified', statement, from: { kind: 'memory' } } as const;
  await startPolicy({ db, offered, rule: null, clock: { now: () => PAST } });
  await db.close();
  await sign(expired);
  const begin = workers.length === 0 ? serveHere : serveThere;
  const served = await begin(dataDir, 'serve', ...flags(), ...workers);
  const bailiwick = (...args: readonly string[]): ReturnType<typeof runCli> => runCli([...args, '--data-dir', dataDir]);
  const key = (await bailiwick('keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada')).stdout.trim();
  const ask = async (): Promise<unknown> => {
    const { status, json } = await call(served.port, { key, body: { family: 'namespace', namespace: '/' } });
    return status === 200 ? status : json?.['code'];
  };
  expect(await ask()).toBe('snapshot.expired');
  const { stdout } = await bailiwick('status');
  expect(stdout).toMatch(/^ready +no: policy; decides nothing: the signed statement of the policy expired at 20/m);
  await until(() => served.stderr().includes('the statement of the policy has expired: nothing is decided'));
  await sign(statementOf(made, { generation: 8, issued: PAST, expires: instantOf(Date.now() + 24 * HOUR) }));
  await until(async () => (await ask()) === 200);
  expect(await served.stop()).toBe(0);
});

it('does not start where nothing is in force yet', async () => {
  const dataDir = await newDataDir();
  dataDirs.push(dataDir);
  await sign(expired);
  const ran = await runCli(['serve', ...flags(), '--data-dir', dataDir, '--listen', '127.0.0.1:0']);
  expect(ran).toMatchObject({ status: 9, stderr: expect.stringContaining('the statement has expired') });
});
