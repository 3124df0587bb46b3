// A followed directory store. Whatever an interrupted writer leaves behind, and whatever somebody else does to its
// files, the last publication stays in force until a complete new one is published.
import { beforeEach, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePointer, pointerPath, snapshotPath } from '../../../server/policy/sources/directory-store.js';
import { makeDirectorySource } from '../../../server/policy/sources/directory-source.js';
import { A, B, follow, type Followed, type Made } from '../../support/followed-policy.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

let directory: string;
let followed: Followed;

beforeEach(async () => {
  directory = await makeFolder();
  keep(A);
  point(A);
  const source = makeDirectorySource(directory);
  followed = await follow({ source });
  expect(await followed.look()).toEqual([A.policy.digest, null]);
});

const place = ({ policy }: Made): string => snapshotPath(directory, policy.digest);

function keep(made: Made, bytes = made.bytes): void {
  mkdirSync(dirname(place(made)), { recursive: true });
  writeFileSync(place(made), bytes);
}

function pointer({ policy }: Made): string {
  return encodePointer({ policy: policy.name, snapshot: policy.digest, statement: null });
}

function point(made: Made): void {
  writeFileSync(`${pointerPath(directory)}.new`, pointer(made));
  renameSync(`${pointerPath(directory)}.new`, pointerPath(directory));
}

it('stays with what was published before, wherever the writer of the next one was killed', async () => {
  const draft = join(directory, 'snapshots', '.draft.tmp');
  const steps: readonly (() => void)[] = [
    () => {
      writeFileSync(draft, B.bytes.subarray(0, 100));
    },
    () => {
      writeFileSync(draft, B.bytes);
    },
    () => {
      renameSync(draft, place(B));
    },
    () => {
      writeFileSync(join(directory, '.current.json.tmp'), pointer(B).slice(0, 20));
    },
    () => {
      writeFileSync(join(directory, '.current.json.tmp'), pointer(B));
    },
  ];
  for (const step of steps) {
    step();
    expect(await followed.look()).toEqual([A.policy.digest, null]);
  }
  renameSync(join(directory, '.current.json.tmp'), pointerPath(directory));
  expect(await followed.look()).toEqual([B.policy.digest, null]);
});

it('is recognized by the names of its files: a swapped snapshot is refused, wherever a link leads', async () => {
  keep(B, A.bytes);
  point(B);
  expect(await followed.look()).toEqual([A.policy.digest, 'snapshot.digest']);
  rmSync(place(B));
  symlinkSync(place(A), place(B));
  expect(await followed.look()).toEqual([A.policy.digest, 'snapshot.digest']);
  rmSync(place(B));
  execFileSync('mkfifo', [place(B)]);
  expect(await followed.look()).toEqual([A.policy.digest, 'source.unreadable']);
  rmSync(place(B));
  keep(B);
  expect(await followed.look()).toEqual([B.policy.digest, null]);
});

it('is not taken in by endless data: neither a snapshot nor a pointer is read beyond what one can have', async () => {
  keep(B);
  truncateSync(place(B), 5 * 1024 ** 3);
  point(B);
  expect(await followed.look()).toEqual([A.policy.digest, 'snapshot.too_large']);
  truncateSync(pointerPath(directory), 5 * 1024 ** 3);
  expect(await followed.look()).toEqual([A.policy.digest, 'source.unreadable']);
});

it.each([
  ['half of it', (text: string) => text.slice(0, -20)],
  ['one key more', (text: string) => text.replace('{', '{"more":1,')],
  ['another version', (text: string) => text.replace('"bailiwick":1', '"bailiwick":2')],
  ['a name that leads out', (text: string) => text.replace(/sha256:[0-9a-f]{64}/, '../../etc/passwd')],
  ['a digest in capitals', (text: string) => text.replace(/sha256:[0-9a-f]{64}/, (digest) => digest.toUpperCase())],
])('is not pointed elsewhere by a pointer that nobody published: %s', async (_, change) => {
  writeFileSync(pointerPath(directory), change(pointer(B)));
  expect(await followed.look()).toEqual([A.policy.digest, 'source.invalid']);
});

it('says once what is wrong, however often it is looked at, and comes back by itself', async () => {
  const { policies, lines } = await follow({ source: makeDirectorySource(directory), interval: 20 });
  point(B);
  await until(() => lines.length > 0);
  await sleep(200);
  expect(lines).toMatchObject([
    { fields: { directory, code: 'source.missing', message: expect.stringContaining(place(B)) } },
  ]);
  keep(B);
  await until(() => policies.current().policy.digest === B.policy.digest);
  rmSync(directory, { recursive: true });
  await until(() => policies.state().refusal?.message === 'there is no such directory');
});
