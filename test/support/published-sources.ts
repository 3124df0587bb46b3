// Every kind of source, with a hand that puts at its place whatever somebody could put there who may write to it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { encodePointer, pointerPath, snapshotPath, statementPath } from '../../server/policy/directory-store.js';
import { sha256Of } from '../../server/policy/open-policy.js';
import { makeDirectorySource } from '../../server/policy/sources/directory-source.js';
import { makePathSource } from '../../server/policy/sources/path-source.js';
import type { Source } from '../../server/policy/sources/source.js';
import type { Made } from './followed-policy.js';
import { makeFolder } from './temp-folder.js';

export interface PublishedSource {
  readonly source: Source;
  /** The snapshot `made`, whatever its bytes are said to be, and what stands beside it. */
  readonly put: (made: Made, statement: string | null) => Promise<void>;
}

export const SOURCE_KINDS: readonly (readonly [
  kind: string,
  open: (first: Made, statement: string) => Promise<PublishedSource>,
])[] = [
  ['a file', openFile],
  ['a directory store', openDirectory],
];

async function openFile(first: Made, statement: string): Promise<PublishedSource> {
  const path = join(await makeFolder(), 'snapshot.json');
  const put = (made: Made, text: string | null): Promise<void> => {
    writeFileSync(path, made.bytes);
    if (text === null) rmSync(`${path}.dsse.json`);
    else writeFileSync(`${path}.dsse.json`, text);
    return Promise.resolve();
  };
  await put(first, statement);
  return { source: await makePathSource(path), put };
}

async function openDirectory(first: Made, statement: string): Promise<PublishedSource> {
  const directory = await makeFolder();
  const put = (made: Made, text: string | null): Promise<void> => {
    const write = (path: string, bytes: Uint8Array): void => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, bytes);
    };
    const digest = text === null ? null : sha256Of(Buffer.from(text));
    write(snapshotPath(directory, made.policy.digest), made.bytes);
    if (text !== null && digest !== null) write(statementPath(directory, digest), Buffer.from(text));
    const { name: policy, digest: snapshot } = made.policy;
    writeFileSync(pointerPath(directory), encodePointer({ policy, snapshot, statement: digest }));
    return Promise.resolve();
  };
  await put(first, statement);
  const source = makeDirectorySource(directory);
  await source.look('poll', new AbortController().signal);
  return { source, put };
}
