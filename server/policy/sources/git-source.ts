// A policy in a git repository on this machine, at a ref: a folder, or a snapshot with its statement beside it. If
// signers are named, one of them must have signed the commit (or the tag), and nothing older may follow what was taken.
import { stat } from 'node:fs/promises';
import { STATEMENT_LIMITS } from '../../../engine/index.js';
import { POLICY_LIMITS, SOURCE_LIMITS } from '../../limits/policy.js';
import { statementPathOf } from '../../signing/statement-file.js';
import { oneLine, type PolicyFault } from '../policy-fault.js';
import { git, GitError, type GitRun } from './git-command.js';
import { checkOut } from './git-tree.js';
import type { Found, Offer, Source } from './source.js';
import { sourceState } from './source-state.js';

export interface GitSourceOptions {
  /** An absolute path. */
  readonly repository: string;
  /** The full name, as in `refs/heads/main` or `refs/tags/v1`. */
  readonly ref: string;
  /** The path of a folder or a snapshot in the repository; empty for the whole repository. */
  readonly path: string;
  /** The file of allowed signers, in the form that `ssh-keygen` reads; null if no signature is required. */
  readonly signersFile: string | null;
  /** Where programs are, as in `PATH`. */
  readonly programs: string;
}

export function makeGitSource(options: GitSourceOptions): Source {
  const { repository, ref, signersFile, programs } = options;
  let last: { readonly state: string; readonly fault: PolicyFault | null } | null = null;
  let taken: string | null = null;
  const offer = async (run: GitRun, object: string): Promise<Offer | PolicyFault> => {
    const commit = await nameOf(run, `${object}^{commit}`);
    if (commit === null) return oneLine('source.missing', `\`${ref}\` is not a commit`);
    const fault = signersFile === null ? null : await faultOfCommit(run, { ...options, signersFile, object });
    if (fault !== null) return fault;
    if (signersFile !== null && taken !== null && !(await isAfter(run, taken, commit))) {
      const message = `the commit ${commit} does not follow ${taken}, which was taken before: commit what it should be`;
      return oneLine('snapshot.rollback_refused', message);
    }
    const onTaken = (): void => {
      taken = commit;
    };
    const content = await contentAt(run, options, commit);
    return 'code' in content ? content : { ...content, from: { kind: 'git', repository, ref, commit }, onTaken };
  };
  return {
    facts: { repository, ref },
    look: async (why, signal) => {
      const run = { repository, programs, signal };
      try {
        if (!(await isFolder(repository))) return fault(oneLine('source.missing', 'there is no such folder'));
        const object = await objectOf(run, ref);
        if (object === null) return fault(oneLine('source.missing', await whyMissing(run, ref)));
        const state = [object, signersFile === null ? '' : await sourceState([signersFile])].join(' ');
        if (why === 'poll' && last?.state === state) return last.fault === null ? { kind: 'same' } : fault(last.fault);
        const found = await offer(run, object);
        last = { state, fault: 'code' in found ? found : null };
        return 'code' in found ? fault(found) : { kind: 'offer', offer: found };
      } catch (error) {
        if (!(error instanceof GitError)) throw error;
        return fault(oneLine('source.unreadable', `the repository ${error.message}`));
      }
    },
  };
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
}

function fault(found: PolicyFault): Found {
  return { kind: 'fault', fault: found };
}

async function ask(run: GitRun, ...args: readonly string[]): Promise<string | null> {
  const { ok, output } = await git(run, { args, maxBytes: SOURCE_LIMITS.gitAnswerBytes });
  return ok ? output.toString('utf8').trim() : null;
}

/** The object of the ref at this moment. From here on only names of objects are used, because nobody can move those. */
function objectOf(run: GitRun, ref: string): Promise<string | null> {
  return ask(run, 'show-ref', '--verify', '--hash', '--', ref);
}

async function whyMissing(run: GitRun, ref: string): Promise<string> {
  const isRepository = (await ask(run, 'rev-parse', '--git-dir')) !== null;
  return isRepository ? `there is no \`${ref}\` in the repository` : 'it is not a git repository';
}

function nameOf(run: GitRun, revision: string): Promise<string | null> {
  return ask(run, 'rev-parse', '--verify', '--quiet', '--end-of-options', revision);
}

interface Signed extends GitSourceOptions {
  readonly signersFile: string;
  readonly object: string;
}

async function faultOfCommit(run: GitRun, { ref, signersFile, object }: Signed): Promise<PolicyFault | null> {
  const isTag = (await ask(run, 'cat-file', '-t', object)) === 'tag';
  const args = [isTag ? 'verify-tag' : 'verify-commit', object];
  const { ok } = await git(run, { args, maxBytes: SOURCE_LIMITS.gitAnswerBytes, signers: signersFile });
  const what = isTag ? 'tag' : 'commit';
  if (!ok) return oneLine('signature.git', `the ${what} ${object} is not signed by any of the allowed signers`);
  if (!isTag) return null;
  // A signed tag contains its own name. Under a different name it would be a different tag.
  const text = (await ask(run, 'cat-file', 'tag', object)) ?? '';
  const isNamed =
    new RegExp(`^object [0-9a-f]+\\ntype commit\\ntag ([^\\n]+)\\n`).exec(text)?.[1] === ref.slice('refs/tags/'.length);
  return isNamed ? null : oneLine('signature.git', `the tag ${object} was signed under another name than \`${ref}\``);
}

async function isAfter(run: GitRun, before: string, commit: string): Promise<boolean> {
  return (await ask(run, 'merge-base', '--is-ancestor', before, commit)) !== null;
}

async function contentAt(
  run: GitRun,
  { path, ref }: GitSourceOptions,
  commit: string,
): Promise<Pick<Offer, 'content' | 'statement' | 'release'> | PolicyFault> {
  const object = await nameOf(run, `${commit}:${path}`);
  if (object === null) return oneLine('source.missing', `there is no \`${path}\` at \`${ref}\``);
  const shown = statementPathOf(path);
  if ((await ask(run, 'cat-file', '-t', object)) === 'tree') {
    const { folder, remove } = await checkOut(run, object);
    const statement = { shown, read: () => Promise.resolve(null) };
    return { content: { kind: 'folder', path: folder }, statement, release: remove };
  }
  const bytes = await blobOf(run, object, POLICY_LIMITS.snapshotBytes);
  const beside = await nameOf(run, `${commit}:${shown}`);
  const text = beside === null ? null : await blobOf(run, beside, STATEMENT_LIMITS.fileBytes);
  const parts = [new Uint8Array(bytes)];
  return { content: { kind: 'parts', parts }, statement: { shown, read: () => Promise.resolve(text) } };
}

async function blobOf(run: GitRun, object: string, maxBytes: number): Promise<Buffer> {
  const { ok, output } = await git(run, { args: ['cat-file', 'blob', object], maxBytes });
  if (!ok) throw new GitError('has a damaged object there');
  return output;
}
