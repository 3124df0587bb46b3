// Runs git, and ssh-keygen, on a repository that is not trusted. Nothing in the repository or the environment can make
// them run another program, ask for anything, or go to the network. What git prints is only a claim (git-objects.ts).
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { signalWithin } from '../../lib/either-signal.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';

/** Why the repository cannot be used. `message` continues a sentence that begins with the repository. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly code: 'source.unreadable' | 'source.forged';

  constructor(message: string, detail: { readonly cause?: unknown; readonly code?: 'source.forged' } = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = detail.code ?? 'source.unreadable';
  }
}

export interface GitRun {
  /** The absolute path of a checkout or a bare repository. */
  readonly repository: string;
  /** Where programs are, as in `PATH`. */
  readonly programs: string;
  readonly signal: AbortSignal;
  /** How long a program may say nothing, in milliseconds. */
  readonly silence: number;
}

interface Answer {
  readonly ok: boolean;
  readonly output: Buffer;
}

/** Git's standard output, whether it succeeds or not. Rejects with `GitError` if git cannot be run to its end. */
export function git(run: GitRun, ...args: readonly string[]): Promise<Answer> {
  return answerOf('git', startGit(run, args, run.silence));
}

export type Program = ChildProcessByStdio<Writable, Readable, null>;

/** Git, for at most `milliseconds`. */
export function startGit(
  { repository, programs, signal }: GitRun,
  args: readonly string[],
  milliseconds: number,
): Program {
  return start('git', ['-C', repository, ...PINNED, '-c', `safe.directory=${repository}`, ...args], {
    env: { ...ENVIRONMENT, PATH: programs, GIT_CEILING_DIRECTORIES: dirname(repository) },
    signal,
    milliseconds,
  });
}

/** What `ssh-keygen` prints for this input. Times are read and written in UTC. */
export function sshKeygen(
  { programs, signal, silence }: Omit<GitRun, 'repository'>,
  args: readonly string[],
  input: Uint8Array = Buffer.alloc(0),
): Promise<Answer> {
  const child = start('ssh-keygen', args, {
    env: { LC_ALL: 'C', TZ: 'UTC', HOME: '/nonexistent', PATH: programs },
    signal,
    milliseconds: silence,
  });
  return answerOf('ssh-keygen', child, input);
}

interface Start {
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly milliseconds: number;
}

function start(program: string, args: readonly string[], { milliseconds, ...options }: Start): Program {
  const { signal, release } = signalWithin(milliseconds, options.signal);
  const child = spawn(program, args, {
    ...options,
    // This process waits until the other one is there, so it must not be the repository, whose disk may hang.
    cwd: '/',
    signal,
    stdio: ['pipe', 'pipe', 'ignore'],
    killSignal: 'SIGKILL',
  });
  child.once('close', release);
  // Where its files are on a machine that is away, it cannot even be killed. It does not keep this process alive.
  child.once('error', () => {
    release();
    child.unref();
  });
  return child;
}

function answerOf(program: string, child: Program, input: Uint8Array = Buffer.alloc(0)): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= SOURCE_LIMITS.gitAnswerBytes) chunks.push(chunk);
      else child.kill('SIGKILL');
    });
    // It may end before it has read everything.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', (cause) => {
      reject(notRun(program, cause));
      child.stdout.destroy();
    });
    child.once('close', (code) => {
      resolve({ ok: code === 0, output: Buffer.concat(chunks) });
    });
  });
}

export function notRun(program: string, cause: unknown): GitError {
  return new GitError(`cannot be read: the program \`${program}\` could not be run to its end`, { cause });
}

/**
 * Overrides for settings of the repository that name programs or make git run one, or take what a file says of commits for
 * what they say themselves.
 */
const PINNED: readonly string[] = [
  'core.commitGraph=false',
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  'core.alternateRefsCommand=false',
  'protocol.allow=never',
].flatMap((setting) => ['-c', setting]);

const ENVIRONMENT = Object.freeze({
  LC_ALL: 'C',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  // A missing object is never fetched, none stands in for another, and commits have the parents that they name.
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_GRAFT_FILE: '/dev/null',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
});
