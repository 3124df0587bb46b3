// Turns failures of the store into problems for clients. Only this file knows both.
import { StoreError, storeFailure } from '../db/failures.js';
import { ApiProblem } from '../problem.js';

/**
 * The problem to answer with when the store failed: `db.timeout` (504) or `db.unavailable` (503), with the error as its
 * cause. It says if a write may have been done all the same. Null if the error is not a failure of the store.
 */
export function toStoreProblem(error: unknown): ApiProblem | null {
  const failure = storeFailure(error);
  if (failure === null) return null;
  const inDoubt = error instanceof StoreError && error.isInDoubt ? IN_DOUBT[failure] : {};
  return new ApiProblem(failure === 'timeout' ? 'db.timeout' : 'db.unavailable', { ...inDoubt, cause: error });
}

const IN_DOUBT = Object.freeze({
  timeout: { outcome: 'unknown', title: 'The store did not say in time whether this was done' },
  unavailable: { outcome: 'unknown', title: 'The store was lost before it said whether this was done' },
} as const);
