// Work on many things for one request. Other requests have their turn in between.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of work between two turns of others. */
const TURN = 10;

/** Call the result before each piece of work. It rejects with the reason of `gone` once that is aborted. */
export function makePauses(gone?: AbortSignal): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began <= TURN) return;
    await nextTurn();
    gone?.throwIfAborted();
    began = performance.now();
  };
}

const PIECE = 1024 * 1024;

/** The bytes, without copying them. */
export async function* piecesInTurns(bytes: Uint8Array, gone?: AbortSignal): AsyncGenerator<Uint8Array> {
  const pause = makePauses(gone);
  for (let from = 0; from < bytes.length; from += PIECE) {
    await pause();
    yield bytes.subarray(from, from + PIECE);
  }
}

/** Makes one of each item, in their order. */
export async function mapInTurns<Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Made,
  gone?: AbortSignal,
): Promise<readonly Made[]> {
  const [made, pause]: [Made[], () => Promise<void>] = [[], makePauses(gone)];
  for (const item of items) {
    await pause();
    made.push(make(item));
  }
  return made;
}
