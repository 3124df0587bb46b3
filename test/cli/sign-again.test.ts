// A second signer: a statement that somebody else has signed gets another signature, is left alone, or is replaced
// explicitly.
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it, test } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

type Ran = CliRun & { readonly json: () => Readonly<Record<string, unknown>> };

let cwd: string;
const at = (name: string): string => join(cwd, name);

async function run(...args: readonly string[]): Promise<Ran> {
  const ran = await runCli(args, { cwd });
  return { ...ran, json: () => JSON.parse(ran.stdout) as Readonly<Record<string, unknown>> };
}

const FOR = ['--environment', 'production', '--generation', '7', '--expires', '2999-01-01T00:00:00Z'];

beforeAll(async () => {
  cwd = await makeFolder(Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`policy/${path}`, text])));
  await run('compile', 'policy', '-o', 's.json');
  const keys = await Promise.all(
    ['ana', 'ben'].map(async (name) => {
      const { stdout } = await run('keygen', '-o', `${name}.key`);
      return stdout.slice(stdout.indexOf('  - name:'));
    }),
  );
  // As keygen prints them: the keys of two files have two names.
  await writeFile(at('two.yaml'), `threshold: 2\nkeys:\n${keys.join('')}`);
  await run('sign', 's.json', '--key', 'ana.key', ...FOR, '-o', 'ana.dsse.json');
});

const later = [...FOR.slice(0, -1), '2999-07-01T00:00:00Z'];
const again = (name: string, ...args: readonly string[]): Promise<Ran> =>
  run('sign', 's.json', '--key', 'ben.key', '-o', name, ...args);

beforeEach(async () => {
  for (const name of ['next', 'add']) await copyFile(at('ana.dsse.json'), at(`${name}.dsse.json`));
});

it('leaves the signatures of others alone: says what differs and the two ways out', async () => {
  const before = await readFile(at('next.dsse.json'), 'utf8');
  const ran = await again('next.dsse.json', ...later);
  expect(ran).toMatchObject({ status: 6, stdout: '' });
  expect(ran.stderr).toBe(
    [
      'error: `next.dsse.json` already states other values, and has 1 signature',
      'expires: there 2999-01-01T00:00:00.000Z, now 2999-07-01T00:00:00.000Z',
      '  help: to sign what it says, `--add next.dsse.json`; to replace it with yours, `--replace`',
      '',
    ].join('\n'),
  );
  const told = await again('next.dsse.json', ...later, '--issued', '2990-01-01T00:00:00Z', '--format', 'json');
  expect([told.status, told.json()]).toEqual([
    6,
    expect.objectContaining({
      error: { code: 'statement.differs', message: expect.any(String) },
      differences: [
        { field: 'issued', there: expect.any(String), asked: '2990-01-01T00:00:00.000Z' },
        { field: 'expires', there: '2999-01-01T00:00:00.000Z', asked: '2999-07-01T00:00:00.000Z' },
      ],
    }),
  ]);
  expect(await readFile(at('next.dsse.json'), 'utf8')).toBe(before);
});

it('says each value that differs in a line of its own', async () => {
  const { stderr } = await again('next.dsse.json', ...later, '--issued', '2990-01-01T00:00:00Z');
  expect(stderr).toMatch(/\nissued: there .*\nexpires: there .*\n {2}help: /);
});

it('replaces it with `--replace`, and says so', async () => {
  const ran = await again('next.dsse.json', ...later, '--replace', '--format', 'json');
  expect(ran.json()).toMatchObject({ change: 'replaced', statement: { expires: '2999-07-01T00:00:00.000Z' } });
  expect((ran.json()['signatures'] as unknown[]).length).toBe(1);
});

it('takes every field from it with `--add`', async () => {
  const ran = await run('sign', 's.json', '--key', 'ben.key', '--add', 'add.dsse.json', '--format', 'json');
  expect(ran.json()).toMatchObject({
    file: 'add.dsse.json',
    change: 'added',
    statement: { generation: 7, expires: '2999-01-01T00:00:00.000Z' },
  });
  const verified = await run(
    'verify',
    's.json',
    '--keyring',
    'two.yaml',
    '--statement',
    'add.dsse.json',
    '--format',
    'json',
  );
  expect(verified.json()).toMatchObject({ ok: true });
});

test.each([
  [
    'a field beside `--add`',
    2,
    ['--add', 'add.dsse.json', '--generation', '7'],
    /`--add <statement>` cannot be used with `--generation/,
  ],
  ['no field and no `--add`', 2, ['--generation', '7'], /`--environment`, `--expires`\n.*`--add <statement>`/],
  ['to add to what is not there', 2, ['--add', 'none.json'], /`none.json` does not exist/],
  ['to add to what is no statement', 8, ['--add', 's.json'], /is not a signed statement/],
])('refuses %s', async (_name, status, args, words) => {
  const ran = await run('sign', 's.json', '--key', 'ben.key', ...args);
  expect([ran.status, ran.stderr]).toEqual([status, expect.stringMatching(words)]);
});

it('adds nothing to a statement about another snapshot, nor to one of another version', async () => {
  const other = await makeFolder({
    'p/policy.yaml': POLICY['policy.yaml'],
    'p/roles.yaml': POLICY['roles.yaml'],
  });
  await run('compile', join(other, 'p'), '-o', 'changed.json');
  const ran = await run('sign', 'changed.json', '--key', 'ben.key', '--add', 'add.dsse.json');
  expect([ran.status, ran.stderr]).toEqual([
    6,
    expect.stringMatching(/ is a statement about another snapshot\nsnapshot: there /),
  ]);
  const flags = await run('sign', 'changed.json', '--key', 'ben.key', ...FOR, '-o', 'add.dsse.json');
  expect([flags.status, flags.stderr]).toEqual([6, expect.stringContaining('to keep it, name another file with')]);
  const payload = Buffer.from('{}').toString('base64');
  await writeFile(at('add.dsse.json'), JSON.stringify({ payloadType: 'application/json', payload, signatures: [] }));
  expect((await run('sign', 's.json', '--key', 'ben.key', '--add', 'add.dsse.json')).status).toBe(8);
  expect((await again('add.dsse.json', ...FOR)).status).toBe(6);
});
