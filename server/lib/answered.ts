// Questions to a disk that may not answer, for whoever cannot wait for good.
import type { Readable } from 'node:stream';
import { noteStuckDisk } from './stuck-disk.js';

/** `code` stands where the system's code of an error would. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly code: string;

  constructor(milliseconds: number) {
    const code = `no answer within ${String(milliseconds / 1000)} seconds`;
    super(code);
    this.code = code;
  }
}

/** As the question ends; rejects with `NoAnswer` after so many milliseconds. */
export async function answered<Answer>(question: Promise<Answer>, milliseconds: number): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      noteStuckDisk();
      reject(new NoAnswer(milliseconds));
    }, milliseconds);
  });
  try {
    return await Promise.race([question, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The pieces of a stream, each of which has to come within so many milliseconds. */
export async function* answering(stream: Readable, milliseconds: number): AsyncGenerator {
  const pieces: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
  const next = (): Promise<IteratorResult<unknown>> => answered(pieces.next(), milliseconds);
  try {
    for (let piece = await next(); piece.done !== true; piece = await next()) yield piece.value;
  } finally {
    stream.destroy();
  }
}
