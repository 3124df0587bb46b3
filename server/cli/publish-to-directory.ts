// Writes a publication to a directory store: first the files that are named after their digests, each complete and
// synced, then the pointer to them. Wherever the writer stops, a reader finds either the earlier or the new
// publication.
import { chmod, lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Policy, PublicationStatement } from '../../engine/index.js';
import { isRollback, rollbackText } from '../policy/store/activations.js';
import {
  encodePointer,
  type Pointer,
  pointerPath,
  readPointer,
  snapshotPath,
  statementPath,
  STORE_FOLDERS,
  storedStatement,
} from '../policy/sources/directory-store.js';
import { makeFolder } from '../lib/whole-file.js';
import { faultOfRefusal } from '../policy/policy-fault.js';
import { readSnapshotFile, sha256Of } from '../policy/open/snapshot-bytes.js';
import { SigningError } from '../signing/signing-error.js';
import { parseEnvelope } from '../signing/statement-file.js';
import { CliFailure, EXIT } from './exit.js';
import { fileFailure, writeWhole } from './files.js';
import { type CliIo, pathOf } from './io.js';
import { statementIn } from './statement-flags.js';

/** A snapshot that was verified as a whole, and the statement about it, if there is one. */
export interface Publication {
  readonly policy: Policy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly signed: { readonly bytes: Uint8Array; readonly statement: PublicationStatement } | null;
}

/**
 * `shown` is the directory as the user named it. Throws `CliFailure`: 2 if it cannot be written, 6 if the snapshot may
 * not follow what is there.
 */
export async function publishToDirectory(
  io: CliIo,
  shown: string,
  { policy, bytes, signed }: Publication,
): Promise<'published' | 'unchanged'> {
  const directory = pathOf(io, shown);
  await makeFolders(directory, shown);
  const before = await currentOf(directory);
  const after: Pointer = {
    policy: policy.name,
    snapshot: policy.digest,
    statement: signed === null ? null : sha256Of(signed.bytes),
  };
  const isNew = before === null || encodePointer(before) !== encodePointer(after);
  if (before !== null && isNew) await refuseToFollow(directory, before, after, signed?.statement ?? null);
  await keep(snapshotPath(directory, after.snapshot), bytes, shown);
  if (signed !== null && after.statement !== null) {
    await keep(statementPath(directory, after.statement), signed.bytes, shown);
  }
  if (isNew) await writePlain(pointerPath(directory), Buffer.from(encodePointer(after)), shown);
  return isNew ? 'published' : 'unchanged';
}

const FOLDER_MODE = 0o755;

async function makeFolders(directory: string, shown: string): Promise<void> {
  try {
    for (const folder of [directory, ...Object.values(STORE_FOLDERS).map((name) => join(directory, name))]) {
      // The same mode as for the files: nothing in it is secret, and the gateway may run as another user.
      if (await makeFolder(folder)) await chmod(folder, FOLDER_MODE);
      if (folder !== directory) await refuseLink(folder, shown);
    }
  } catch (error) {
    throw error instanceof CliFailure ? error : fileFailure(error, shown);
  }
}

async function currentOf(directory: string): Promise<Pointer | null> {
  return readPointer(directory).catch((error: unknown) => {
    const { code, message } = faultOfRefusal(error);
    throw new CliFailure(EXIT.precondition, code, `nothing is published to \`${directory}\`: ${message}`, {
      help: 'is it a directory store? If so, remove `current.json` and publish again',
    });
  });
}

/** Gateways would refuse it and keep what they have, so tell the publisher first. */
async function refuseToFollow(
  directory: string,
  before: Pointer,
  after: Pointer,
  statement: PublicationStatement | null,
): Promise<void> {
  const refused = (code: string, message: string, help: string): CliFailure =>
    new CliFailure(EXIT.precondition, code, `nothing is published: ${message}`, { help });
  if (before.policy !== after.policy) {
    const message = `the directory is for the policy \`${before.policy}\`, and this is \`${after.policy}\``;
    throw refused('snapshot.policy', message, 'publish it to a directory of its own');
  }
  if (before.statement === null) return;
  if (statement === null) {
    const message = 'what is published there is signed, and this is not';
    throw refused('signature.missing', message, 'sign it with `bailiwick sign`');
  }
  const last = await lastStatement(directory, before.statement);
  if (last === null) return;
  if (last.environment !== statement.environment) {
    const message = `the directory is for \`${last.environment}\`, and this was signed for \`${statement.environment}\``;
    throw refused('statement.environment', message, 'publish it to a directory of its own');
  }
  if (!isRollback(statement, last)) return;
  const help = 'to go back to an older policy, sign it again with a later generation';
  throw refused('snapshot.rollback_refused', rollbackText(statement, last), help);
}

/** Null if it is damaged: gateways still know what they accepted. */
async function lastStatement(directory: string, digest: string): Promise<PublicationStatement | null> {
  const { shown, read } = storedStatement(directory, digest);
  try {
    const bytes = await read();
    if (bytes === null) return null;
    return statementIn(parseEnvelope(bytes, shown));
  } catch (error) {
    if (error instanceof SigningError) return null;
    throw error;
  }
}

/** Writes a file that is named after its bytes. An intact file stays; a damaged one is replaced. */
async function keep(path: string, bytes: Uint8Array, shown: string): Promise<void> {
  const there = await readSnapshotFile(path);
  if (there.kind === 'read' && Buffer.compare(there.bytes, bytes) === 0) return;
  await writePlain(path, bytes, shown);
}

async function writePlain(path: string, bytes: Uint8Array, shown: string): Promise<void> {
  await refuseLink(path, shown);
  await writeWhole(path, bytes, { shown, inputs: [] });
}

/** Whoever made the link would choose what is overwritten. */
async function refuseLink(path: string, shown: string): Promise<void> {
  const facts = await lstat(path).catch(() => null);
  if (facts?.isSymbolicLink() !== true) return;
  const message = `\`${shown}\` cannot be written: \`${path}\` is a symbolic link`;
  throw new CliFailure(EXIT.usage, 'cli.unwritable', message, { help: 'remove it' });
}
