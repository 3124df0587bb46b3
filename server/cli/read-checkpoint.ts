// Checkpoints of the audit log as files: whether one is a checkpoint at all, and whether a key has signed it
// (docs/proofs.md).
import { readFile } from 'node:fs/promises';
import { type Checkpoint, originOf, parseCheckpoint } from '../audit/checkpoint.js';
import { readPublicKey } from '../signing/key-file.js';
import { parseNote } from '../signing/signed-note.js';
import { logFailure } from './audit-log.js';
import { usage } from './exit.js';
import { fileFailure } from './files.js';
import { type CliIo, namedFile, pathOf } from './io.js';
import { asFailure } from './statement-flags.js';

/** A checkpoint that was kept. Without a key its signature is not looked at. Throws `CliFailure` (2 or 8). */
export async function readCheckpoint(io: CliIo, file: string, publicKey: string | undefined): Promise<Checkpoint> {
  const { text, checkpoint } = await readNote(io, file);
  return publicKey === undefined ? checkpoint : trusted(text, await readKey(io, publicKey));
}

/** A public key of the command line. Throws `CliFailure` 2. */
export function readKey(io: CliIo, file: string): Promise<Uint8Array> {
  return asFailure(readPublicKey(namedFile(io, file)));
}

/** The checkpoint of a note that this key has signed. Throws `CliFailure` 8. */
export function trusted(text: string, publicKey: Uint8Array): Checkpoint {
  const note = parseNote(text);
  const checkpoint = note === null ? null : parseCheckpoint(note.text);
  if (note === null || checkpoint === null) throw logFailure('it holds no checkpoint of a log', 'audit.checkpoint');
  const signed = note.isSignedBy({ name: originOf(checkpoint.log), publicKey });
  if (signed === true) return checkpoint;
  const how = signed === null ? 'is not signed by this key' : 'was changed after it was signed';
  throw logFailure(`the checkpoint ${how}`, 'audit.checkpoint');
}

/** A checkpoint as it was kept. */
export interface KeptNote {
  readonly text: string;
  readonly checkpoint: Checkpoint;
}

/** Throws `CliFailure` 2. */
export async function readNote(io: CliIo, file: string): Promise<KeptNote> {
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
