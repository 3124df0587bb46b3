// A disk that does not answer. A thread that waits for one cannot be ended and keeps the process, even one that exits, so
// the program ends itself with SIGKILL once it has said what was not done (cli/main.ts).
import type { Readable } from 'node:stream';

let isStuck = false;
/** Questions that were given up and have not been answered since. */
let unanswered = 0;

/** For good. */
export function noteStuckDisk(): void {
  isStuck = true;
}

export function isDiskStuck(): boolean {
  return isStuck || unanswered > 0;
}

/** Whether this thread waits for a disk at this moment. A process that exits now would wait for it, too. */
export function isAtDisk(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}

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

/**
 * As the question ends; rejects with `NoAnswer` after so many milliseconds. `heard` is called with each part of a long
 * answer, and the time begins again.
 */
export async function answered<Answer>(
  ask: (heard: () => void) => Promise<Answer>,
  milliseconds: number,
): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const asked = ask(() => timer?.refresh());
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      unanswered += 1;
      const isAnswered = (): void => {
        unanswered -= 1;
      };
      asked.then(isAnswered, isAnswered);
      reject(new NoAnswer(milliseconds));
    }, milliseconds);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Questions to one disk, one at a time: one that hangs holds one of few threads. Each is given up as by `answered`, and the
 * next ones reject at once for as long as it hangs.
 */
export function oneQuestion(
  milliseconds: number,
): <Answer>(ask: (heard: () => void) => Promise<Answer>) => Promise<Answer> {
  let late: NoAnswer | null = null;
  return async (ask) => {
    if (late !== null) throw late;
    let goOn: () => void = () => undefined;
    const asked = ask(() => {
      goOn();
    });
    try {
      return await answered((heard) => {
        goOn = heard;
        return asked;
      }, milliseconds);
    } catch (error) {
      if (error instanceof NoAnswer) {
        late = error;
        const end = (): void => {
          late = null;
        };
        asked.then(end, end);
      }
      throw error;
    }
  };
}

/** The pieces of a stream, each of which has to come within so many milliseconds. */
export async function* answering(stream: Readable, milliseconds: number): AsyncGenerator {
  const pieces: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
  const next = (): Promise<IteratorResult<unknown>> => answered(() => pieces.next(), milliseconds);
  try {
    for (let piece = await next(); piece.done !== true; piece = await next()) yield piece.value;
  } finally {
    stream.destroy();
  }
}
