// The files of a tree as git stores them, written to a folder of our own. They are read object by object, so that no
// attribute, filter or hook of the repository changes, omits or adds one.
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ENGINE_LIMITS } from '../../../engine/compiler.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { git, GitError, type GitRun } from './git-command.js';

export interface Checkout {
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

/** `tree` is the name of an object. Rejects with `GitError` for anything that no policy folder contains. */
export async function checkOut(run: GitRun, tree: string): Promise<Checkout> {
  const files = await filesOf(run, tree);
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-policy-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    for (const batch of batches(files)) await writeBatch(run, folder, batch);
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

interface TreeFile {
  readonly path: string;
  readonly object: string;
  readonly size: number;
}

async function filesOf(run: GitRun, tree: string): Promise<readonly TreeFile[]> {
  const args = ['ls-tree', '-r', '-l', '-z', '--full-tree', tree];
  const { ok, output } = await git(run, { args, maxBytes: SOURCE_LIMITS.treeBytes });
  if (!ok) throw new GitError('has a damaged tree there');
  const files = output.toString('utf8').split('\0').slice(0, -1).map(fileOf);
  if (files.length > SOURCE_LIMITS.treeFiles) {
    throw new GitError(`has more than ${String(SOURCE_LIMITS.treeFiles)} files there`);
  }
  return files;
}

/** `100644 blob <object> <size>\t<path>` */
const ENTRY = /^(\d{6}) (?:blob|commit) ([0-9a-f]{40,64}) +(\d+|-)\t([^]*)$/;
const FILE_MODES: ReadonlySet<string> = new Set(['100644', '100755', '100664']);

function fileOf(entry: string): TreeFile {
  const [, mode = '', object = '', size = '', path = ''] = ENTRY.exec(entry) ?? [];
  if (object === '') throw new GitError('has a damaged tree there');
  const shown = JSON.stringify(path.slice(0, SOURCE_LIMITS.shownPath));
  // Names that git itself would not check out could lead outside the folder.
  if (path.split('/').some((name) => /^(?:|\.{1,2}|\.git)$/i.test(name))) {
    throw new GitError(`has a file there that cannot be written: ${shown}`);
  }
  if (!FILE_MODES.has(mode)) {
    throw new GitError(`has something there that is no file, a symbolic link or a submodule: ${shown}`);
  }
  return { path, object, size: Number(size) };
}

/** Groups the files into batches that fit in memory. */
function* batches(files: readonly TreeFile[]): Generator<readonly TreeFile[]> {
  let batch: TreeFile[] = [];
  let size = 0;
  for (const file of files) {
    if (batch.length > 0 && size + file.size > SOURCE_LIMITS.batchBytes) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(file);
    size += file.size;
  }
  if (batch.length > 0) yield batch;
}

async function writeBatch(run: GitRun, folder: string, files: readonly TreeFile[]): Promise<void> {
  // For a file that is too large to be read, its size is enough.
  const isSmall = ({ size }: TreeFile): boolean => size <= ENGINE_LIMITS.fileBytes;
  const small = files.filter(isSmall);
  const input = small.map(({ object }) => `${object}\n`).join('');
  const maxBytes = small.reduce((sum, { size }) => sum + size + HEADER_BYTES, 0);
  const { output } = await git(run, { args: ['cat-file', '--batch'], input, maxBytes });
  let from = 0;
  for (const { path, object, size } of small) {
    const header = Buffer.from(`${object} blob ${String(size)}\n`);
    const start = from + header.length;
    if (!output.subarray(from, start).equals(header)) throw new GitError('has a damaged object there');
    await write(folder, path, output.subarray(start, start + size));
    from = start + size + 1;
  }
  for (const file of files) {
    if (isSmall(file)) continue;
    await write(folder, file.path, Buffer.alloc(0));
    await truncate(join(folder, file.path), file.size);
  }
}

const HEADER_BYTES = 128;

async function write(folder: string, path: string, bytes: Uint8Array): Promise<void> {
  const place = join(folder, path);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, bytes, { flag: 'wx', mode: 0o600 });
}
