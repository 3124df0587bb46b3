// The policy that a start is offered is given away once: a large one that is not served must not stay in memory.
import { describe, expect, it } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { policyAtStart, startServing } from '../../server/cli/policy-at-start.js';
import { loadConfig } from '../../server/config/index.js';
import { openDatabase } from '../../server/db/database.js';
import { systemClock as clock } from '../../server/lib/ports.js';
import { isDiskStuck } from '../../server/lib/stuck-disk.js';
import { startPolicy } from '../../server/policy/active/start-policy.js';
import { sha256Of } from '../../server/policy/open/snapshot-bytes.js';
import { tableFile } from '../../server/policy/open/table-file.js';
import { makeIo } from '../support/cli-io.js';
import { collectGarbage } from '../support/collect-garbage.js';
import { snapshotOf } from '../support/gateway.js';
import { keptLog } from '../support/kept-log.js';
import { hangOnOpening, slowDown } from '../support/hung-files.js';
import { makeRepository, PROGRAMS } from '../support/git-repository.js';
import { makeSigner, ruleIn } from '../support/publisher.js';
import { startPolicyServer } from '../support/policy-server.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const MEBIBYTES = 32;
const BYTES = Buffer.alloc(MEBIBYTES * 2 ** 20, 'x');

async function held(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    collectGarbage();
    await sleep(50);
  }
  return process.memoryUsage().arrayBuffers / 2 ** 20;
}

it('keeps nothing of an offer with a kept table whose statement cannot be checked', async () => {
  const [cwd, server] = [await makeFolder(), await startPolicyServer()];
  const tables = join(cwd, 'tables');
  mkdirSync(tables);
  writeFileSync(tableFile(tables, sha256Of(BYTES)), '');
  server.put('/snapshot.json', BYTES);
  const url = `http://127.0.0.1:${String(server.port)}/snapshot.json`;
  const signed = { requireSignature: true, keyringFile: 'keyring.json', environment: 'production' };
  const snapshot = { ...signed, tableFolder: 'tables', source: { url } };
  writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ snapshot }));
  const config = await loadConfig({ flags: {}, env: {}, cwd });
  const before = await held();
  const found = await policyAtStart(makeIo({ cwd }).io, config, undefined);
  expect((await held()) - before).toBeGreaterThan(MEBIBYTES - 1);
  expect(await found.takeOffered(null)).toMatchObject({ without: { code: 'file.not_found' } });
  expect((await held()) - before).toBeLessThan(1);
  expect(found.source).not.toBeNull();
  await server.stop();
}, 60_000);

it('says in the log that the copy of a git source could not be removed', async () => {
  const [cwd, { path: repository, commit }] = [
    await makeFolder({ file: '', 'temporary/kept': '' }),
    await makeRepository(),
  ];
  commit({ 'policy.yaml': 'bailiwick: 1\nname: copied\nproviders:\n  orcid: {}\n' });
  writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ snapshot: { source: { git: repository } } }));
  const config = await loadConfig({ flags: {}, env: {}, cwd });
  const [link, folder] = [join(cwd, 'link'), join(cwd, 'temporary')];
  symlinkSync(folder, link);
  const before = tmpdir();
  process.env['TMPDIR'] = link;
  const made = makeIo({ cwd, env: { PATH: PROGRAMS } });
  const finding = policyAtStart(made.io, config, undefined);
  const isCopied = (): boolean =>
    readdirSync(folder)
      .map((name) => join(folder, name, 'policy.yaml'))
      .some((copy) => existsSync(copy) && statSync(copy).size > 0);
  await until(isCopied);
  // From here on the way to the copy leads nowhere.
  rmSync(link);
  symlinkSync(join(cwd, 'file'), link);
  await finding;
  process.env['TMPDIR'] = before;
  expect(made.stderr()).toContain('what an offer occupied could not be removed');
});

it('ends with a status to try again at where nothing was published yet', async () => {
  const [cwd, { path: git }] = [await makeFolder({ 'empty/.keep': '' }), await makeRepository()];
  for (const source of [{ git, ref: 'refs/heads/later' }, { directory: join(cwd, 'empty') }]) {
    writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ snapshot: { source } }));
    const config = await loadConfig({ flags: {}, env: {}, cwd });
    const found = await policyAtStart(makeIo({ cwd, env: { PATH: PROGRAMS } }).io, config, undefined);
    expect(await found.takeOffered(null)).toMatchObject({ without: { status: 10, code: 'source.missing' } });
  }
});

describe('does not wait for good, and says what to do,', () => {
  /** A start from this policy, in a folder with a signed snapshot, a folder of policy and a keyring. */
  async function startOf(policy: string): Promise<{ readonly cwd: string; readonly started: () => Promise<unknown> }> {
    const cwd = await makeFolder({
      'policy/policy.yaml': 'bailiwick: 1\nname: hung\nproviders:\n  orcid: {}\n',
      'policy/grants.yaml': 'grants: []\n',
      'policy/z/.other/file.yaml': 'not policy\n',
    });
    ruleIn(cwd, [makeSigner()]);
    const { bytes } = snapshotOf([[{ provider: 'orcid', subject: 'ada' }, '/', ['resource:read']]]);
    writeFileSync(join(cwd, 'snapshot.json'), bytes);
    const signed = { requireSignature: true, keyringFile: 'keyring.yaml', environment: 'production' };
    const snapshot = policy === 'snapshot.json' ? signed : {};
    writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ policy, snapshot }));
    const config = await loadConfig({ flags: {}, env: {}, cwd });
    return { cwd, started: () => policyAtStart(makeIo({ cwd }).io, config, undefined) };
  }

  it.each([
    ['keyring', 'keyring.yaml', 'name a keyring on another one'],
    ['statement', 'snapshot.json.dsse.json', 'serve a copy on another one'],
  ])(
    'where the disk of the %s hangs',
    async (_, name, instead) => {
      const { cwd, started } = await startOf('snapshot.json');
      const path = join(cwd, name);
      const free = hangOnOpening(path);
      try {
        await expect(started()).rejects.toMatchObject({
          code: 'file.unreadable',
          message: `\`${path}\` was not read in time: its disk does not answer`,
          detail: { help: expect.stringContaining(`this disk, or ${instead}`) },
        });
        // Else the thread that waits for it would keep the process.
        expect(isDiskStuck()).toBe(true);
      } finally {
        free();
      }
    },
    30_000,
  );

  const SILENT = 'cannot be read (no answer within 10 seconds)';
  it.each([
    [
      'snapshot',
      'snapshot.json',
      'snapshot.json',
      { code: 'cli.unreadable', detail: { help: expect.stringContaining('on another one') } },
    ],
    [
      'file of a folder of policy',
      'policy',
      'policy/grants.yaml',
      { code: 'policy.invalid', detail: { text: expect.stringContaining(SILENT) } },
    ],
    [
      'file that would be left aside',
      'policy',
      'policy/z/.other/file.yaml',
      { code: 'cli.unreadable', message: expect.stringContaining(SILENT) },
    ],
  ])(
    'where that of a %s does',
    async (_, policy, hung, refused) => {
      const { cwd, started } = await startOf(policy);
      const free = hangOnOpening(join(cwd, hung));
      try {
        await expect(started()).rejects.toMatchObject(refused);
      } finally {
        free();
      }
    },
    30_000,
  );

  it('where that of a directory store does', async () => {
    const cwd = await makeFolder({ 'published/current.json': '{}' });
    const directory = join(cwd, 'published');
    writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ snapshot: { source: { directory } } }));
    const config = await loadConfig({ flags: {}, env: {}, cwd });
    const free = hangOnOpening(join(directory, 'current.json'));
    try {
      const { takeOffered } = await policyAtStart(makeIo({ cwd }).io, config, undefined);
      expect(await takeOffered(null)).toMatchObject({
        without: {
          code: 'source.unreadable',
          message: `the policy of \`${directory}\` is not served: its disk does not answer (no answer within 10 seconds)`,
        },
      });
    } finally {
      free();
    }
  }, 30_000);
});

it('waits for a disk that is slow, and answers', async () => {
  const text = `bailiwick: 1\nname: slow\nproviders:\n  orcid: {}\n# ${'x'.repeat(200_000)}\n`;
  const cwd = await makeFolder({ 'policy/policy.yaml': text });
  writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ policy: 'policy' }));
  const config = await loadConfig({ flags: {}, env: {}, cwd });
  const undo = slowDown(join(cwd, 'policy/policy.yaml'), 3_000);
  try {
    const { takeOffered } = await policyAtStart(makeIo({ cwd }).io, config, undefined);
    expect(await takeOffered(null)).toMatchObject({ policy: { name: 'slow' } });
  } finally {
    undo();
  }
}, 60_000);

it('reads a pipe whose writer waits, also where tables are kept', async () => {
  const cwd = await makeFolder();
  const [tables, pipe] = [join(cwd, 'tables'), join(cwd, 'pipe')];
  mkdirSync(tables);
  writeFileSync(tableFile(tables, sha256Of(BYTES)), '');
  const { bytes } = snapshotOf([[{ provider: 'orcid', subject: 'ada' }, '/', ['resource:read']]], 'piped');
  writeFileSync(join(cwd, 'snapshot.json'), bytes);
  writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ policy: 'pipe', snapshot: { tableFolder: tables } }));
  const config = await loadConfig({ flags: {}, env: {}, cwd });
  execFileSync('mkfifo', [pipe]);
  const writer = spawn('sh', ['-c', 'cat snapshot.json > pipe'], { cwd });
  try {
    await sleep(500);
    const { takeOffered } = await policyAtStart(makeIo({ cwd }).io, config, undefined);
    expect(await takeOffered(null)).toMatchObject({ policy: { name: 'piped' } });
  } finally {
    writer.kill();
  }
});

it('puts nothing in force that its source has replaced since it was read', async () => {
  const [cwd, server] = [await makeFolder(), await startPolicyServer()];
  const [old, changed] = ['/old', '/changed'].map((namespace) =>
    snapshotOf([[{ provider: 'orcid', subject: 'ada' }, namespace, ['resource:read']]], 'at-once'),
  );
  if (old === undefined || changed === undefined) throw new TypeError('unreachable');
  const url = `http://127.0.0.1:${String(server.port)}/snapshot.json`;
  for (const settings of [{ policy: 'snapshot.json' }, { snapshot: { source: { url, privateNetwork: true } } }]) {
    const put = ({ bytes }: typeof old): void => {
      writeFileSync(join(cwd, 'snapshot.json'), bytes);
      server.put('/snapshot.json', Buffer.from(bytes));
    };
    writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify(settings));
    const db = await openDatabase({ kind: 'embedded', dataDir: await newDataDir(), ...PATIENT });
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    put(old);
    const config = await loadConfig({ flags: {}, env: {}, cwd });
    const found = await policyAtStart(makeIo({ cwd }).io, config, undefined);
    put(changed);
    const from = { kind: 'file', path: cwd } as const;
    const offered = { ...changed, statement: null, labels: 'verified', from } as const;
    await startPolicy({ db, offered, rule: null, clock });
    const start = await startServing({ db, found, rule: null, clock, log });
    expect([start.candidate.policy.digest, start.generation]).toEqual([changed.policy.digest, 1]);
    expect(await start.source?.look('poll', new AbortController().signal)).toEqual({ kind: 'same' });
    await db.close();
  }
  await server.stop();
}, 60_000);

it('begins with the first policy that a store gets although its source does not answer a second time', async () => {
  const [cwd, server] = [await makeFolder(), await startPolicyServer()];
  const { bytes, policy } = snapshotOf([[{ provider: 'orcid', subject: 'ada' }, '/', ['resource:read']]]);
  const url = `http://127.0.0.1:${String(server.port)}/snapshot.json`;
  writeFileSync(join(cwd, 'bailiwick.yaml'), JSON.stringify({ snapshot: { source: { url, privateNetwork: true } } }));
  server.put('/snapshot.json', Buffer.from(bytes));
  const config = await loadConfig({ flags: {}, env: {}, cwd });
  const found = await policyAtStart(makeIo({ cwd }).io, config, undefined);
  server.misbehave((_, response) => response.destroy());
  const db = await openDatabase({ kind: 'embedded', dataDir: await newDataDir(), ...PATIENT });
  const start = await startServing({ db, found, rule: null, clock, log: keptLog([]) });
  expect([start.candidate.policy.digest, start.generation]).toEqual([policy.digest, 1]);
  await db.close();
  await server.stop();
}, 60_000);
