// The text of a checkpoint (C2SP tlog-checkpoint) and of a proof (C2SP tlog-proof) of a log, without signatures
// (docs/proofs.md). Pure.
import type { TreeHash } from '../signing/merkle.js';

export interface Checkpoint {
  readonly log: string;
  /** How many events the log had. */
  readonly size: number;
  readonly root: TreeHash;
}

const ORIGIN = 'bailiwick/audit/';
const BODY = /^bailiwick\/audit\/([0-9a-z]{1,32})\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*$/;

/** Names the log; also the name of the key that signs its checkpoints. */
export function originOf(log: string): string {
  return `${ORIGIN}${log}`;
}

export function checkpointText({ log, size, root }: Checkpoint): string {
  return `${originOf(log)}\n${String(size)}\n${root.toString('base64')}\n`;
}

/** Null if the text of the note is not a checkpoint of one of our logs. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const [, log, size, root = ''] = BODY.exec(text) ?? [];
  const bytes = Buffer.from(root, 'base64');
  if (log === undefined || bytes.toString('base64') !== root) return null;
  return { log, size: Number(size), root: bytes };
}

interface Proof {
  /** From 0. */
  readonly index: number;
  /** The line of the event. */
  readonly line: string;
  readonly path: readonly TreeHash[];
  /** The signed note. */
  readonly checkpoint: string;
}

const HEADER = 'c2sp.org/tlog-proof@v1';
const PROOF = new RegExp(
  `^${HEADER.replaceAll('.', '\\.')}\\nextra ([A-Za-z0-9+/=]+)\\nindex (0|[1-9]\\d{0,14})\\n((?:[A-Za-z0-9+/]{43}=\\n){0,64})\\n([^]*)$`,
);

export function proofText({ index, line, path, checkpoint }: Proof): string {
  const extra = Buffer.from(line).toString('base64');
  const hashes = path.map((one) => `${one.toString('base64')}\n`).join('');
  return `${HEADER}\nextra ${extra}\nindex ${String(index)}\n${hashes}\n${checkpoint}`;
}

/** Null if the text is not a proof as `proofText` writes it. */
export function parseProof(text: string): Proof | null {
  const [, extra = '', index, hashes = '', checkpoint = ''] = PROOF.exec(text) ?? [];
  if (index === undefined) return null;
  const path = hashes
    .split('\n')
    .slice(0, -1)
    .map((one) => Buffer.from(one, 'base64'));
  return { index: Number(index), line: Buffer.from(extra, 'base64').toString('utf8'), path, checkpoint };
}
