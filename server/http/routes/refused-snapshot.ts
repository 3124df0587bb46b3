// Why a snapshot is not taken, as the problem that an admin is told.
import type { PolicyFault } from '../../policy/policy-fault.js';
import { ApiProblem, isProblemCode } from '../../problem.js';

export function refusedSnapshot({ code, message }: PolicyFault): ApiProblem {
  if (code === 'snapshot.not_found' || code === 'snapshot.rollback_refused') return new ApiProblem(code);
  const own = isProblemCode(code) ? code : 'snapshot.refused';
  return new ApiProblem('snapshot.refused', {
    errors: [{ pointer: '', code: own, message: `${code}: ${message}` }],
  });
}
