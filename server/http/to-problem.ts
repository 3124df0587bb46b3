// The problem that an error is answered with, whatever was thrown on the way.
import { ApiProblem } from '../problem.js';
import { RequestAborted } from './message.js';
import { toStoreProblem } from './store-problem.js';

/** Any error other than a refusal of ours or a failure of the store is a bug of ours. */
export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  // Nobody gets this answer, and it must not be logged as a bug of ours.
  if (error instanceof RequestAborted) return new ApiProblem('request.malformed', { cause: error });
  return toStoreProblem(error) ?? new ApiProblem('internal', { cause: error });
}
