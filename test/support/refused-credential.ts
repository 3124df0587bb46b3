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

/** What the operator is told of a credential: fault and reason of its refusal, with the code if it could not be judged. */
export async function judged(authenticating: Promise<unknown>): Promise<'accepted' | readonly [unknown, unknown]> {
  try {
    await authenticating;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return [error.code === 'auth.invalid' ? error.detail.fault : error.code, error.detail.reason];
  }
  return 'accepted';
}
