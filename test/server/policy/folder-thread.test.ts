// The thread of a folder that is followed remembers what it has read, and says of each version what a new thread says.
import { afterEach, expect, it } from '@jest/globals';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FolderThread, makeFolderThread } from '../../../server/policy/open/snapshot-thread.js';
import { grantsAt, HEADER } from '../../support/followed-policy.js';
import { failIdle } from '../../support/idle-thread.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

const { signal } = new AbortController();
const threads: FolderThread[] = [];

function thread(remembered?: number): FolderThread {
  const made = makeFolderThread(remembered);
  threads.push(made);
  return made;
}

afterEach(() => {
  for (const one of threads.splice(0)) one.close();
});

async function policyFolder(): Promise<{ readonly folder: string; readonly put: (grants: string) => void }> {
  const folder = await makeFolder({ 'policy.yaml': HEADER, 'grants.yaml': grantsAt('/a') });
  const put = (grants: string): void => {
    writeFileSync(join(folder, 'grants.yaml'), grants);
  };
  return { folder, put };
}

it('compiles each version like a thread that has read nothing before, right or wrong', async () => {
  const { folder, put } = await policyFolder();
  const following = thread();
  const said = async (by: FolderThread): Promise<unknown> => {
    const { packed, bytes } = await by.compile(folder, signal);
    return { facts: packed.facts, table: Buffer.from(new Uint8Array(packed.table.buffer)), bytes: Buffer.from(bytes) };
  };
  for (const path of ['/a', '/b', '/a', '/a/c']) {
    put(grantsAt(path));
    expect(await said(following)).toEqual(await said(thread()));
    put(grantsAt(path).replace('resource:read', 'resource:raed'));
    await expect(following.compile(folder, signal)).rejects.toMatchObject({ fault: { code: 'policy.invalid' } });
  }
  rmSync(join(folder, 'policy.yaml'));
  await expect(following.compile(folder, signal)).rejects.toMatchObject({ fault: { code: 'policy.invalid' } });
});

it('says that the bytes of a later version are still to be read, until it has forgotten all', async () => {
  const { folder, put } = await policyFolder();
  const following = thread(200);
  expect((await following.compile(folder, signal)).labels).toBe('verified');
  put(grantsAt('/b'));
  expect((await following.compile(folder, signal)).labels).toBe('unverified');
  await until(async () => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    return (await following.compile(folder, signal)).labels === 'verified';
  });
});

it('ends when nobody waits any more, and begins anew', async () => {
  const { folder } = await policyFolder();
  const following = thread();
  const given = new AbortController();
  const compiling = following.compile(folder, given.signal);
  given.abort();
  await expect(compiling).rejects.toThrow();
  expect((await following.compile(folder, signal)).labels).toBe('verified');
});

it('that fails while nobody waits for it ends nothing else, and begins anew', async () => {
  const { folder } = await policyFolder();
  const following = thread();
  await failIdle(() => following.compile(folder, signal));
  expect((await following.compile(folder, signal)).labels).toBe('verified');
});
