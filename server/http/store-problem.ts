// Turns failures of the store into problems for clients. Only this file knows both.
import { storeFailure } from '../db/failures.js';
import { ApiProblem } from '../problem.js';

/**
 * The problem to answer with when the store failed: `db.timeout` (504) or `db.unavailable` (503), with the error as its
 * cause. Null if the error is not a failure of the store.
 */
export function toStoreProblem(error: unknown): ApiProblem | null {
  const failure = storeFailure(error);
  if (failure === null) return null;
  return new ApiProblem(failure === 'timeout' ? 'db.timeout' : 'db.unavailable', { cause: error });
}
