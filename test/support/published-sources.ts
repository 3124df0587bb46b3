// Every kind of source, with a way to put there anything that somebody with write access could put there.
import { afterAll } from '@jest/globals';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  encodePointer,
  pointerPath,
  snapshotPath,
  statementPath,
} from '../../server/policy/sources/directory-store.js';
import { sha256Of } from '../../server/policy/open/snapshot-bytes.js';
import { makeDirectorySource } from '../../server/policy/sources/directory-source.js';
import { makeGitSource } from '../../server/policy/sources/git-source.js';
import { makePathSource } from '../../server/policy/sources/path-source.js';
import type { Source } from '../../server/policy/sources/source.js';
import { makeUrlSource } from '../../server/policy/sources/url-source.js';
import type { Made } from './followed-policy.js';
import { makeRepository, PROGRAMS } from './git-repository.js';
import { type PolicyServer, startPolicyServer } from './policy-server.js';
import { makeFolder } from './temp-folder.js';

const servers: PolicyServer[] = [];
afterAll(() => Promise.all(servers.map(({ stop }) => stop())));

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
  ['an address', openAddress],
  ['a repository', openRepository],
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

async function openAddress(first: Made, statement: string): Promise<PublishedSource> {
  const server = await startPolicyServer();
  servers.push(server);
  const put = (made: Made, text: string | null): Promise<void> => {
    server.put('/snapshot.json', made.bytes);
    server.put('/snapshot.json.dsse.json', text === null ? null : Buffer.from(text));
    return Promise.resolve();
  };
  await put(first, statement);
  const url = `http://127.0.0.1:${String(server.port)}/snapshot.json`;
  const source = makeUrlSource({ url, caFile: null, reach: 'public', statements: 'required' });
  await source.look('poll', new AbortController().signal);
  return { source, put };
}

async function openRepository(first: Made, statement: string): Promise<PublishedSource> {
  const repository = await makeRepository();
  const put = (made: Made, text: string | null): Promise<void> => {
    const beside = text === null ? {} : { 'snapshot.json.dsse.json': text };
    repository.commit({ 'snapshot.json': made.bytes, ...beside });
    return Promise.resolve();
  };
  await put(first, statement);
  const at = { repository: repository.path, ref: 'refs/heads/main', path: 'snapshot.json' };
  return { source: makeGitSource({ ...at, signersFile: null, programs: PROGRAMS }), put };
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
