// Asks a thread what can be proved of the policy in force. The thread loads the snapshot when somebody first asks, keeps
// it for a while, and answers one question after the other. A question that takes too long ends the thread, so it never
// keeps others waiting for long. Whoever asked and has left, or has waited too long, is let go at once; the thread stays
// for the others, because it would have to load the snapshot again.
import type { Worker } from 'node:worker_threads';
import { POLICY_LIMITS } from '../../limits/policy.js';
import { oneAtATime } from '../../lib/one-at-a-time.js';
import { startThread } from '../../lib/start-thread.js';
import { inTime, untilAborted } from '../../lib/until-aborted.js';
import { ApiProblem } from '../../problem.js';
import type {
  ExplainAsked,
  Part,
  Places,
  PlacesAsked,
  ProofQuestion,
  SubjectsAsked,
  WhatCanAsked,
  WhoCanAsked,
} from './prove.js';
import type { Snapshots } from '../store/stored-snapshots.js';

export type ToProver =
  | { readonly snapshot: string; readonly parts: readonly Uint8Array<ArrayBuffer>[] }
  /** `stopped` is shared: 1 once nobody waits for the answer. */
  | { readonly question: ProofQuestion; readonly stopped: Int32Array<SharedArrayBuffer> };

/**
 * Answers about the snapshot with this digest. Rejects with `proof.unavailable` if the store does not have it, or if the
 * answer takes too long, those before it included; with `overloaded` if too many wait; and with the reason of `gone` once
 * that is aborted.
 */
export interface Prover {
  /** The JSON of each explanation. */
  readonly explain: Ask<ExplainAsked, readonly string[]>;
  /** The JSON of each holder. */
  readonly whoCan: Ask<WhoCanAsked, Part>;
  readonly subjects: Ask<SubjectsAsked, Part>;
  /** The JSON of each region. */
  readonly whatCan: Ask<WhatCanAsked, Part>;
  readonly places: Ask<PlacesAsked, Places>;
  readonly close: () => void;
}

type Ask<Asked, Answer> = (snapshot: string, asked: Omit<Asked, 'kind'>, by: AskedBy) => Promise<Answer>;

interface AskedBy {
  readonly actor: { readonly id: string };
  readonly gone: AbortSignal;
}

interface Thread {
  readonly snapshot: string;
  readonly worker: Worker;
  /** The thread answers each kind of message with the one type that its caller names (prove.ts). */
  readonly exchange: <Answer>(message: ToProver, time: number) => Promise<Answer>;
}

interface OwnLine {
  readonly inTurn: ReturnType<typeof oneAtATime>;
  present: number;
}

export function makeProver(snapshots: Pick<Snapshots, 'find' | 'read'>): Prover {
  let thread: Thread | null = null;
  let idle: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(idle);
    void thread?.worker.terminate();
    thread = null;
  };
  const threadFor = async (snapshot: string): Promise<Thread> => {
    if (thread?.snapshot === snapshot) return thread;
    end();
    const stored = await snapshots.find(snapshot);
    const parts = stored === null ? null : await snapshots.read(stored);
    if (parts === null) throw unavailable(`the store does not have ${snapshot}`);
    const started = startProver(snapshot, () => {
      if (thread === started) end();
    });
    thread = started;
    if (await started.exchange<boolean>({ snapshot, parts }, POLICY_LIMITS.proofLoad)) return started;
    throw unavailable(`the bytes of ${snapshot} in the store are not intact`);
  };
  const work = async <Answer>(
    snapshot: string,
    question: ProofQuestion,
    signal: AbortSignal,
  ): Promise<Answer | null> => {
    clearTimeout(idle);
    try {
      const asked = await threadFor(snapshot);
      // Nobody gets this answer, but the next question gets the thread.
      const answer = signal.aborted ? null : await stoppable<Answer>(asked, question, signal);
      idle = setTimeout(end, POLICY_LIMITS.proofIdle).unref();
      return answer;
    } catch (error) {
      end();
      throw error instanceof ApiProblem ? error : unavailable('the thread or the store failed', error);
    }
  };
  const full = (): ApiProblem => new ApiProblem('overloaded', { retryAfter: 1 });
  const [inTurn, own] = [oneAtATime(Infinity, full), new Map<string, OwnLine>()];
  let present = 0;
  /** Each asker has one place in the line, so nobody waits for more than one question of another. */
  const inLine = async <Done>(asker: string, done: () => Promise<Done>, signal: AbortSignal): Promise<Done> => {
    if (present >= POLICY_LIMITS.proofsWaiting) throw full();
    const line = own.get(asker) ?? { inTurn: oneAtATime(Infinity, full), present: 0 };
    own.set(asker, line);
    present += 1;
    line.present += 1;
    try {
      return await line.inTurn(() => inTurn(done, signal), signal);
    } finally {
      present -= 1;
      line.present -= 1;
      if (line.present === 0) own.delete(asker);
    }
  };
  const ask = async <Answer>(snapshot: string, question: ProofQuestion, { actor, gone }: AskedBy): Promise<Answer> => {
    const answer = await inTime(
      (signal) =>
        untilAborted(
          inLine(actor.id, () => work<Answer>(snapshot, question, signal), signal),
          signal,
        ),
      {
        gone,
        time: POLICY_LIMITS.proofPatience,
        late: () => unavailable('it takes too long, those before it included'),
      },
    );
    if (answer === null) throw unavailable('nobody waits for the answer any more');
    return answer;
  };
  return {
    explain: (snapshot, asked, by) => ask(snapshot, { kind: 'explain', ...asked }, by),
    whoCan: (snapshot, asked, by) => ask(snapshot, { kind: 'who-can', ...asked }, by),
    subjects: (snapshot, asked, by) => ask(snapshot, { kind: 'subjects', ...asked }, by),
    whatCan: (snapshot, asked, by) => ask(snapshot, { kind: 'what-can', ...asked }, by),
    places: (snapshot, asked, by) => ask(snapshot, { kind: 'places', ...asked }, by),
    close: end,
  };
}

/** The thread may stop as soon as the signal is aborted, since nobody waits for the answer then. */
async function stoppable<Answer>(thread: Thread, question: ProofQuestion, signal: AbortSignal): Promise<Answer> {
  const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const stop = (): void => void Atomics.store(stopped, 0, 1);
  signal.addEventListener('abort', stop);
  try {
    return await thread.exchange<Answer>({ question, stopped }, POLICY_LIMITS.proofTime);
  } finally {
    // A signal with a listener lives as long as the connection, which may carry many questions.
    signal.removeEventListener('abort', stop);
  }
}

function startProver(snapshot: string, onEnd: () => void): Thread {
  const worker = startThread(new URL('./prover-worker.js', import.meta.url), {}, onEnd);
  const exchange = <Answer>(message: ToProver, time: number): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(unavailable('it takes too long'));
      }, time);
      const end = (error: Error): void => {
        clearTimeout(timer);
        reject(error);
      };
      const exit = (): void => {
        end(new Error('the thread ended before it had an answer'));
      };
      worker.once('error', end);
      worker.once('exit', exit);
      worker.once('message', (answer: Answer) => {
        clearTimeout(timer);
        worker.off('error', end);
        worker.off('exit', exit);
        resolve(answer);
      });
      // Listening for messages keeps the process alive, so this comes after it.
      worker.unref();
      worker.postMessage(message, 'parts' in message ? message.parts.map(({ buffer }) => buffer) : []);
    });
  return { snapshot, worker, exchange };
}

function unavailable(reason: string, cause?: unknown): ApiProblem {
  return new ApiProblem('proof.unavailable', { reason, retryAfter: 1, cause });
}
