// The problem that tells an admin why a snapshot was refused.
import type { PolicyFault } from '../../policy/policy-fault.js';
import { ApiProblem, isProblemCode } from '../../problem.js';

export function refusedSnapshot(
  { code, message }: PolicyFault,
  as: 'snapshot.refused' | 'snapshot.invalid' = 'snapshot.refused',
): ApiProblem {
  if (code === 'snapshot.not_found' || code === 'snapshot.rollback_refused') return new ApiProblem(code);
  const own = isProblemCode(code) ? code : as;
  return new ApiProblem(as, {
    errors: [{ pointer: '', code: own, message: `${code}: ${message}` }],
  });
}
