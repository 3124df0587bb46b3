// A policy named by a revision of the git checkout that somebody stands in, as `main:policies`. It is read from git's
// objects as it was committed; the files of the checkout are neither read nor changed.
import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { oneLine, type PolicyFault } from '../policy-fault.js';
import { git, GitError, type GitRun } from './git-command.js';
import { readCommit } from './git-commit.js';
import { contentAt, isAt } from './git-content.js';
import { forkPoint } from './git-fork.js';
import { type GitObjects, openObjects } from './git-objects.js';
import type { Offer } from './source.js';

/** A revision, and a path in it, as git writes them. */
export interface RevisionPath {
  readonly revision: string;
  /** From the top of the repository, or from the current folder if it begins with `./` or `../`. Empty for the top. */
  readonly path: string;
}

/** Null if the text is not `<revision>:<path>`. */
export function revisionPathOf(text: string): RevisionPath | null {
  const colon = text.indexOf(':');
  return colon > 0 ? { revision: text.slice(0, colon), path: text.slice(colon + 1) } : null;
}

export interface Standing {
  /** The current folder; absolute. */
  readonly cwd: string;
  /** Where programs are, as in `PATH`. */
  readonly programs: string;
}

export type Revision = Pick<Offer, 'content' | 'release'> | PolicyFault;

/** The policy there. Whoever asks releases it. */
export async function openRevision({ revision, path }: RevisionPath, standing: Standing): Promise<Revision> {
  return inCheckout(path, standing, async ({ run, top, inside }) => {
    const name = await commitNamed(run, revision);
    if (name === null) return noRevision(top, revision);
    const found = await reading(run, name, async (objects) => {
      const { tree } = await readCommit(objects, name);
      return contentAt(objects, tree, inside);
    });
    return found ?? oneLine('revision.missing', `there is no \`${inside}\` at \`${revision}\``);
  });
}

/** `first` is the name of any object. */
async function reading<T>(run: GitRun, first: string, act: (objects: GitObjects) => Promise<T>): Promise<T> {
  const objects = openObjects(run, first);
  try {
    return await act(objects);
  } finally {
    objects.close();
  }
}

/** Where the second revision left the first one (`forkPoint`). */
export async function forkOf(
  [first, second]: readonly [string, string],
  standing: Standing,
): Promise<string | null | PolicyFault> {
  return inCheckout('', standing, async ({ run, top }) => {
    const [one, other] = [await commitNamed(run, first), await commitNamed(run, second)];
    if (one === null || other === null) return noRevision(top, one === null ? first : second);
    return reading(run, one, (objects) => forkPoint(objects, [one, other]));
  });
}

/** Whether a commit, whose name the revision is, has something at the path. */
export async function isAtCommit({ revision, path }: RevisionPath, standing: Standing): Promise<boolean | PolicyFault> {
  return inCheckout(path, standing, ({ run, inside }) =>
    reading(run, revision, async (objects) => {
      const { tree } = await readCommit(objects, revision);
      return isAt(objects, tree, inside);
    }),
  );
}

export interface InCheckout {
  readonly run: GitRun;
  /** The folder of the checkout. */
  readonly top: string;
  /** The path from there, with `/`; empty for the top. */
  readonly inside: string;
}

/** Does something with the git checkout around a folder, and a path in it. What git cannot do becomes a fault. */
export async function inCheckout<T>(
  path: string,
  { cwd, programs }: Standing,
  act: (checkout: InCheckout) => Promise<T>,
): Promise<T | PolicyFault> {
  const here = await realpath(cwd);
  const top = await checkoutAround(here);
  if (top === null) return oneLine('revision.missing', `\`${here}\` is not in a git checkout`);
  const inside = pathInside(path, { top, here });
  if (inside === null) return oneLine('revision.missing', `\`${path}\` leads out of the git checkout \`${top}\``);
  try {
    return await act({ run: runIn(top, programs), top, inside });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const code = error.code === 'source.forged' ? error.code : 'revision.unreadable';
    return oneLine(code, `the git checkout \`${top}\` ${error.message}`);
  }
}

export function noRevision(top: string, revision: string): PolicyFault {
  return oneLine('revision.missing', `the git checkout \`${top}\` has no revision \`${revision}\``);
}

function runIn(repository: string, programs: string): GitRun {
  return { repository, programs, signal: new AbortController().signal, silence: SOURCE_LIMITS.silence };
}

/** The nearest folder above that has a `.git`, which may be a file; null if there is none. */
async function checkoutAround(folder: string): Promise<string | null> {
  const isTop = await lstat(join(folder, '.git')).then(
    () => true,
    () => false,
  );
  if (isTop) return folder;
  const above = dirname(folder);
  return above === folder ? null : checkoutAround(above);
}

function pathInside(path: string, { top, here }: { readonly top: string; readonly here: string }): string | null {
  const isRelative = /^\.{1,2}(?:\/|$)/.test(path);
  const inside = relative(top, resolve(isRelative ? here : top, `./${path}`))
    .split(sep)
    .join('/');
  return inside === '..' || inside.startsWith('../') ? null : inside;
}

/** Null if there is no such commit. */
export async function commitNamed(run: GitRun, revision: string): Promise<string | null> {
  const { ok, output } = await git(run, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`);
  const name = output.toString('utf8').trim();
  return ok && /^[0-9a-f]+$/.test(name) ? name : null;
}

/** What the checkout around a folder has committed last. */
export interface CheckoutHead {
  readonly commit: string;
  /** Folders of policies in it, from the top; more may be named than there are. */
  readonly folders: readonly string[];
  /** Where its commits come from, without a password; null if git does not know. */
  readonly repository: string | null;
}

/** Null if there is no checkout, or nothing is committed in it. */
export async function headAround({ cwd, programs }: Standing): Promise<CheckoutHead | null> {
  const top = await checkoutAround(await realpath(cwd));
  if (top === null) return null;
  const run = runIn(top, programs);
  const commit = await commitNamed(run, 'HEAD');
  if (commit === null) return null;
  const files = await git(run, 'ls-files', '-z', '--', ':(glob)**/policy.yaml');
  const remote = await git(run, 'config', '--get', 'remote.origin.url');
  const folders = files.output.toString('utf8').split('\0').filter(Boolean).map(dirname);
  return { commit, folders, repository: remote.ok ? withoutPassword(remote.output.toString('utf8').trim()) : null };
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url;
  const plain = new URL(url);
  const isHttp = ['http:', 'https:'].includes(plain.protocol);
  if (plain.password === '' && !isHttp) return url;
  plain.password = '';
  // With HTTP, a token may stand in the place of the user.
  if (isHttp) plain.username = '';
  return plain.href;
}
