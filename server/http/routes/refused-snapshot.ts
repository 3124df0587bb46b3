// The problem that tells an admin why a snapshot was refused.
import { PolicyRefused } from '../../policy/policy-fault.js';
import { ApiProblem, isProblemCode } from '../../problem.js';

/** The result of the work. If it throws `PolicyRefused`, throws the problem instead. */
export async function refusedAs<T>(
  problem: 'snapshot.refused' | 'snapshot.invalid',
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PolicyRefused)) throw error;
    const { code, message } = error.fault;
    if (code === 'snapshot.not_found' || code === 'snapshot.rollback_refused') throw new ApiProblem(code);
    const own = isProblemCode(code) ? code : problem;
    throw new ApiProblem(problem, { errors: [{ pointer: '', code: own, message: `${code}: ${message}` }] });
  }
}
