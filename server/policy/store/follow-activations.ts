// Every gateway of a store follows its newest activation: at once when it is announced, and by polling in case an
// announcement was lost.
import type { Database } from '../../db/database.js';
import { storeFailure } from '../../db/failures.js';
import { STORED_LIMITS } from '../../limits/policy.js';
import type { Logger } from '../../lib/ports.js';
import { type Poller, makePoller } from '../../lib/poller.js';
import { ACTIVATIONS_CHANNEL } from './activations.js';
import type { ActivePolicy } from '../active/active-policy.js';
import type { Activator } from '../active/activator.js';
import { oneLine, type PolicyFault } from '../policy-fault.js';
import { isLeaseExpired } from '../active/staleness.js';

export interface FollowActivationsOptions {
  readonly db: Pick<Database, 'kind' | 'listen'>;
  readonly activator: Pick<Activator, 'ask' | 'catchUp'>;
  readonly policies: Pick<ActivePolicy, 'beat' | 'confirm' | 'current' | 'fallBehind' | 'state'>;
  readonly log: Logger;
  /** What confirms that the policy in force is still current: the store, if there is no other source. */
  readonly confirmedBy: 'store' | 'source';
}

const UNKNOWN = oneLine(
  'activation.unknown',
  'the store does not say which activation is the newest, and nothing is decided before it does',
);

export function followActivations({ db, activator, policies, log, confirmedBy }: FollowActivationsOptions): Poller {
  let told: PolicyFault | null = null;
  const tell = (fault: PolicyFault | null): void => {
    policies.fallBehind(fault);
    if (fault !== null && (fault.code !== told?.code || fault.message !== told.message)) {
      const { digest: snapshot } = policies.current().policy;
      log.error({ snapshot, ...fault }, 'the newest activation was refused, and the policy in force stays');
    }
    told = fault;
  };
  const miss = (error: unknown): void => {
    // Health checks already report that the store is away.
    if (storeFailure(error) === null) log.error({ error }, 'checking for a new activation failed');
    if (isLeaseExpired(policies.state())) policies.fallBehind(UNKNOWN);
  };
  let looksSince = Infinity;
  const watch = makePoller(STORED_LIMITS.poll, async (why, signal) => {
    looksSince = performance.now();
    try {
      const fault = await activator.catchUp(why, signal);
      tell(fault);
      if (fault === null && confirmedBy === 'store') policies.confirm();
    } catch (error) {
      if (!signal.aborted) miss(error);
    } finally {
      looksSince = Infinity;
    }
  });
  let asking: Promise<void> | null = null;
  const ask = async (): Promise<void> => {
    try {
      await activator.ask();
      if (policies.state().lag?.code === UNKNOWN.code) policies.fallBehind(told);
    } catch (error) {
      miss(error);
    } finally {
      asking = null;
    }
  };
  // Looks may take long, while a large policy is opened. So this has a timer of its own, and the store is asked meanwhile.
  const beat = (): void => {
    policies.beat(STORED_LIMITS.silence[db.kind]);
    // A look that has just begun asks for itself.
    if (performance.now() - looksSince > STORED_LIMITS.poll / 2) asking ??= ask();
  };
  beat();
  const pulse = setInterval(beat, STORED_LIMITS.poll).unref();
  const listening = db.listen(ACTIVATIONS_CHANNEL, watch.notify);
  void listening.then(({ failure: error }) => {
    if (error !== null) log.warn({ error }, 'the store sends no notifications of activations yet: polling for them');
  });
  return {
    pollNow: watch.pollNow,
    stop: async () => {
      clearInterval(pulse);
      await (await listening).close();
      await watch.stop();
      await asking;
    },
  };
}
