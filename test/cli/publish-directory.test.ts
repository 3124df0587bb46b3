// publish --to: what gateways take from a directory store, as a publisher puts it there, and what may not follow what is there.
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';
import { runIn, type Ran } from './verb-table.js';

let cwd: string;
let store: string;
let count = 0;

const run = (...args: readonly string[]): Promise<Ran> => runIn(cwd, args);
const publish = (snapshot: string, ...args: readonly string[]): Promise<Ran> =>
  run('publish', snapshot, '--to', store, ...args);
const at = (...names: readonly string[]): string => join(cwd, store, ...names);
const pointed = (): Readonly<Record<string, unknown>> =>
  JSON.parse(readFileSync(at('current.json'), 'utf8')) as Readonly<Record<string, unknown>>;

async function sign(snapshot: string, generation: number, environment = 'production'): Promise<void> {
  const flags = ['--environment', environment, '--generation', String(generation), '--expires', '2999-01-01T00:00:00Z'];
  const { status } = await run('sign', snapshot, '--key', 'ana.key', '--replace', ...flags);
  expect(status).toBe(0);
}

beforeAll(async () => {
  const grants = POLICY['grants/optics.yaml'];
  const folder = (name: string, files: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`${name}/${path}`, text]));
  cwd = await makeFolder({
    ...folder('policy', POLICY),
    ...folder('next', {
      ...POLICY,
      'grants/optics.yaml': grants.replace(/^( +)scopes: .*/m, '$1scopes: [resource:write]'),
    }),
    ...folder('other', {
      ...POLICY,
      'policy.yaml': POLICY['policy.yaml'].replace(/^name: .*/m, 'name: other'),
    }),
  });
  for (const name of ['policy', 'next', 'other'])
    expect((await run('compile', name, '-o', `${name}.json`)).status).toBe(0);
  await run('keygen', '-o', 'ana.key');
});
beforeEach(() => {
  store = `store-${String((count += 1))}`;
});

it('puts a snapshot there under its digest, whole, and points to it', async () => {
  const { status, stdout } = await publish('policy.json', '--format', 'json');
  expect(status).toBe(0);
  const told = JSON.parse(stdout) as { readonly snapshot: string };
  const hex = told.snapshot.slice('sha256:'.length);
  expect(told).toMatchObject({ directory: store, change: 'published', statement: null });
  expect(pointed()).toMatchObject({ snapshot: told.snapshot, statement: null });
  expect(readFileSync(at('snapshots', `${hex}.json`))).toEqual(readFileSync(join(cwd, 'policy.json')));
  expect(statSync(at('snapshots', `${hex}.json`)).mode & 0o777).toBe(0o644);
  expect((await publish('policy.json')).stdout).toMatch(/^unchanged in store-/);
  expect((await publish('next.json')).stdout).toMatch(/^published to store-/);
  expect(readdirSync(at('snapshots'))).toHaveLength(2);
});

it('brings the statement beside it, or the one that is named', async () => {
  await sign('policy.json', 3);
  const { stdout } = await publish('policy.json', '--format', 'json');
  expect(JSON.parse(stdout)).toMatchObject({ statement: { environment: 'production', generation: 3 } });
  renameSync(join(cwd, 'policy.json.dsse.json'), join(cwd, 'moved.json'));
  const unsigned = await publish('policy.json');
  expect(unsigned).toMatchObject({ status: 6, stderr: expect.stringContaining('what is published there is signed') });
  expect((await publish('policy.json', '--statement', 'moved.json')).stdout).toMatch(/^unchanged/);
  expect(await publish('policy.json', '--statement', 'none.json')).toMatchObject({ status: 2 });
  expect(await publish('next.json', '--statement', 'moved.json')).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('a statement about another snapshot'),
  });
});

it('refuses what gateways would refuse: an older generation, another policy, another environment', async () => {
  await sign('policy.json', 3);
  expect((await publish('policy.json')).status).toBe(0);
  const before = pointed();
  await sign('next.json', 3);
  expect(await publish('next.json')).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('is not later than 3, which was accepted before'),
  });
  await sign('next.json', 4, 'staging');
  expect(await publish('next.json')).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('is for `production`'),
  });
  await sign('other.json', 4);
  expect(await publish('other.json')).toMatchObject({ status: 6, stderr: expect.stringContaining('this is `other`') });
  expect(pointed()).toEqual(before);
  await sign('next.json', 4);
  expect((await publish('next.json')).status).toBe(0);
});

it('publishes no folder, nothing damaged, and no expired statement', async () => {
  expect(await publish('policy')).toMatchObject({ status: 2, stderr: expect.stringContaining('compile it first') });
  const flags = ['--environment', 'production', '--generation', '1', '--issued', '2020-01-01T00:00:00Z'];
  await run('sign', 'other.json', '--key', 'ana.key', '--replace', ...flags, '--expires', '2020-02-01T00:00:00Z');
  expect(await publish('other.json')).toMatchObject({ status: 9 });
  truncateSync(join(cwd, 'other.json'), 100);
  expect(await publish('other.json')).toMatchObject({ status: 8 });
});

it('follows no link that somebody has put into the store, and mends what was damaged there', async () => {
  expect((await publish('policy.json')).status).toBe(0);
  const [name = ''] = readdirSync(at('snapshots'));
  truncateSync(at('snapshots', name), 10);
  expect((await publish('policy.json')).stdout).toMatch(/^unchanged/);
  expect(readFileSync(at('snapshots', name))).toEqual(readFileSync(join(cwd, 'policy.json')));
  renameSync(at('current.json'), at('elsewhere.json'));
  symlinkSync('elsewhere.json', at('current.json'));
  const linked = await publish('next.json');
  expect(linked).toMatchObject({ status: 2, stderr: expect.stringContaining('is a symbolic link') });
  expect(pointed()).toMatchObject({ policy: expect.any(String) });
});

it('says what is in the way', async () => {
  mkdirSync(at(), { recursive: true });
  chmodSync(at(), 0o755);
  symlinkSync('/', at('snapshots'));
  expect(await publish('policy.json')).toMatchObject({ status: 2, stderr: expect.stringContaining('symbolic link') });
  store = 'policy.json';
  expect(await publish('policy.json')).toMatchObject({ status: 2, stdout: '' });
});
