// Evidence of a log whose older files were archived: it has the events of those, or says that they were not read.
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from '@jest/globals';
import { unzipSync } from 'fflate';
import { instantOf } from '../../engine/index.js';
import { GATEWAY } from '../../server/audit/event.js';
import { archiveLog, eventOf, writerOf } from '../support/audit-log.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

let cwd: string;
const file = (name: string): string => join(cwd, name);
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });

/** The policy was put in force by the events 7 and 17, and another one by those around them. */
const TURNS = new Map([1, 7, 12, 17].map((n, index) => [n, index % 2 === 0 ? 'old.json' : 'new.json']));

beforeEach(async () => {
  cwd = await makeFolder();
  const more = 'grants:\n  - { id: more, role: staff, namespace: /labs/lasers, scopes: [resource:read] }\n';
  for (const [name, files] of Object.entries({ old: POLICY, new: { ...POLICY, 'more.yaml': more } })) {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(file(`${name}/${path}`)), { recursive: true });
      writeFileSync(file(`${name}/${path}`), text);
    }
    expect(await run('compile', name, '-o', `${name}.json`)).toMatchObject({ status: 0 });
  }
  expect(await run('keygen', '-o', 'log.key')).toMatchObject({ status: 0 });
  mkdirSync(file('log'));
  const writer = writerOf(file('log'), { fileBytes: 1_500 });
  for (let n = 1; n <= 22; n += 1) {
    const name = TURNS.get(n);
    const turn = { kind: 'admin', actor: GATEWAY, operation: 'policy.activate', outcome: 'allowed' } as const;
    const snapshot = name === undefined ? '' : `sha256:${hash('sha256', readFileSync(file(name)), 'hex')}`;
    writer.add(eventOf(n, name === undefined ? {} : { ...turn, snapshot }));
    await writer.sync();
  }
  await writer.close();
});

const gather = (...args: readonly string[]): Promise<CliRun> =>
  run('evidence', 'new.json', '--log', 'log', '--base', 'old.json', ...args, '-o', 'evidence.zip');

/** What the file says is missing, beside what was not given here, and the numbers of the events in it. */
async function gathered(...args: readonly string[]): Promise<readonly [readonly string[], readonly number[]]> {
  const { status, stdout } = await gather(...args);
  expect(status).toBe(6);
  const missing = stdout
    .split('\n')
    .filter((line) => line.startsWith('missing: ') && !/statement|attestation/.test(line));
  const { 'log/activations.jsonl': lines = Buffer.of() } = unzipSync(readFileSync(file('evidence.zip')));
  const seqs = [
    ...Buffer.from(lines)
      .toString()
      .matchAll(/"seq":(\d+)/g),
  ].map(([, seq]) => Number(seq));
  return [missing, seqs];
}

it.each([
  ['one of them', instantOf(9_000)],
  ['all of them', instantOf(Date.now())],
])('has the events of archived files, too, with a proof of each, where these have %s', async (_, before) => {
  const key = ['--key', 'log.key'];
  expect(await gathered(...key)).toEqual([[], [7, 17]]);
  const archive = await archiveLog(file('log'), before);
  expect(await gathered(...key, '--archive', archive)).toEqual([[], [7, 17]]);
  for (const [name, bytes] of Object.entries(unzipSync(readFileSync(file('evidence.zip'))))) {
    mkdirSync(dirname(file(`out/${name}`)), { recursive: true });
    writeFileSync(file(`out/${name}`), bytes);
  }
  const { stdout } = spawnSync('python3', [file('out/check.py')], { encoding: 'utf8' });
  expect(stdout).not.toMatch(/FALSE|missing: (?:when|proofs)/);
});

it('says that files were not read, and not that there are no such events', async () => {
  const archive = await archiveLog(file('log'), instantOf(9_000));
  const unread = 'missing: when else it was put in force: older files of the log testlog were not read';
  const unsigned = expect.stringContaining('missing: a checkpoint of the log');
  expect(await gathered()).toEqual([[`${unread}; name their folder with --archive`, unsigned], [17]]);
  const list = readFileSync(file('log/archived.sha256'));
  rmSync(file('log/archived.sha256'));
  expect(await gathered('--archive', archive)).toEqual([
    [`${unread}; archived.sha256 does not list them`, unsigned],
    [17],
  ]);
  writeFileSync(file('log/archived.sha256'), list);
  await archiveLog(file('log'));
  expect(await gathered()).toEqual([[`${unread}; name their folder with --archive`], []]);
  const { 'README.md': page = Buffer.of() } = unzipSync(readFileSync(file('evidence.zip')));
  expect(Buffer.from(page).toString()).toContain('The files of the log that were read have no such event.');
});

it('is not made where the archive is not as it is listed', async () => {
  const archive = await archiveLog(file('log'));
  const [first = ''] = readdirSync(archive);
  const bytes = readFileSync(join(archive, first), 'utf8');
  writeFileSync(join(archive, first), bytes.replace('400', '200'));
  const changed = await gather('--archive', archive);
  expect([changed.status, changed.stderr]).toEqual([8, expect.stringContaining('it does not have the digest in')]);
  rmSync(join(archive, first));
  const gone = await gather('--archive', archive);
  expect([gone.status, gone.stderr]).toEqual([8, expect.stringContaining('is not there')]);
});
