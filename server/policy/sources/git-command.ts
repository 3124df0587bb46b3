// Runs git on a repository that is not trusted. Git reads objects and verifies signatures. Nothing in the repository or
// the environment can make it run another program, ask for anything, or go to the network.
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { SOURCE_LIMITS } from '../../limits/policy.js';

/** Why git failed. `message` continues a sentence that begins with the repository. */
export class GitError extends Error {
  override readonly name = 'GitError';
}

export interface GitRun {
  /** The absolute path of a checkout or a bare repository. */
  readonly repository: string;
  /** Where programs are, as in `PATH`. */
  readonly programs: string;
  readonly signal: AbortSignal;
}

export interface GitRequest {
  readonly args: readonly string[];
  readonly input?: string;
  /** The limit on git's output. */
  readonly maxBytes: number;
  /** The allowed signers, in the form that `ssh-keygen` reads. */
  readonly signers?: string;
}

export interface GitAnswer {
  readonly ok: boolean;
  readonly output: Buffer;
}

/** Git's standard output, whether it succeeds or not. Rejects with `GitError` if git cannot be run to its end. */
export function git({ repository, programs, signal }: GitRun, request: GitRequest): Promise<GitAnswer> {
  const { args, input = '', maxBytes, signers } = request;
  return new Promise((resolve, reject) => {
    const child = spawn('git', [...PINNED, '-c', `safe.directory=${repository}`, ...signersOf(signers), ...args], {
      cwd: repository,
      env: { ...ENVIRONMENT, PATH: programs, GIT_CEILING_DIRECTORIES: dirname(repository) },
      stdio: ['pipe', 'pipe', 'ignore'],
      signal: AbortSignal.any([signal, AbortSignal.timeout(SOURCE_LIMITS.gitTimeout)]),
    });
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        child.kill('SIGKILL');
        reject(new GitError(`has more there than ${String(maxBytes)} bytes`));
      }
    });
    // Git may end before it has read everything.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', (cause) => {
      reject(new GitError('cannot be read: the program `git` could not be run to its end', { cause }));
    });
    child.once('close', (code) => {
      resolve({ ok: code === 0, output: Buffer.concat(chunks) });
    });
  });
}

/** Overrides for settings of the repository that name programs or make git run one. */
const PINNED: readonly string[] = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  'core.alternateRefsCommand=false',
  'protocol.allow=never',
  // Signatures of other kinds would be made by keys that nobody has named here.
  'gpg.program=false',
  'gpg.openpgp.program=false',
  'gpg.x509.program=false',
  'gpg.ssh.program=ssh-keygen',
  'gpg.minTrustLevel=fully',
].flatMap((setting) => ['-c', setting]);

const ENVIRONMENT = Object.freeze({
  LC_ALL: 'C',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  // An object must be what its name says, and a missing object is never fetched.
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
});

function signersOf(signers: string | undefined): readonly string[] {
  return ['-c', `gpg.ssh.allowedSignersFile=${signers ?? '/dev/null'}`];
}
