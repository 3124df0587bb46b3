// Why a credential is refused: what the operator's log and the metrics are told, and the client is not.
import { ApiProblem } from '../../server/problem.js';

/** Fault and reason of the `auth.invalid` that is thrown; null if nothing is. Anything else is thrown on. */
export function refusedCredential(act: () => unknown): readonly [fault: unknown, reason: unknown] | null {
  try {
    act();
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code !== 'auth.invalid') throw error;
    return [error.detail.fault, error.detail.reason];
  }
  return null;
}
