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
import {
  type KeptPlace,
  keptText,
  LogAwayError,
  LogGapError,
  type LogPlace,
  parseKept,
  readOn,
  START,
} from './log-place.js';
import { type Grown, makeGrowth, makeTree, type TreeHash } from '../signing/merkle.js';
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

export interface Checkpoints {
  /** Since when none could be signed, on the monotonic clock; null while they are. */
  readonly failingSince: () => number | null;
  /** Resolves once the last checkpoint is written. Call it when no more events come, while the log is still ours. */
  readonly end: () => Promise<void>;
}

export function keepCheckpoints(options: CheckpointOptions): Checkpoints {
  const { folder, log, logger, events = AUDIT_LIMITS.checkpointEvents, look = AUDIT_LIMITS.checkpointLook } = options;
  const signer = makeSigner(options);
  let signed: number | null = null;
  let since = performance.now();
  let state: 'well' | 'failing' | 'away' | 'given_up' = 'well';
  let failingSince: number | null = null;
  const step = async (isEnd: boolean, signal: AbortSignal): Promise<void> => {
    if (state === 'given_up') return;
    try {
      const { seq } = options.head();
      const added = seq - (signed ??= await signer.open());
      const isDue = added >= events || isEnd || performance.now() - since >= AUDIT_LIMITS.checkpointInterval;
      if (added > 0 && !isDue) return;
      if (added > 0) {
        const checkpoint = await signer.sign(seq, signal);
        [signed, since] = [seq, performance.now()];
        logger.info({ log, size: seq, checkpoint }, 'a checkpoint of the audit log was signed');
      }
      [state, failingSince] = ['well', null];
    } catch (error) {
      const before = state;
      const isGap = error instanceof LogGapError;
      state = error instanceof LogAwayError ? 'away' : isGap ? 'given_up' : 'failing';
      failingSince ??= performance.now();
      // Somebody may put the files back, or another checkpoint in the place of the last one.
      if (state === 'away') signed = null;
      if (state === before) return;
      if (isGap) logger.error({ log, folder, reason: error.message }, UNSIGNED[state]);
      else if (before === 'well') logger.warn({ log, error }, UNSIGNED[state]);
    }
  };
  const watch = makePoller(look, (_, signal) => step(false, signal));
  return {
    failingSince: () => failingSince,
    end: async () => {
      await watch.stop();
      await step(true, AbortSignal.timeout(AUDIT_LIMITS.witnessAtEnd));
    },
  };
}

const UNSIGNED = Object.freeze({
  failing: 'a checkpoint of the audit log could not be written',
  away: 'no checkpoint of the audit log is signed, because archived files are needed for it: copy them back into the folder until one is signed, or sign one with `bailiwick audit checkpoint --archive` in the place of the last',
  given_up: 'no checkpoint of the audit log is signed: see `bailiwick audit verify`',
});

interface Asking {
  readonly signal: AbortSignal;
  /** How the log has grown since the witness signed it. */
  readonly since: Grown;
  /** Whether the witness has just said when that was. */
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
  /** How the log has grown up to `last` since each witness signed it, as far as is known. By its key. */
  let grown: ReadonlyMap<string, Grown> = new Map();
  const go = async (from: LogPlace, to: number, since: ReadonlyMap<string, Grown>): Promise<KeptPlace> => {
    const growths = new Map([...since].map(([key, one]) => [key, makeGrowth(one)]));
    const onLeaf = (leaf: TreeHash): void => {
      for (const { push } of growths.values()) push(leaf);
    };
    const place = await readOn({ folder, log, from, to, onLeaf });
    return { place, grown: new Map([...growths].map(([key, growth]) => [key, growth.grown()])) };
  };
  /**
   * The place of the last checkpoint. A crash may have left that of an earlier one: what leads from there to the root that
   * was signed is the log.
   */
  const placeOf = async ({ size, root }: Checkpoint): Promise<KeptPlace> => {
    const kept = parseKept(await textIn(placeFile));
    const start = { place: START, grown: new Map<string, Grown>() };
    for (const from of kept !== null && kept.place.tree.size <= size ? [kept, start] : [start]) {
      const found = await go(from.place, size, from.grown).catch((error: unknown) => {
        if (error instanceof LogGapError && from !== start) return null;
        throw error;
      });
      if (found !== null && rootOf(found.place.tree).equals(root)) return found;
    }
    throw new LogGapError('the log does not begin with the events of its last checkpoint');
  };
  const keep = async (): Promise<void> => {
    const text = keptText({ place: last, grown });
    if ((await textIn(placeFile)) !== text) await writeWholeFile(placeFile, Buffer.from(text), 0o600);
  };
  const textOf = ({ tree }: LogPlace): string => checkpointText({ log, size: tree.size, root: rootOf(tree) });

  /** Archived files are needed only for what no witness is known to have signed. */
  const grownSince = async (size: number, { place, grown: known }: KeptPlace): Promise<Grown> => {
    const to = place.tree.size;
    const found =
      size === 0 || size === to ? grownAt(place, size) : [...known.values()].find(({ old }) => old === size);
    if (found !== undefined) return found;
    const old = await readOn({ folder, log, from: START, to: size });
    return (await go(old, to, new Map([[OURS, grownAt(old)]]))).grown.get(OURS) ?? grownAt(place);
  };
  const askWitness = async (
    witness: LogWitness,
    next: KeptPlace,
    { signal, since, isAgain = false }: Asking,
  ): Promise<readonly string[]> => {
    const { size } = next.place.tree;
    const text = textOf(next.place);
    const submission = { text, note: signNote(text, name, key), old: since.old, growth: makeGrowth(since).path() };
    const answer = await cosign(witness, submission, signal);
    if (answer.kind === 'signed') return answer.lines;
    if (answer.kind === 'other_size' && answer.size <= size && !isAgain)
      return askWitness(witness, next, { signal, since: await grownSince(answer.size, next), isAgain: true });
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
      const found = await placeOf(checkpoint);
      last = found.place;
      grown = new Map(witnesses.flatMap((one) => [...found.grown].filter(([witness]) => witness === nameOf(one))));
      await keep();
      return checkpoint.size;
    },
    sign: async (size, signal) => {
      const next = await go(last, size, new Map([...grown, [OURS, grownAt(last)]]));
      const { place } = next;
      const known = new Map(next.grown);
      known.delete(OURS);
      const lines = await Promise.all(
        witnesses.map(async (witness) => {
          const since = known.get(nameOf(witness)) ?? grownAt(place, 0);
          try {
            const own = await askWitness(witness, next, { signal, since });
            if (own.length > 0) known.set(nameOf(witness), grownAt(place));
            return own;
          } catch (error) {
            if (!(error instanceof LogGapError)) throw error;
            const reason = `${error.message}${error instanceof LogAwayError ? ': copy it back until the witness has signed' : ''}`;
            logger.error({ log, size, witness: witness.key.name, reason }, NOT_COSIGNED);
            return [];
          }
        }),
      );
      [last, grown] = [place, known];
      const note = `${signNote(textOf(place), name, key)}${lines
        .flat()
        .map((line) => `${line}\n`)
        .join('')}`;
      await writeWholeFile(noteFile, Buffer.from(note), 0o600);
      await keep();
      return note;
    },
  };
}

/** In place of the key of a witness: what the last checkpoint had is proved, too. */
const OURS = '';

function nameOf({ key }: LogWitness): string {
  return Buffer.from(key.publicKey).toString('base64');
}

/** The tree of a place, as it has grown since it had so many events. */
function grownAt({ tree }: LogPlace, old = tree.size): Grown {
  return { ...tree, old };
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
