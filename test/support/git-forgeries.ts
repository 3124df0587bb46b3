// Ways in which somebody who may write to a repository's files puts something else under the name of an object. Git
// itself is taken in by each of them.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { PROGRAMS, type Repository } from './git-repository.js';
import { makeFolder } from './temp-folder.js';

export interface Forgery {
  readonly kind: 'blob' | 'tree' | 'commit' | 'tag';
  readonly bytes: Buffer;
}

type Forge = (repository: Repository, name: string, forgery: Forgery) => Promise<unknown>;

export const FORGERIES: readonly (readonly [way: string, forge: Forge])[] = [
  ['a loose object', forgeLoose],
  ['a pack', forgePack],
  ['a multi-pack index', forgeMultiPack],
  ['an alternate', forgeAlternate],
];

export function loosePath(objects: string, name: string): string {
  return join(objects, name.slice(0, 2), name.slice(2));
}

/** As git stores it in a file of its own. */
export function looseBytes({ kind, bytes }: Forgery): Buffer {
  return deflateSync(Buffer.concat([Buffer.from(`${kind} ${String(bytes.length)}\0`), bytes]));
}

export function writeLoose(path: string, forgery: Forgery): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, looseBytes(forgery));
  renameSync(`${path}.new`, path);
}

function forgeLoose({ objects }: Repository, name: string, forgery: Forgery): Promise<void> {
  writeLoose(loosePath(objects, name), forgery);
  return Promise.resolve();
}

async function forgeAlternate({ objects }: Repository, name: string, forgery: Forgery): Promise<void> {
  const elsewhere = await makeFolder();
  writeLoose(loosePath(elsewhere, name), forgery);
  writeFileSync(join(objects, 'info', 'alternates'), `${elsewhere}\n`);
  rmSync(loosePath(objects, name));
}

/** A pack with one object, whose index says that it has the name of another one; and an index that does not. */
async function forgePack(
  { objects }: Repository,
  name: string,
  forgery: Forgery,
): Promise<{ readonly path: string; readonly honest: Buffer }> {
  const [sha, length] = name.length === 64 ? ['sha256', 32] : ['sha1', 20];
  const scratch = await makeFolder();
  const run = (args: readonly string[], input: Uint8Array | string = ''): string =>
    execFileSync('git', args, { cwd: scratch, env: { PATH: PROGRAMS, HOME: scratch }, input, encoding: 'utf8' }).trim();
  run(['init', '-q', `--object-format=${sha}`]);
  const own = run(['hash-object', '-w', '-t', forgery.kind, '--literally', '--stdin'], forgery.bytes);
  const pack = run(['pack-objects', '-q', 'forged'], `${own}\n`);
  const index = readFileSync(join(scratch, `forged-${pack}.idx`));
  const honest = Buffer.from(index);
  const genuine = Buffer.from(name, 'hex');
  for (let first = 0; first < 256; first += 1) index.writeUInt32BE(first >= (genuine[0] ?? 0) ? 1 : 0, 8 + first * 4);
  genuine.copy(index, 8 + 1024);
  createHash(sha)
    .update(index.subarray(0, -length))
    .digest()
    .copy(index, index.length - length);
  const to = join(objects, 'pack', `pack-${pack}`);
  writeFileSync(`${to}.pack`, readFileSync(join(scratch, `forged-${pack}.pack`)));
  writeFileSync(`${to}.idx`, index);
  rmSync(loosePath(objects, name));
  return { path: `${to}.idx`, honest };
}

async function forgeMultiPack(repository: Repository, name: string, forgery: Forgery): Promise<void> {
  const { path, honest } = await forgePack(repository, name, forgery);
  repository.run('multi-pack-index', 'write');
  writeFileSync(path, honest);
}

type GiveParent = (repository: Repository, commit: string, parent: string) => void;

/** Ways in which a commit gets another parent, for git alone: the commit stays as it is. */
export const OTHER_PARENTS: readonly (readonly [way: string, give: GiveParent])[] = [
  ['a graft', graft],
  ['a replacement', replace],
  ['the commit-graph file', forgeCommitGraph],
];

function graft({ path }: Repository, commit: string, parent: string): void {
  mkdirSync(join(path, '.git', 'info'), { recursive: true });
  writeFileSync(join(path, '.git', 'info', 'grafts'), `${commit} ${parent}\n`);
}

function replace({ run }: Repository, commit: string, parent: string): void {
  run('replace', '--graft', commit, parent);
}

function forgeCommitGraph({ objects, run }: Repository, commit: string, parent: string): void {
  run('commit-graph', 'write', '--reachable');
  const file = join(objects, 'info', 'commit-graph');
  const graph = readFileSync(file);
  const startOf = (chunk: string): number => {
    const entry = graph.indexOf(chunk, 8, 'latin1');
    return Number(graph.readBigUInt64BE(entry + 4));
  };
  const [names, data, bytes] = [startOf('OIDL'), startOf('CDAT'), commit.length / 2];
  const placeOf = (name: string): number => (graph.indexOf(name, names, 'hex') - names) / bytes;
  // Of each commit: its tree, the places of two parents, and what git needs for walking.
  graph.writeUInt32BE(placeOf(parent), data + placeOf(commit) * (bytes + 16) + bytes);
  rmSync(file);
  writeFileSync(file, graph);
}

/** A `git` that does something to a repository each time before it runs. */
export async function interruptedGit(before: string): Promise<string> {
  const folder = await makeFolder({ git: `#!/bin/sh\n${before}\nPATH='${PROGRAMS}' exec git "$@"\n` });
  chmodSync(join(folder, 'git'), 0o755);
  return `${folder}:${PROGRAMS}`;
}
