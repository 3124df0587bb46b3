// How a call can fail, other than by an aborted signal: a refusal of the gateway, or an answer that did not come from a
// gateway.
import type { PROBLEM_SCHEMA } from '../api/answer-schemas.js';
import type { TypeOf } from '../api/schema.js';

type Problem = TypeOf<typeof PROBLEM_SCHEMA>;
/** The codes of this version. A later gateway may have more. */
export type ProblemCode = Problem['code'];

/** The gateway refused the request. Programs decide by `code`. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: number;
  readonly code: ProblemCode;
  readonly title: string;
  /** Finds the request in the gateway's log. */
  readonly requestId: string;
  /** The step of the decision that failed. */
  readonly step: string | null;
  /** Of a refused copy: the step at which the side that `step` names failed. */
  override readonly cause: string | null;
  /** Of a refused batch: the position of the command that was refused, from 0. */
  readonly command: number | null;
  /** Each mistake in the body, with a JSON pointer. */
  readonly errors: NonNullable<Problem['errors']>;
  /** Seconds. */
  readonly retryAfter: number | null;
  /** `unknown` if nobody knows whether a write was done. */
  readonly outcome: NonNullable<Problem['outcome']> | null;

  constructor({ status, code, title, requestId, step, cause, command, errors, retryAfter, outcome }: Problem) {
    const where = (errors ?? []).map(({ pointer, message }) => ` ${pointer} ${message}`).join(';');
    const details = [step, cause, command === undefined ? undefined : `command ${String(command)}`]
      .filter((detail) => detail !== undefined)
      .join(', ');
    super(`${code}: ${title}${details === '' ? '' : ` (${details})`}${where === '' ? '' : `:${where}`}`);
    this.status = status;
    this.code = code;
    this.title = title;
    this.requestId = requestId;
    this.step = step ?? null;
    this.cause = cause ?? null;
    this.command = command ?? null;
    this.errors = errors ?? [];
    this.retryAfter = retryAfter ?? null;
    this.outcome = outcome ?? null;
  }
}

/** The answer came from something other than a gateway, such as a proxy, or was cut off. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(`status ${String(status)}: ${message}`);
    this.status = status;
  }
}

/** The problem in an answer, or null if it holds none. */
export function problemIn(text: string): ProblemError | null {
  const value = readJson(text);
  return isProblem(value) ? new ProblemError(value) : null;
}

export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblem(value: unknown): value is Problem {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['code', 'title', 'requestId'].every((name) => typeof Reflect.get(value, name) === 'string') &&
    typeof Reflect.get(value, 'status') === 'number'
  );
}
