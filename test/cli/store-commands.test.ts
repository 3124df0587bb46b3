// migrate and load as a user runs them, on the embedded store: reports, bad lines by number, and running twice.
import { mkdirSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../server/db/database.js';
import { runCli, spawnCli } from '../support/run-cli.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const LINES = [
  '{"family":"namespace","namespace":"/labs","description":"all labs"}',
  '{"family":"resource","namespace":"/labs/optics","name":"lens"}',
  '{"family":"resource","namespace":"/labs/optics","name":"mirror","properties":{"rank":3}}',
];

const BAD = ['{"family":"resource"', '', '{"family":"resource","namespace":"/a","name":"x","colour":"red"}'];

describe('on one store', () => {
  // One store for all, which this process owns from the second run on: a start of the embedded engine takes a second or two.
  test('migrate twice, load twice, bad lines, --replace', async () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8057';
    const given = (name: string): string => JSON.stringify({ family: 'resource', namespace: '/a', id, name });
    const cwd = await makeFolder({
      'records.jsonl': `${[...LINES, given('one')].join('\n')}\n`,
      'again.jsonl': [LINES[0], ...BAD, LINES[1], given('two')].join('\n'),
    });

    await rename(await newDataDir('empty'), join(cwd, '.bailiwick'));

    const first = await runCli(['migrate', '--format', 'json'], { cwd });
    const store = `store: embedded, in ${join(cwd, '.bailiwick')}\n`;
    expect([first.status, first.stderr]).toEqual([0, store]);
    const { applied } = JSON.parse(first.stdout) as { applied: string[] };
    expect(applied.length).toBeGreaterThan(0);
    expect(applied).toEqual([...applied].sort());
    const owner = await openDatabase({ kind: 'embedded', dataDir: join(cwd, '.bailiwick') });
    expect(await runCli(['migrate'], { cwd })).toEqual({
      status: 0,
      stdout: 'the store is up to date\n',
      stderr: store,
    });
    const nothing = { status: 0, stdout: 'k3v9m2xqwe: 0 events released\n', stderr: store };
    expect(await runCli(['audit', 'release', '--lost', 'k3v9m2xqwe'], { cwd })).toEqual(nothing);

    const loaded = await runCli(['load', 'records.jsonl', '--format', 'json'], { cwd });
    expect([loaded.status, loaded.stderr]).toEqual([0, store]);
    expect(JSON.parse(loaded.stdout)).toEqual({
      ok: true,
      dryRun: false,
      lines: 4,
      loaded: 4,
      replaced: 0,
      unchanged: 0,
      bad: 0,
      implied: 2,
      faults: [],
    });

    const again = await runCli(['load', 'again.jsonl', '--format', 'json'], { cwd });
    expect(again.status).toBe(2);
    expect(
      again.stderr
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['store:', 'again.jsonl:2:', 'again.jsonl:4:', 'again.jsonl:6:']);
    const report = JSON.parse(again.stdout) as { faults: { line: number }[] };
    expect(report).toMatchObject({
      ok: false,
      lines: 5,
      loaded: 0,
      unchanged: 2,
      bad: 3,
      error: { code: 'load.bad_lines', message: '3 bad lines skipped' },
    });
    expect(report.faults.map((fault) => fault.line)).toEqual([2, 4, 6]);

    expect(await spawnCli(['load', '-', '--replace'], { cwd, stdin: `${given('two')}\n${LINES[2] ?? ''}` })).toEqual({
      status: 0,
      stdout: '2 lines: 0 loaded, 1 replaced, 1 unchanged\n',
      stderr: store,
    });
    await owner.close();
  });

  test('a missing dataset is exit 2, and no store is made for it', async () => {
    const cwd = await makeFolder();
    const run = await runCli(['load', 'nothing.jsonl'], { cwd });
    expect(run).toEqual({ status: 2, stdout: '', stderr: 'error: `nothing.jsonl` does not exist\n' });
    expect(() => {
      mkdirSync(join(cwd, '.bailiwick'));
    }).not.toThrow();
  });
});

describe('start-up failures print no secret', () => {
  const CANARY = 'hunter2-canary';
  test.each([
    ['a malformed URL', { DATABASE_URL: `postgres//u:${CANARY}@127.0.0.1/x` }, 2],
    ['another database', { DATABASE_URL: `mysql://u:${CANARY}@127.0.0.1/x` }, 2],
    ['a port that is none', { DATABASE_URL: `postgres://u:${CANARY}@127.0.0.1:99999999/x` }, 2],
    ['nobody there', { DATABASE_URL: `postgres://u:${CANARY}@127.0.0.1:9/x` }, 10],
    [
      'two that differ',
      { DATABASE_URL: `postgres://u:${CANARY}@a/x`, BAILIWICK_DATABASE_URL: `postgres://u:${CANARY}@b/x` },
      2,
    ],
  ])('%s', async (_name, env, status) => {
    const cwd = await makeFolder();
    for (const more of [{}, { BAILIWICK_DEBUG: '1' }]) {
      const run = await runCli(['migrate', '--format', 'json'], { cwd, env: { ...env, ...more } });
      expect(run.status).toBe(status);
      expect(JSON.parse(run.stdout)).toMatchObject({ error: { code: expect.any(String) } });
      expect(run.stdout + run.stderr).not.toContain(CANARY);
    }
  });
});
