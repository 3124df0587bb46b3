// `check --store`: grants at namespaces that a store does not have are reported along with everything else that `check`
// finds.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../server/db/database.js';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { PASSING, POLICY } from './policies.js';

const MORE =
  'grants:\n' +
  '  - { id: slip, identity: orcid:bo, scopes: ["*:read"], namespace: /labs/optcs }\n' +
  '  # bailiwick-ignore LINT_NAMESPACE_UNSTORED: opens in March\n' +
  '  - { id: planned, identity: orcid:bo, scopes: ["*:read"], namespace: /archive/2030 }\n' +
  '  - { id: all, identity: orcid:kim, scopes: [resource:read], namespace: / }\n';

let cwd: string;
let dataDir: string;
/** Held open, so that the commands share it as they do with a running gateway, and none waits for a store to start. */
let held: Database;
const check = (...args: readonly string[]): Promise<CliRun> => runCli(['check', 'policy', ...args], { cwd });

beforeAll(async () => {
  dataDir = await newDataDir();
  held = await openDatabase({ kind: 'embedded', dataDir });
  const files = { ...POLICY, 'more.yaml': MORE, 'tests.yaml': PASSING };
  cwd = await makeFolder({
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`policy/${path}`, text])),
    'records.jsonl':
      '{"family":"resource","namespace":"/labs/optics/run-7","name":"lens"}\n{"family":"resource","namespace":"/fleet/borkum/b-04","name":"blade"}\n',
  });
  expect((await runCli(['load', 'records.jsonl', '--data-dir', dataDir], { cwd })).status).toBe(0);
});

afterAll(async () => {
  await held.close();
  await rm(dataDir, { recursive: true, force: true });
});

it('names grants at missing namespaces, as lint that a level and a comment can silence', async () => {
  const run = await check('--store', '--data-dir', dataDir);
  expect([run.status, run.stderr]).toEqual([0, '']);
  expect(run.stdout).toMatch(
    /^more\.yaml:2:68 warning LINT_NAMESPACE_UNSTORED grant `slip` is at `\/labs\/optcs`, and the store has no such namespace\n.*\n {5}\| {68}\^{11}\n {2}help: did you mean `\/labs\/optics`\?\n1 warning in 5 files, 1 test passed\n$/,
  );
  const strict = await check('--store', '--strict', '--data-dir', dataDir, '--format', 'json');
  expect([strict.status, JSON.parse(strict.stdout)]).toEqual([
    3,
    expect.objectContaining({ diagnostics: [expect.objectContaining({ code: 'LINT_NAMESPACE_UNSTORED' })] }),
  ]);
  const off = await check('--store', '--level', 'LINT_NAMESPACE_UNSTORED=off', '--data-dir', dataDir);
  expect(off.stdout).toBe('no mistakes in 5 files, 1 test passed\n');
});

it('offers a namespace that the store has and no grant names', async () => {
  const slips = ['/fleet/brokum', '/fleet/brokum/b-04', '/fleet/hamburg', '/fleeet/borkum'];
  const grants = slips.map(
    (path, i) => `  - { id: g${String(i)}, identity: orcid:bo, scopes: ["*:read"], namespace: ${path} }`,
  );
  const policy = { ...POLICY, 'more.yaml': `grants:\n${grants.join('\n')}\n` };
  const folder = await makeFolder(policy);
  const run = await runCli(['check', folder, '--store', '--data-dir', dataDir, '--format', 'json'], { cwd });
  const { diagnostics } = JSON.parse(run.stdout) as { readonly diagnostics: readonly { code: string; help: string }[] };
  const helps = diagnostics.filter(({ code }) => code === 'LINT_NAMESPACE_UNSTORED').map(({ help }) => help);
  expect(helps).toEqual([
    'did you mean `/fleet/borkum`?',
    'did you mean `/fleet/borkum/b-04`?',
    'create the namespace, or remove the grant',
    'did you mean `/fleet/borkum`?',
  ]);
});

it('asks no store unless it is told to, and then one that exists', async () => {
  expect((await check()).stdout).toBe('no mistakes in 5 files, 1 test passed\n');
  const idle = await check('--data-dir', dataDir);
  expect([idle.status, idle.stderr]).toEqual([2, 'error: a store is named but not used\n  help: add `--store`\n']);
  const none = await check('--store', '--data-dir', 'nowhere');
  expect([none.status, none.stderr]).toEqual([
    6,
    `error: there is no store in \`${join(cwd, 'nowhere')}\`\n  help: name the store with \`--data-dir\` or \`--database-url\`; \`bailiwick load\` creates one\n`,
  ]);
  expect(existsSync(join(cwd, 'nowhere'))).toBe(false);
});
