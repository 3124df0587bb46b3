// Every series that a gateway can have, by name, with its own description, for tests of texts that mention them.
import { noStore } from '../../server/db/no-store.js';
import { processMetrics } from '../../server/metrics/process-metrics.js';
import { makeRequestMetrics } from '../../server/metrics/request-metrics.js';
import { makeRegistry, type Series } from '../../server/metrics/series.js';
import {
  countReloads,
  publishAudit,
  publishCertificates,
  publishChanges,
  publishConnections,
  publishIssuers,
  publishPeers,
  publishPolicy,
  publishReadiness,
  publishShadow,
  publishStore,
  publishWorkers,
} from '../../server/metrics/state-metrics.js';
import { makeActivePolicy } from '../../server/policy/active/active-policy.js';
import { NO_AGE_LIMITS } from '../../server/policy/active/staleness.js';
import { systemClock } from '../../server/lib/ports.js';
import { SILENT } from './audit-log.js';
import { policyOf } from './gateway.js';

export async function everySeries(): Promise<ReadonlyMap<string, Series>> {
  const registry = makeRegistry();
  const active = makeActivePolicy({ policy: policyOf([]) }, { clock: systemClock, log: SILENT });
  const policies = countReloads(registry, active);
  makeRequestMetrics(registry);
  publishPolicy(registry, { policies, ages: NO_AGE_LIMITS, clock: systemClock });
  publishPeers(registry, { policies, peers: null });
  publishStore(registry, noStore());
  publishAudit(registry, { counts: () => ({ written: 0, lost: 0 }), lags: () => ({ file: 0, store: 0 }) });
  publishReadiness(registry, () =>
    Promise.resolve({
      isReady: true,
      checks: { listener: 'ok', certificate: 'ok', policy: 'ok', store: 'ok', outbox: 'ok', audit: 'ok' },
    }),
  );
  publishShadow(registry, {
    state: () => null,
    totals: () => ({ compared: 0, gained: 0, lost: 0, both: 0, skipped: 0 }),
  });
  publishIssuers(registry, []);
  publishWorkers(registry, null);
  publishCertificates(registry, null);
  publishChanges(registry, { state: () => null });
  publishConnections(registry, () => ({ max: 1, known: 0, strangers: 0 }));
  const series = [...(await registry.read()), ...(await processMetrics().read())];
  return new Map(series.map((one) => [one.name, one]));
}
