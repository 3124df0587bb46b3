// The policy with which `serve` begins, chosen from what it was given and what the store has. Failures are reported
// with an exit status.
import type { Logger } from '../ports.js';
import type { Started, StartOptions } from '../policy/start-policy.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { storeFailure } from './open-store.js';
import type { PolicyAtStart } from './policy-at-start.js';

interface Serving extends Omit<StartOptions, 'offered'> {
  readonly found: PolicyAtStart;
  readonly log: Logger;
}

/**
 * Throws `CliFailure`: that of the source if there is no policy at all, and 6 if the policy in force cannot be served.
 */
export async function startServing({ found, log, ...options }: Serving): Promise<Started> {
  const { takeOffered, without } = found;
  const { startPolicy } = await import('../policy/start-policy.js');
  const start = await startPolicy({ ...options, offered: takeOffered() }).catch(async (error: unknown) => {
    throw await storeFailure(error);
  });
  if (start.kind === 'none') throw without ?? new TypeError('an offer that is none');
  if (start.kind === 'refused') {
    const { code, message } = start.fault;
    throw new CliFailure(EXIT.precondition, { code, message });
  }
  if (without !== null && !found.isInStore) {
    const { policy } = start.candidate;
    log.error(
      { code: without.code, reason: without.message, snapshot: policy.digest, generation: start.generation },
      'the source offers nothing that can be served, and what was in force last is',
    );
  }
  return start;
}
