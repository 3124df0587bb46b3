// Gathers bytes that arrive bit by bit in pieces that can be transferred to a thread. So whoever gathers them is never
// blocked by joining or copying.

export interface Parts {
  readonly add: (chunk: Uint8Array) => void;
  /** Hands over all pieces. */
  readonly give: () => readonly Uint8Array<ArrayBuffer>[];
  /** All bytes in one piece; only for small amounts. */
  readonly whole: () => Uint8Array;
}

export function makeParts(partBytes: number): Parts {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let used = 0;
  const give = (): readonly Uint8Array<ArrayBuffer>[] => {
    const last = pieces.pop();
    return [...pieces.splice(0), ...(last === undefined ? [] : [last.subarray(0, used)])];
  };
  return {
    add: (chunk) => {
      for (let from = 0; from < chunk.length;) {
        let piece = pieces.at(-1);
        if (piece === undefined || used === piece.length) {
          piece = new Uint8Array(new ArrayBuffer(partBytes));
          pieces.push(piece);
          used = 0;
        }
        const taken = chunk.subarray(from, from + piece.length - used);
        piece.set(taken, used);
        used += taken.length;
        from += taken.length;
      }
    },
    give,
    whole: () => Buffer.concat(give()),
  };
}
