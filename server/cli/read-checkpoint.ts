// Checkpoints of the audit log as files: whether one is a checkpoint at all, and whether a key has signed it
// (docs/proofs.md).
import { readFile } from 'node:fs/promises';
import { type Checkpoint, originOf, parseCheckpoint } from '../audit/checkpoint.js';
import { readPublicKey } from '../signing/key-file.js';
import { parseNote } from '../signing/signed-note.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { fileFailure } from './files.js';
import { type CliIo, namedFile, pathOf } from './io.js';
import { asFailure } from './statement-flags.js';

/** A checkpoint that was kept. Without a key its signature is not looked at. Throws `CliFailure` (2 or 8). */
export async function readCheckpoint(io: CliIo, file: string, publicKey: string | undefined): Promise<Checkpoint> {
  const { text, checkpoint } = await readNote(io, file);
  return publicKey === undefined ? checkpoint : trusted(io, text, publicKey);
}

/** The checkpoint of a note that this key has signed. Throws `CliFailure` (2 or 8). */
export async function trusted(io: CliIo, text: string, publicKeyFile: string): Promise<Checkpoint> {
  const note = parseNote(text);
  const checkpoint = note === null ? null : parseCheckpoint(note.text);
  if (note === null || checkpoint === null) throw integrity('audit.checkpoint', 'it holds no checkpoint of a log');
  const publicKey = await asFailure(readPublicKey(namedFile(io, publicKeyFile)));
  const signed = note.isSignedBy({ name: originOf(checkpoint.log), publicKey });
  if (signed === true) return checkpoint;
  const how = signed === null ? 'is not signed by this key' : 'was changed after it was signed';
  throw integrity('audit.checkpoint', `the checkpoint ${how}`);
}

/** A checkpoint as it was kept. Throws `CliFailure` 2. */
export async function readNote(
  io: CliIo,
  file: string,
): Promise<{ readonly text: string; readonly checkpoint: Checkpoint }> {
  const text = await readText(io, file);
  const checkpoint = parseCheckpoint(parseNote(text)?.text ?? '');
  if (checkpoint === null) throw usage(`\`${file}\` is not a checkpoint of a log`);
  return { text, checkpoint };
}

export async function readText(io: CliIo, file: string): Promise<string> {
  try {
    return await readFile(pathOf(io, file), 'utf8');
  } catch (error) {
    throw fileFailure(error, file);
  }
}

export function integrity(code: string, message: string): CliFailure {
  return new CliFailure(EXIT.integrity, code, message, { help: 'run `bailiwick audit verify`' });
}
