// A policy in a git repository on this machine, at a ref: a folder, or a snapshot with its statement beside it. From the
// object that the ref names, everything is read by its hash. If signers are named, one of them must have signed the
// commit (or the tag), and nothing older may follow an accepted commit.
import { stat } from 'node:fs/promises';
import { oneQuestion } from '../../lib/stuck-disk.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { refusal } from '../policy-fault.js';
import { git, GitError, type GitRun } from './git-command.js';
import { type Commit, descends, type GitTag, isSignedBy, readCommit, readTag, type SignedText } from './git-commit.js';
import { contentAt } from './git-content.js';
import { type GitObjects, openObjects } from './git-objects.js';
import { rememberedLooks } from './remembered-looks.js';
import type { Offer, Source } from './source.js';
import { sourceState } from './source-state.js';
import { ofDisk } from './timed-source.js';

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
  /** How long git may say nothing, in milliseconds. */
  readonly silence?: number;
}

/** One check: git is run, and its objects are read. */
interface Look {
  readonly run: GitRun;
  readonly objects: GitObjects;
}

export function makeGitSource(options: GitSourceOptions): Source {
  const { repository, ref, signersFile, programs, silence = SOURCE_LIMITS.silence } = options;
  const remembered = rememberedLooks();
  // Git has times of its own.
  const disk = oneQuestion(silence);
  let taken: string | null = null;
  const offer = async (look: Look, object: string): Promise<Offer> => {
    const found = await commitOf(look.objects, object);
    if (found === null) throw refusal('source.missing', `\`${ref}\` is not a commit`);
    const { commit } = found;
    if (signersFile !== null) await checkSignature(look.run, { ...found, ref, object, signersFile });
    if (signersFile !== null && taken !== null && !(await descends(look.objects, taken, commit.name))) {
      const message = `the commit ${commit.name} does not follow ${taken}, which was in force before: make the change in a new commit`;
      throw refusal('snapshot.rollback_refused', message);
    }
    const onTaken = (): void => {
      taken = commit.name;
    };
    const content = await contentAt(look.objects, commit.tree, options.path);
    if (content === null) throw refusal('source.missing', `there is no \`${options.path}\` at \`${ref}\``);
    return { ...content, from: { kind: 'git', repository, ref, commit: commit.name }, onTaken };
  };
  const read = async (run: GitRun, object: string): Promise<Offer> => {
    const objects = openObjects(run, object);
    try {
      return await offer({ run, objects }, object);
    } finally {
      objects.close();
    }
  };
  return {
    facts: { repository, ref },
    look: async (why, signal) => {
      const run = { repository, programs, signal, silence };
      try {
        if (!(await disk(() => isFolder(repository)))) throw refusal('source.missing', 'there is no such folder');
        const object = await objectOf(run, ref);
        if (object === null) throw refusal('source.missing', await whyMissing(run, ref));
        const signers = signersFile === null ? '' : await disk((heard) => sourceState([signersFile], heard));
        return await remembered(why, [object, signers].join(' '), () => read(run, object));
      } catch (error) {
        throw error instanceof GitError ? refusal(error.code, `the repository ${error.message}`) : ofDisk(error);
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

async function ask(run: GitRun, ...args: readonly string[]): Promise<string | null> {
  const { ok, output } = await git(run, ...args);
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

interface Named {
  readonly commit: Commit;
  /** Null if the ref names the commit itself. */
  readonly tag: GitTag | null;
}

/** Null if the ref names something else, or a tag of a tag. */
async function commitOf(objects: GitObjects, object: string): Promise<Named | null> {
  const found = await objects.find(object, SOURCE_LIMITS.commitBytes);
  if (found?.kind === 'commit') return { commit: await readCommit(objects, object), tag: null };
  if (found?.kind !== 'tag' || found.bytes === null) return null;
  const tag = readTag(object, found.bytes);
  return tag.kind === 'commit' ? { commit: await readCommit(objects, tag.object), tag } : null;
}

interface Signed extends Named {
  readonly ref: string;
  readonly object: string;
  readonly signersFile: string;
}

async function checkSignature(run: GitRun, { commit, tag, ref, object, signersFile }: Signed): Promise<void> {
  const signed: SignedText | null = (tag ?? commit).signed;
  if (signed === null || !(await isSignedBy(run, signersFile, signed))) {
    const what = tag === null ? 'commit' : 'tag';
    throw refusal('signature.git', `the ${what} ${object} is not signed by any of the allowed signers`);
  }
  // A signed tag contains its own name. Under a different name it would be a different tag.
  if (tag !== null && tag.name !== ref.slice('refs/tags/'.length))
    throw refusal('signature.git', `the tag ${object} was signed under another name than \`${ref}\``);
}
