// `load --dry-run`, `load --unchecked` and `export` as a user meets them.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../server/db/database.js';
import { runCli } from '../support/run-cli.js';
import { newDataDir } from '../support/stores.js';

const template = {
  family: 'resource-template',
  namespace: '/fleet',
  name: 'blade',
  id: '01900000-0000-7000-8000-000000000001',
  schema: { required: ['severity'] },
};
const inspection = {
  family: 'resource',
  namespace: '/fleet/borkum',
  name: 'b-3',
  template: template.id,
  properties: {},
};

/** Of this process, which runs the commands. */
async function openFiles(): Promise<readonly string[]> {
  const names = await readdir('/proc/self/fd');
  return Promise.all(names.map((name) => readlink(join('/proc/self/fd', name)).catch(() => '')));
}

function withoutStore(stderr: string): string {
  return stderr.replace(/^store: embedded, in .*\n/, '');
}

describe('datasets', () => {
  let cwd: string;
  let owner: Database;
  const run = (args: readonly string[], stdin = ''): ReturnType<typeof runCli> =>
    runCli([...args, '--data-dir', 'data'], { cwd, stdin });

  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'bailiwick-datasets-'));
    await rename(await newDataDir(), join(cwd, 'data'));
    await writeFile(join(cwd, 'fleet.jsonl'), `${JSON.stringify(template)}\n${JSON.stringify(inspection)}\n`);
    expect((await run(['load', '-'])).status).toBe(0);
    // Else each of the commands starts the engine again.
    owner = await openDatabase({ kind: 'embedded', dataDir: join(cwd, 'data') });
  });
  afterAll(async () => {
    await owner.close();
    await rm(cwd, { recursive: true, force: true });
  });

  it.each([['export'], ['keys', 'list'], ['keys', 'revoke', '4h7t2m9xk3q8w5zc'], ['load', 'fleet.jsonl', '--dry-run']])(
    'are not read from a store that is not there, and none is made: %s %s',
    async (...verb) => {
      const { status, stdout, stderr } = await runCli([...verb, '--data-dir', 'nowhere'], { cwd });
      expect([status, stdout, stderr]).toEqual([
        6,
        '',
        `error: there is no store in \`${join(cwd, 'nowhere')}\`\n  help: name the store with \`--data-dir\` or \`--database-url\`; \`bailiwick load\` creates one\n`,
      ]);
      expect(existsSync(join(cwd, 'nowhere'))).toBe(false);
    },
  );

  it('are closed again where the store cannot be used', async () => {
    // A file that is left to Node to close is told to users, as a warning of Node's.
    expect((await runCli(['load', 'fleet.jsonl', '--data-dir', 'fleet.jsonl'], { cwd })).status).toBe(6);
    const dataset = join(cwd, 'fleet.jsonl');
    for (let looks = 0; looks < 20 && (await openFiles()).includes(dataset); looks += 1) await sleep(5);
    expect(await openFiles()).not.toContain(dataset);
  });

  it.each([
    ['on one line', `${JSON.stringify([inspection])}\n`],
    ['over many lines', `${JSON.stringify([inspection], null, 1)}\n`],
  ])('are lines, and an array %s is told how to become some', async (_, text) => {
    const { status, stderr } = await run(['load', '-', '--dry-run'], text);
    expect([status, stderr.split('\n')[1]]).toEqual([
      2,
      "-:1: request.schema begins an array: a dataset has one object a line; `jq -c '.[]'` converts an array",
    ]);
  });

  it('are not read on where the first line only begins something', async () => {
    const array = await run(['load', '-', '--dry-run'], `${JSON.stringify([inspection], null, 1)}\n`);
    expect([array.stderr.split('\n').length, array.stdout.split('\n')[0]]).toEqual([
      3,
      '1 line: 0 would be loaded, 1 bad line skipped',
    ]);
    const object = await run(['load', '-', '--dry-run'], `${JSON.stringify(inspection, null, 2)}\n`);
    expect([object.status, withoutStore(object.stderr)]).toEqual([
      2,
      '-:1: request.schema begins an object that ends on another line: a dataset has one object a line; `jq -c .` puts it on one\n',
    ]);
    const later = await run(['load', '-', '--dry-run'], `\uFEFF\n \n${JSON.stringify([inspection], null, 1)}\n`);
    expect(withoutStore(later.stderr)).toBe(
      "-:3: request.schema begins an array: a dataset has one object a line; `jq -c '.[]'` converts an array\n",
    );
    const begun = await run(
      ['load', '-', '--dry-run'],
      `[${JSON.stringify(inspection)},\n${JSON.stringify(inspection)}]\n`,
    );
    expect(begun.stderr.split('\n').length).toBe(3);
    const broken = await run(['load', '-', '--dry-run'], '\n{"a":1,}\n');
    expect(withoutStore(broken.stderr)).toBe(
      '-:2: request.malformed not JSON: a key in double quotes is expected at column 8\n',
    );
  });

  it('are tried, loaded unchecked with a warning, exported and loaded again', async () => {
    const tried = await run(['load', 'fleet.jsonl', '--dry-run']);
    expect(tried.status).toBe(2);
    expect(withoutStore(tried.stderr)).toBe(
      'fleet.jsonl:2: record.invalid /properties/severity: is required by the template\n',
    );
    expect(tried.stdout).toBe(
      '2 lines: 1 would be loaded, 1 namespace would be created, 1 bad line skipped\ndry run: nothing was stored\n',
    );
    expect((await run(['export'])).stdout).toBe('');

    const unchecked = await run(['load', 'fleet.jsonl', '--unchecked', '--format', 'json']);
    expect(unchecked.status).toBe(0);
    expect(withoutStore(unchecked.stderr)).toMatch(/^warning: --unchecked: schemas of templates were not checked/);
    expect(JSON.parse(unchecked.stdout)).toMatchObject({ ok: true, loaded: 2, bad: 0, dryRun: false });

    const exported = await run(['export']);
    expect(exported.status).toBe(0);
    expect(exported.stdout.split('\n').map((line) => (line === '' ? null : (JSON.parse(line) as object)))).toEqual([
      expect.objectContaining(template),
      expect.objectContaining(inspection),
      null,
    ]);
    expect((await run(['load', '-', '--unchecked'], exported.stdout)).stdout).toBe('2 lines: 0 loaded, 2 unchanged\n');
  });
});
