// Reads objects of a repository that is not trusted. Git checks the hash of almost nothing that it prints, so every
// object is hashed here: it counts only if its bytes give the requested name, and those bytes are then used. Nobody else
// has them before that.
// An object that changes while it is read is either of its versions and never anything else.
import { createHash } from 'node:crypto';
import { piecesInTurns } from '../../lib/in-turns.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { GitError, type GitRun, notRun, type Program, startGit } from './git-command.js';
import { makeCollisionCheck } from './sha1-thread.js';

export type ObjectKind = 'commit' | 'tag' | 'tree' | 'blob';

export interface GitObject {
  readonly kind: ObjectKind;
  readonly size: number;
  /** Null if there are more than `maxBytes`. Then it is not known whether the object has this name. */
  readonly bytes: Buffer | null;
}

/** The objects of one repository, for one look. */
export interface GitObjects {
  /** The bytes of a name in raw form: 20 for SHA-1, 32 for SHA-256. */
  readonly nameBytes: number;
  /** Null if the repository does not have it. Rejects with `GitError` if it is not what its name says. */
  readonly find: (name: string, maxBytes: number) => Promise<GitObject | null>;
  readonly close: () => void;
}

/**
 * `first` is the name of any object: its length tells how the repository names all of them. Git may let us wait for so many
 * milliseconds in all. The search for collisions has a time of its own: it is long for a large policy, and git waits meanwhile.
 */
export function openObjects(run: GitRun, first: string, lookTime: number = SOURCE_LIMITS.lookTime): GitObjects {
  const algorithm = ALGORITHMS.get(first.length);
  if (algorithm === undefined || !/^[0-9a-f]+$/.test(first)) throw new GitError('names its objects in an unknown way');
  const child = startGit(run, ['cat-file', '--batch'], lookTime + SOURCE_LIMITS.checkTime);
  const read = makeReader(child, { silence: run.silence, inAll: lookTime });
  const collisions = makeCollisionCheck(run.signal);
  const digestOf = async (header: string, object: Buffer): Promise<string> => {
    const hash = createHash(algorithm).update(header);
    for await (const piece of piecesInTurns(object, run.signal)) hash.update(piece);
    return hash.digest('hex');
  };
  const check = async (name: string, { kind, size }: GitObject, object: Buffer): Promise<void> => {
    const header = `${kind} ${String(size)}\0`;
    if ((await digestOf(header, object)) !== name)
      throw forged(`something else under the name ${name}: an object was changed or damaged`);
    if (algorithm !== 'sha1') return;
    if (await collisions.isCollision(header, object))
      throw forged(`an object that was made to share its SHA-1 name with another one: ${name}`);
  };
  let last: Promise<unknown> = Promise.resolve();
  const find = async (name: string, maxBytes: number): Promise<GitObject | null> => {
    if (name.length !== first.length || !/^[0-9a-f]+$/.test(name)) throw new GitError('has a damaged object');
    child.stdin.write(`${name}\n`);
    const object = await read(maxBytes);
    if (object !== null && object.bytes !== null) await check(name, object, object.bytes);
    return object;
  };
  return {
    nameBytes: first.length / 2,
    // One after the other: the answers come in this order.
    find: (name, maxBytes) => {
      const found = last.then(() => find(name, maxBytes));
      last = found.catch(() => undefined);
      return found;
    },
    close: () => {
      child.kill('SIGKILL');
      collisions.end();
    },
  };
}

/** By the length of a name. */
const ALGORITHMS = new Map([
  [40, 'sha1'],
  [64, 'sha256'],
]);

function forged(what: string): GitError {
  return new GitError(`holds ${what}`, { code: 'source.forged' });
}

/** The object, which must exist and be of this kind. */
export async function mustFind(
  objects: GitObjects,
  name: string,
  { kind, maxBytes }: { readonly kind: ObjectKind; readonly maxBytes: number },
): Promise<Buffer> {
  const found = await objects.find(name, maxBytes);
  if (found === null) throw new GitError(`lacks the ${kind} ${name}`);
  if (found.kind !== kind) throw new GitError(`has a ${found.kind} in place of the ${kind} ${name}`);
  if (found.bytes === null) throw new GitError(`has a ${kind} with more than ${String(maxBytes)} bytes: ${name}`);
  return found.bytes;
}

type ReadObject = (maxBytes: number) => Promise<GitObject | null>;

const HEADER = /^[0-9a-f]+ (commit|tag|tree|blob) (\d{1,15})$/;
const MISSING = /^[0-9a-f]+ missing$/;

/** In milliseconds: for one piece of an answer, and for all of them. */
interface Patience {
  readonly silence: number;
  readonly inAll: number;
}

/** Reads the answers of `git cat-file --batch`: a line with kind and size, the bytes, and the end of a line. */
function makeReader(child: Program, { silence, inAll }: Patience): ReadObject {
  // Git may end before it has read everything.
  child.stdin.on('error', () => undefined);
  child.once('error', (cause) => child.stdout.destroy(notRun('git', cause)));
  // Whoever reads gets the error; if nobody does, it does not matter.
  child.stdout.on('error', () => undefined);
  const chunks: AsyncIterator<unknown> = child.stdout[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  let left = inAll;
  const more = async (): Promise<void> => {
    const asked = performance.now();
    const next = await inTime(chunks.next(), Math.min(silence, left));
    left -= performance.now() - asked;
    if (!Buffer.isBuffer(next.value)) throw new GitError('cannot be read: `git` ended early');
    rest = rest.length === 0 ? next.value : Buffer.concat([rest, next.value]);
  };
  const readLine = async (): Promise<string> => {
    while (!rest.includes(LINE_FEED)) {
      if (rest.length > HEADER_BYTES) throw new GitError('cannot be read: `git` answers something else');
      await more();
    }
    const end = rest.indexOf(LINE_FEED);
    const line = rest.toString('latin1', 0, end);
    rest = rest.subarray(end + 1);
    return line;
  };
  const readBytes = async (size: number, take: (chunk: Buffer, from: number) => void): Promise<void> => {
    for (let from = 0; from < size;) {
      if (rest.length === 0) await more();
      const chunk = rest.subarray(0, size - from);
      take(chunk, from);
      rest = rest.subarray(chunk.length);
      from += chunk.length;
    }
  };
  return async (maxBytes) => {
    const line = await readLine();
    if (MISSING.test(line)) return null;
    const [, kind, length = ''] = HEADER.exec(line) ?? [];
    const size = Number(length);
    if (!isKind(kind)) throw new GitError('has a damaged object');
    if (size > SOURCE_LIMITS.objectBytes) {
      throw new GitError(`has more there than ${String(SOURCE_LIMITS.objectBytes)} bytes`);
    }
    // In memory that threads can share, so that the bytes are not copied to be checked.
    const bytes = size > maxBytes ? null : Buffer.from(new SharedArrayBuffer(size));
    await readBytes(size, (chunk, from) => bytes?.set(chunk, from));
    await readBytes(1, () => undefined);
    return { kind, size, bytes };
  };
}

const LINE_FEED = 10;
const HEADER_BYTES = 1024;

function isKind(text: string | undefined): text is ObjectKind {
  return text !== undefined && ['commit', 'tag', 'tree', 'blob'].includes(text);
}

/** A git that says nothing hangs: its files may be pipes, or on a machine that is away. */
async function inTime<T>(answer: Promise<T>, silence: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new GitError('did not answer in time'));
    }, silence);
  });
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    throw error instanceof GitError ? error : notRun('git', error);
  } finally {
    clearTimeout(timer);
  }
}
