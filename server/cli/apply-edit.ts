// Writes an edit that `explain` proposes into the policy folder. What is written is read and compiled first, and must decide as the edit
// says. Nothing is written if a file has changed since the edit was proposed.
import { readFile } from 'node:fs/promises';
import {
  type Change,
  compilePolicy,
  type Hunk,
  type PatchedFile,
  type PolicySet,
  readPolicy,
  type SourceFile,
  type TakingChange,
} from '../../engine/compiler.js';
import { writeEdit } from '../authoring/write-edit.js';
import { readFolder } from '../policy/open/read-folder.js';
import { CliFailure, EXIT } from './exit.js';
import { fileFailure, pathFailure, replaceFile } from './files.js';

export interface AppliedEdit {
  readonly hunks: readonly Hunk[];
  /** Digests of the policy as it is now. */
  readonly snapshot: string;
  readonly decisions: string;
}

export interface Application {
  /** How the user named the folder, and its absolute path. */
  readonly shown: string;
  readonly folder: string;
  /** What the edit was proposed for: the declarations, and the texts that they were read from. */
  readonly set: PolicySet;
  readonly sources: ReadonlyMap<string, string>;
  readonly change: Change | TakingChange;
}

/** Throws `CliFailure` and writes nothing if the edit cannot be written. */
export async function applyEdit(application: Application): Promise<AppliedEdit> {
  const { shown, folder, set, change } = application;
  const reading = await readFolder(folder);
  if (reading.kind === 'path') throw pathFailure(reading.fault, shown);
  const { files } = reading;
  requireSame(files, application);
  const written = writeEdit(files, { set, change });
  if (!written.ok) throw notWritten(written.reason);
  const digests = digestsOf(written.set);
  await writeAll(folder, written.files);
  return { hunks: written.hunks, ...digests };
}

function requireSame(files: readonly SourceFile[], { shown, sources }: Application): void {
  const read = readPolicy(files).sources;
  const isSame = read.size === sources.size && [...read].every(([path, text]) => sources.get(path) === text);
  if (!isSame) throw changed(shown);
}

function changed(shown: string): CliFailure {
  return new CliFailure(EXIT.precondition, 'cli.changed', `\`${shown}\` was changed meanwhile and was left alone`, {
    help: 'run the command again, without `--apply` first: the numbers of changes may differ',
  });
}

function notWritten(reason: string): CliFailure {
  return new CliFailure(EXIT.precondition, 'explain.apply', `the change was not written: ${reason}`, {
    help: 'make it by hand',
  });
}

function digestsOf(set: PolicySet): Pick<AppliedEdit, 'snapshot' | 'decisions'> {
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw notWritten(`the policy would be invalid: ${compiled.diagnostics[0]?.message ?? ''}`);
  return { snapshot: compiled.snapshot.digest, decisions: compiled.snapshot.decisions };
}

/** All files are looked at before the first is written. */
async function writeAll(folder: string, files: readonly PatchedFile[]): Promise<void> {
  for (const { path, from } of files) {
    const now = await readFile(`${folder}/${path}`).catch((error: unknown) => {
      throw fileFailure(error, path);
    });
    if (!now.equals(from)) throw changed(path);
  }
  for (const { path, from, to } of files) await replaceFile(`${folder}/${path}`, { from, to, shown: path });
}
