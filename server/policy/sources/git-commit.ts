// Commits and tags, read from the bytes that were hashed: what they name, who signed them, and what they descend from.
// Signatures are made by SSH keys, and verified over those same bytes.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { GitError, type GitRun, sshKeygen } from './git-command.js';
import { type GitObjects, mustFind } from './git-objects.js';

/** What is signed, by whom, and when that is said to have happened. */
export interface SignedText {
  readonly payload: Uint8Array;
  readonly signature: string;
  /** In seconds since 1970. */
  readonly at: number;
}

export interface Commit {
  readonly name: string;
  readonly tree: string;
  /** Null if there is not exactly one signature. */
  readonly signed: SignedText | null;
}

export interface GitTag {
  /** The object that it names, which may be a tag again. */
  readonly object: string;
  readonly kind: string;
  /** Its own name, which is signed with it. */
  readonly name: string;
  readonly signed: SignedText | null;
}

const NAME = '([0-9a-f]{40}|[0-9a-f]{64})';
const COMMIT = new RegExp(`^tree ${NAME}\\n((?:parent ${NAME}\\n)*)author `);
const TAG = new RegExp(`^object ${NAME}\\ntype ([a-z]+)\\ntag ([^\\n]+)\\n`);

export async function readCommit(objects: GitObjects, name: string): Promise<Commit> {
  const bytes = await mustFind(objects, name, { kind: 'commit', maxBytes: SOURCE_LIMITS.commitBytes });
  const text = bytes.toString('latin1');
  const tree = COMMIT.exec(text)?.[1];
  if (tree === undefined) throw new GitError(`has a damaged commit: ${name}`);
  const { payload, signatures } = withoutSignatures(text);
  const [signature] = signatures;
  return { name, tree, signed: signatures.length === 1 ? signedText(payload, signature, 'committer') : null };
}

/** A signed tag ends with its signature. */
export function readTag(name: string, bytes: Buffer): GitTag {
  const text = bytes.toString('latin1');
  const [, object, kind = '', own = ''] = TAG.exec(text) ?? [];
  if (object === undefined) throw new GitError(`has a damaged tag: ${name}`);
  const from = text.lastIndexOf(`\n${ARMOR}\n`) + 1;
  // Signatures for another kind of names are no part of what is signed.
  const { payload } = withoutSignatures(text.slice(0, from));
  return { object, kind, name: own, signed: from === 0 ? null : signedText(payload, text.slice(from), 'tagger') };
}

const ARMOR = '-----BEGIN SSH SIGNATURE-----';

/** Takes the signatures out of the header. A line that begins with a space belongs to the one before. */
function withoutSignatures(text: string): { readonly payload: string; readonly signatures: readonly string[] } {
  const end = text.includes('\n\n') ? text.indexOf('\n\n') + 1 : text.length;
  const signatures: string[] = [];
  const header = text.slice(0, end).replace(/^gpgsig(?:-sha256)? (.*\n(?: .*\n)*)/gm, (_, lines: string) => {
    signatures.push(lines.replace(/^ /gm, ''));
    return '';
  });
  return { payload: header + text.slice(end), signatures };
}

function signedText(payload: string, signature = '', role: 'committer' | 'tagger'): SignedText | null {
  const [header = ''] = payload.split('\n\n', 1);
  const at = new RegExp(`^${role} .*> (\\d{1,11}) [+-]\\d{4}$`, 'm').exec(header)?.[1];
  if (at === undefined || !signature.startsWith(`${ARMOR}\n`)) return null;
  return { payload: Buffer.from(payload, 'latin1'), signature, at: Number(at) };
}

/** Whether one of the allowed signers has made the signature, with a key that was theirs at that time. */
export async function isSignedBy(run: GitRun, signersFile: string, signed: SignedText): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-signature-'));
  try {
    const file = join(folder, 'signature');
    await writeFile(file, signed.signature, { mode: 0o600 });
    const when = `-Overify-time=${new Date(signed.at * 1000).toISOString().replace(/\.\d+Z$|[-:T]/g, '')}`;
    const found = await sshKeygen(run, ['-Y', 'find-principals', '-f', signersFile, '-s', file, when]);
    if (!found.ok) return false;
    for (const signer of found.output.toString('utf8').split('\n').filter(Boolean)) {
      const args = ['-Y', 'verify', '-n', 'git', '-f', signersFile, '-I', signer, '-s', file, when];
      if ((await sshKeygen(run, args, signed.payload)).ok) return true;
    }
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether one commit is among the ancestors of the other, or the same. A parent that is not there leads nowhere. */
export async function descends(objects: GitObjects, from: string, commit: string): Promise<boolean> {
  const seen = new Set([commit]);
  for (const name of seen) {
    if (seen.size > SOURCE_LIMITS.historyCommits) return false;
    if (name === from) return true;
    for (const parent of await parentsOf(objects, name)) seen.add(parent);
  }
  return false;
}

async function parentsOf(objects: GitObjects, name: string): Promise<readonly string[]> {
  const found = await objects.find(name, SOURCE_LIMITS.commitBytes);
  if (found?.kind !== 'commit' || found.bytes === null) return [];
  const parents = COMMIT.exec(found.bytes.toString('latin1'))?.[2] ?? '';
  return [...parents.matchAll(/^parent (.*)$/gm)].map(([, parent = '']) => parent);
}
