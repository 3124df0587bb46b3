// What `audit checkpoint`, `audit prove` and `audit check-proof` do.
import { readLine } from '../audit/chain.js';
import { checkpointText, originOf, parseProof, proofText } from '../audit/checkpoint.js';
import { listLogs } from '../audit/log-files.js';
import { type LogMeasure, measureLog } from '../audit/measure-log.js';
import type { SettingFlags } from '../config/index.js';
import { leafHash, rootOfPath } from '../signing/merkle.js';
import type { SigningKey } from '../signing/ed25519.js';
import { readSigningKey } from '../signing/key-file.js';
import { signNote, verifierKeyText } from '../signing/signed-note.js';
import { EXIT, usage } from './exit.js';
import { writeWhole } from './files.js';
import { type Answer, type CliIo, pathOf, pathsOf } from './io.js';
import { configOf } from './options.js';
import type { CHECK_PROOF, CHECKPOINT, PROVE } from './takes/audit-proofs.js';
import type { Given } from './verb.js';
import { folderOf, logFailure } from './audit-log.js';
import { type KeptNote, readKey, readNote, readText, trusted } from './read-checkpoint.js';
import { count, linesText } from './render/text.js';
import { asFailure } from './statement-flags.js';

type CheckpointFlags = Given<typeof CHECKPOINT> & SettingFlags;

type ProveFlags = Given<typeof PROVE> & SettingFlags;

/** Throws `CliFailure`: 8 if the log has a fault, because nothing is signed about such a log. */
export async function checkpointCommand(io: CliIo, flags: CheckpointFlags): Promise<Answer> {
  const { folder, log, archive } = await logOf(io, flags);
  const key = await keyOf(io, flags);
  const { size, root } = await measure(folder, log, { archive });
  const note = signNote(checkpointText({ log, size, root }), originOf(log), key);
  const verifierKey = verifierKeyText({ name: originOf(log), publicKey: key.publicKey });
  const facts = { log, size, root: root.toString('base64'), verifierKey, checkpoint: note };
  return give(io, flags, { text: note, facts, folder });
}

/** Throws `CliFailure`: 2 if there is no such event, 8 if the log has a fault or is not that of the checkpoint. */
export async function proveCommand(io: CliIo, flags: ProveFlags): Promise<Answer> {
  const { seq } = flags;
  if (!/^[1-9]\d{0,14}$/.test(seq)) throw usage('the event is named by its number, such as `1204`');
  const chosen = await logOf(io, flags);
  const kept = flags.checkpoint === undefined ? null : await readNote(io, flags.checkpoint);
  const { size, proofs } = await proofsOf(io, { ...chosen, seqs: [Number(seq)], kept }, flags);
  const proof = proofs.get(Number(seq)) ?? '';
  return give(io, flags, {
    text: proof,
    facts: { log: chosen.log, seq: Number(seq), size, proof },
    folder: chosen.folder,
  });
}

interface Proofs {
  /** How many events the checkpoint has. */
  readonly size: number;
  readonly checkpoint: string;
  /** The text of a proof for each event, by its number. */
  readonly proofs: ReadonlyMap<number, string>;
}

interface Asked extends Chosen {
  readonly seqs: readonly number[];
  /** Null to sign one of now. */
  readonly kept: KeptNote | null;
}

/** In the checkpoint that was kept, or in one of now. Throws `CliFailure` as `proveCommand`. */
export async function proofsOf(
  io: CliIo,
  { folder, log, archive, seqs, kept }: Asked,
  flags: CheckpointFlags,
): Promise<Proofs> {
  if (kept !== null && kept.checkpoint.log !== log) {
    throw usage(`the checkpoint is about the log \`${kept.checkpoint.log}\``, 'name that log with `--log`');
  }
  const now = kept === null ? await measure(folder, log, { archive }) : null;
  const size = kept?.checkpoint.size ?? now?.size ?? 0;
  const outside = seqs.find((seq) => seq > size);
  if (outside !== undefined)
    throw usage(`the checkpoint has ${count(size, 'event')}, and event ${String(outside)} is not among them`);
  const indexes = seqs.map((seq) => seq - 1);
  const { lines, roots } = await measure(folder, log, { archive, places: { indexes, size }, sizes: [size] });
  const root = roots.get(size);
  if (
    root === undefined ||
    lines.size < new Set(indexes).size ||
    (kept !== null && !root.equals(kept.checkpoint.root))
  ) {
    throw logFailure(
      `the first ${count(size, 'event')} of the log are not those of the checkpoint`,
      'audit.checkpoint',
    );
  }
  const checkpoint = kept?.text ?? signNote(checkpointText({ log, size, root }), originOf(log), await keyOf(io, flags));
  const texts = [...lines].map(([index, one]) => [index + 1, proofText({ index, ...one, checkpoint })] as const);
  return { size, checkpoint, proofs: new Map(texts) };
}

/** Throws `CliFailure` 8 if the file proves nothing. */
export async function checkProofCommand(io: CliIo, { file, publicKey }: Given<typeof CHECK_PROOF>): Promise<Answer> {
  const proof = parseProof(await readText(io, file));
  if (proof === null) throw logFailure(`\`${file}\` is not a proof of an event`, 'audit.proof');
  const checkpoint = trusted(proof.checkpoint, await readKey(io, publicKey));
  const { index, line, path } = proof;
  const { log, size, root } = checkpoint;
  const found = rootOfPath(leafHash(line), { index, size }, path);
  const event = readLine(line);
  if (found?.equals(root) !== true || event?.seq !== index + 1 || event.log !== log || event.digest !== event.hash) {
    throw logFailure('the event is not in the log of the checkpoint', 'audit.proof');
  }
  return {
    json: () => ({ ok: true, log, size, event: event.value }),
    notes: () => `event ${String(index + 1)} of ${String(size)} in the log ${log}\n`,
    text: () => linesText([line]),
  };
}

export interface Chosen {
  readonly folder: string;
  readonly log: string;
  readonly archive: string | null;
}

async function logOf(io: CliIo, flags: CheckpointFlags): Promise<Chosen> {
  const folder = await folderOf(io, flags.folder, { flags, absent: EXIT.integrity });
  const logs = [...(await listLogs(folder)).keys()];
  const archive = flags.archive === undefined ? null : pathOf(io, flags.archive);
  const [only, ...others] = flags.log === undefined ? logs : [flags.log];
  if (only === undefined) throw logFailure(`there is no log in \`${folder}\``, 'audit.absent');
  if (others.length > 0) throw usage(`the folder has several logs: ${logs.join(', ')}`, 'name one with `--log`');
  return { folder, log: only, archive };
}

async function measure(folder: string, log: string, options: Parameters<typeof measureLog>[2]): Promise<LogMeasure> {
  const measured = await measureLog(folder, log, options);
  if (measured === null) throw usage(`the folder has no log \`${log}\``);
  const [first] = measured.faults;
  if (first !== undefined) throw logFailure(`nothing is signed about a log with faults: ${first.text}`, 'audit.faults');
  return measured;
}

async function keyOf(io: CliIo, flags: CheckpointFlags): Promise<SigningKey> {
  const key = await signingKeyOf(io, flags);
  if (key !== null) return key;
  throw usage('a key is needed to sign', 'set `audit.signingKey`, or name the file with `--key`');
}

/** The key for checkpoints of now; null if there is none. */
export async function signingKeyOf(
  io: CliIo,
  flags: SettingFlags & { readonly key?: string },
): Promise<SigningKey | null> {
  const path = await signingKeyPath(io, flags);
  return path === null ? null : asFailure(readSigningKey({ path, shown: flags.key ?? path }));
}

/** Where that key is: the file that is named, or the one of the settings. */
export async function signingKeyPath(
  io: CliIo,
  flags: SettingFlags & { readonly key?: string },
): Promise<string | null> {
  return flags.key === undefined ? (await configOf(io, flags)).audit.signingKey : pathOf(io, flags.key);
}

async function give(
  io: CliIo,
  flags: CheckpointFlags & { readonly checkpoint?: string },
  { text, facts, folder }: { readonly text: string; readonly facts: object; readonly folder: string },
): Promise<Answer> {
  const { output, archive, checkpoint } = flags;
  if (output !== undefined) {
    const key = (await signingKeyPath(io, flags)) ?? undefined;
    const inputs = pathsOf(io, [folder, key, archive, checkpoint]);
    await writeWhole(pathOf(io, output), Buffer.from(text), { shown: output, inputs, mode: 0o600 });
  }
  return { json: () => facts, text: () => (output === undefined ? text : '') };
}
