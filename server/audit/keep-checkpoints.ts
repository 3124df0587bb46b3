// The checkpoints that a gateway signs by itself: after so many events, from time to time, and at its end
// (docs/proofs.md). It reads on in the files of the log, so that nothing waits for it.
import { join } from 'node:path';
import { AUDIT_LIMITS } from '../limits/logs.js';
import type { Logger } from '../lib/ports.js';
import type { SigningKey } from '../signing/ed25519.js';
import { type NoteKey, parseNote, signNote } from '../signing/signed-note.js';
import { makePoller } from '../lib/poller.js';
import { textIn } from '../lib/text-in.js';
import { writeWholeFile } from '../lib/whole-file.js';
import type { Head } from './chain.js';
import { type Checkpoint, checkpointText, originOf, parseCheckpoint } from './checkpoint.js';
import { LogGapError, type LogPlace, parsePlace, placeText, readOn, START } from './log-place.js';
import { makeGrowth, makeTree, type TreeHash } from '../signing/merkle.js';
import { cosign, type LogWitness } from './witness.js';

export interface CheckpointSettings {
  readonly key: SigningKey;
  readonly witnesses: readonly LogWitness[];
  /** How many events a checkpoint waits for. */
  readonly events?: number;
  /** Milliseconds between two looks at the log. */
  readonly look?: number;
}

export interface CheckpointOptions extends CheckpointSettings {
  readonly folder: string;
  readonly log: string;
  /** The head of the log as it is on the disk. */
  readonly head: () => Head;
  readonly logger: Logger;
}

/** Resolves once the last checkpoint is written. Call it when no more events come, while the log is still ours. */
export type EndCheckpoints = () => Promise<void>;

export function keepCheckpoints(options: CheckpointOptions): EndCheckpoints {
  const { folder, log, logger, events = AUDIT_LIMITS.checkpointEvents, look = AUDIT_LIMITS.checkpointLook } = options;
  const signer = makeSigner(options);
  let signed: number | null = null;
  let since = performance.now();
  let state: 'well' | 'failing' | 'given_up' = 'well';
  const step = async (isEnd: boolean, signal: AbortSignal): Promise<void> => {
    if (state === 'given_up') return;
    try {
      const { seq } = options.head();
      const added = seq - (signed ??= await signer.open());
      const isDue = added >= events || isEnd || performance.now() - since >= AUDIT_LIMITS.checkpointInterval;
      if (added === 0 || !isDue) return;
      const checkpoint = await signer.sign(seq, signal);
      [signed, since, state] = [seq, performance.now(), 'well'];
      logger.info({ log, size: seq, checkpoint }, 'a checkpoint of the audit log was signed');
    } catch (error) {
      if (error instanceof LogGapError) {
        state = 'given_up';
        const reason = error.message;
        logger.error({ log, folder, reason }, 'no checkpoint of the audit log is signed: see `bailiwick audit verify`');
      } else if (state === 'well') {
        state = 'failing';
        logger.warn({ log, error }, 'a checkpoint of the audit log could not be written');
      }
    }
  };
  const watch = makePoller(look, (_, signal) => step(false, signal));
  return async () => {
    await watch.stop();
    await step(true, AbortSignal.timeout(AUDIT_LIMITS.witnessAtEnd));
  };
}

interface Asking {
  readonly signal: AbortSignal;
  /** What the witness has signed before. */
  readonly old?: LogPlace;
  /** Whether it has just said so. */
  readonly isAgain?: boolean;
}

interface Signer {
  /** The size of the last checkpoint. */
  readonly open: () => Promise<number>;
  /** The note, with the signatures of the witnesses that gave one. */
  readonly sign: (size: number, signal: AbortSignal) => Promise<string>;
}

function makeSigner({ folder, log, key, witnesses, logger }: CheckpointOptions): Signer {
  const [noteFile, placeFile] = [join(folder, `${log}.checkpoint`), join(folder, `${log}.place`)];
  const name = originOf(log);
  let last = START;
  /** What each witness has signed, as far as is known. */
  const seen = new Map<LogWitness, LogPlace>();
  /**
   * The place of the last checkpoint. A crash may have left that of an earlier one: what leads from there to the root that
   * was signed is the log.
   */
  const placeOf = async ({ size, root }: Checkpoint): Promise<LogPlace> => {
    const kept = parsePlace(await textIn(placeFile));
    for (const from of kept !== null && kept.tree.size <= size ? [kept, START] : [START]) {
      const place = await readOn({ folder, log, from, to: size }).catch((error: unknown) => {
        if (error instanceof LogGapError && from !== START) return null;
        throw error;
      });
      if (place !== null && rootOf(place.tree).equals(root)) return place;
    }
    throw new LogGapError('the log does not begin with the events of its last checkpoint');
  };
  const writePlace = (place: LogPlace): Promise<void> =>
    writeWholeFile(placeFile, Buffer.from(placeText(place)), 0o600);
  const textOf = ({ tree }: LogPlace): string => checkpointText({ log, size: tree.size, root: rootOf(tree) });

  const placeAt = (size: number): Promise<LogPlace> => {
    const known = [last, ...seen.values()].find(({ tree }) => tree.size === size);
    return known === undefined ? readOn({ folder, log, from: START, to: size }) : Promise.resolve(known);
  };
  const askWitness = async (
    witness: LogWitness,
    next: LogPlace,
    { signal, old = seen.get(witness) ?? START, isAgain = false }: Asking,
  ): Promise<readonly string[]> => {
    const { size } = next.tree;
    const growth = makeGrowth(old.tree, size);
    if (old.tree.size > 0) await readOn({ folder, log, from: old, to: size, onLeaf: growth.push });
    const note = signNote(textOf(next), name, key);
    const submission = { text: textOf(next), note, old: old.tree.size, growth: growth.path() };
    const answer = await cosign(witness, submission, signal);
    if (answer.kind === 'signed') {
      seen.set(witness, next);
      return answer.lines;
    }
    seen.delete(witness);
    if (answer.kind === 'other_size' && answer.size <= size && !isAgain) {
      const signed = answer.size === size ? next : await placeAt(answer.size);
      return askWitness(witness, next, { signal, old: signed, isAgain: true });
    }
    const reason = answer.kind === 'other_size' ? `it has signed ${String(answer.size)} events before` : answer.reason;
    const facts = { log, size, witness: witness.key.name, reason };
    if (answer.kind === 'failed') logger.warn(facts, NOT_COSIGNED);
    else logger.error(facts, CONTRADICTED);
    return [];
  };
  return {
    open: async () => {
      const checkpoint = checkpointIn(await textIn(noteFile), { name, publicKey: key.publicKey });
      if (checkpoint === null) return 0;
      last = await placeOf(checkpoint);
      if ((await textIn(placeFile)) !== placeText(last)) await writePlace(last);
      return checkpoint.size;
    },
    sign: async (size, signal) => {
      const next = await readOn({ folder, log, from: last, to: size });
      const lines = await Promise.all(
        witnesses.map((witness) =>
          askWitness(witness, next, { signal }).catch((error: unknown) => {
            if (!(error instanceof LogGapError)) throw error;
            logger.warn({ log, size, witness: witness.key.name, reason: error.message }, NOT_COSIGNED);
            return [];
          }),
        ),
      );
      const note = `${signNote(textOf(next), name, key)}${lines
        .flat()
        .map((line) => `${line}\n`)
        .join('')}`;
      await writeWholeFile(noteFile, Buffer.from(note), 0o600);
      await writePlace(next);
      last = next;
      return note;
    },
  };
}

const NOT_COSIGNED = 'a witness has not signed the checkpoint of the audit log';
const CONTRADICTED = 'a witness contradicts the checkpoint of the audit log: see `bailiwick audit verify`';

function rootOf(tree: LogPlace['tree']): TreeHash {
  return makeTree(tree).root();
}

/** The checkpoint of a note that our key has signed. */
function checkpointIn(text: string, key: NoteKey): Checkpoint | null {
  const note = parseNote(text);
  return note?.isSignedBy(key) === true ? parseCheckpoint(note.text) : null;
}
