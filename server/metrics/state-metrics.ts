// The state of a gateway at the moment: the policy in force and its age, the store's connections, the audit log, and
// whether requests can be answered. It is only read on demand, so it costs nothing in between.
import type { AuditTrail } from '../audit/trail.js';
import type { CredentialIssuer } from '../auth/authenticator.js';
import type { Feed } from '../changes/feed.js';
import type { Database, PoolFacts } from '../db/database.js';
import type { CutReason } from '../http/connection.js';
import type { ConnectionFacts } from '../http/connection-table.js';
import type { Readiness } from '../http/readiness.js';
import type { StatusOptions } from '../http/routes/status.js';
import type { CertificateTimes } from '../http/tls-files.js';
import type { ActivePolicy, PolicyState } from '../policy/active/active-policy.js';
import type { Peers } from '../policy/store/peers.js';
import { isSourceAway } from '../policy/policy-fault.js';
import { ageOf, type AgeLimits, stalenessOf } from '../policy/active/staleness.js';
import type { Clock } from '../lib/ports.js';
import type { Shadow } from '../shadow/shadow.js';
import type { MetricValue, Registry } from './series.js';

/** Returns the same policies, and counts their changes from now on. */
export function countReloads({ counter }: Registry, policies: ActivePolicy): ActivePolicy {
  const reloads = counter({
    name: 'bailiwick_snapshot_reloads_total',
    help: 'Activations of policies, offers that were refused, and failures to read the source (away), by the code of the reason.',
    labels: ['result', 'reason'],
  });
  return {
    ...policies,
    activate: (...next) => {
      const active = policies.activate(...next);
      reloads.add('activated', 'none');
      return active;
    },
    refuse: (fault) => {
      policies.refuse(fault);
      reloads.add(isSourceAway(fault) ? 'away' : 'refused', fault.code);
    },
  };
}

const isAway = ({ refusal }: PolicyState): boolean => refusal !== null && isSourceAway(refusal);

interface PolicyFacts {
  readonly policies: ActivePolicy;
  readonly ages: AgeLimits;
  readonly clock: Clock;
}

export function publishPolicy({ gauge }: Registry, { policies, ages, clock }: PolicyFacts): void {
  const { current, state } = policies;
  gauge(
    {
      name: 'bailiwick_snapshot_info',
      help: 'The policy in force: its name, the digest of its snapshot and that of its decisions; always 1.',
      labels: ['policy', 'snapshot', 'decisions'],
    },
    () => {
      const { name, digest, decisions } = current().policy;
      return [[1, name, digest, decisions]];
    },
  );
  gauge(
    {
      name: 'bailiwick_snapshot_generation',
      help: 'The activation number: how many times a policy was activated on this store, including this time.',
    },
    () => [[current().generation]],
  );
  gauge(
    { name: 'bailiwick_snapshot_activation_timestamp_seconds', help: 'When the policy in force was activated.' },
    () => [[current().since / 1000]],
  );
  gauge(
    {
      name: 'bailiwick_snapshot_last_success_timestamp_seconds',
      help: 'When the policy in force was activated, or last found at its source.',
    },
    () => [[state().confirmedAt / 1000]],
  );
  gauge(
    { name: 'bailiwick_snapshot_age_seconds', help: 'Time since the policy in force was last found at its source.' },
    () => [[ageOf(state(), clock.now()) / 1000]],
  );
  gauge(
    {
      name: 'bailiwick_snapshot_expires_timestamp_seconds',
      help: 'When the statement expires under which the policy in force was published; absent without a statement.',
    },
    () => {
      const { statement } = current();
      return statement === null ? [] : [[statement.expires / 1000]];
    },
  );
  gauge(
    { name: 'bailiwick_snapshot_refused', help: '1 while what the source offers cannot be served, else 0.' },
    () => [[state().refusal === null || isAway(state()) ? 0 : 1]],
  );
  gauge(
    { name: 'bailiwick_source_up', help: '0 while the source of the policy cannot be reached or read, else 1.' },
    () => [[isAway(state()) ? 0 : 1]],
  );
  gauge(
    {
      name: 'bailiwick_snapshot_stale',
      help: '1 if the policy in force has reached this age limit, else 0; at `hard` the gateway stops deciding. The expiry of a statement is separate.',
      labels: ['limit'],
    },
    () => {
      const stale = stalenessOf(state(), ages, clock.now());
      return [
        [stale === 'no' ? 0 : 1, 'soft'],
        [stale === 'hard' ? 1 : 0, 'hard'],
      ];
    },
  );
}

export function publishShadow({ gauge, total }: Registry, { state, totals }: Pick<Shadow, 'state' | 'totals'>): void {
  total(
    {
      name: 'bailiwick_shadow_comparisons_total',
      help: 'Decisions of live requests that a candidate repeated, and those that were skipped for lack of time.',
      labels: ['result'],
    },
    () => {
      const { compared, skipped } = totals();
      return [
        [compared, 'compared'],
        [skipped, 'skipped'],
      ];
    },
  );
  total(
    {
      name: 'bailiwick_shadow_divergence_total',
      help: 'Decisions of live requests that a candidate would have made differently: gained, lost, or, for a query, both.',
      labels: ['change'],
    },
    () => {
      const { gained, lost, both } = totals();
      return [
        [gained, 'gained'],
        [lost, 'lost'],
        [both, 'both'],
      ];
    },
  );
  gauge(
    {
      name: 'bailiwick_shadow_differing_cells',
      help: 'Cells that a candidate decides differently from the policy in force; absent without a candidate, and until the number is known.',
    },
    () => {
      const cells = state()?.difference?.cells;
      return cells === undefined ? [] : [[Number(cells)]];
    },
  );
}

export function publishPeers(
  { gauge }: Registry,
  { peers, policies }: { readonly peers: Pick<Peers, 'list'> | null; readonly policies: Pick<ActivePolicy, 'current'> },
): void {
  gauge(
    {
      name: 'bailiwick_peers',
      help: 'Other gateways of the store with a recent heartbeat, by whether they serve the same snapshot as this one.',
      labels: ['serves'],
    },
    () => {
      if (peers === null) return [];
      const { digest } = policies.current().policy;
      const others = peers.list();
      const same = others.filter(({ snapshot }) => snapshot === digest).length;
      return [
        [same, 'same'],
        [others.length - same, 'other'],
      ];
    },
  );
}

export function publishStore(registry: Registry, { pools, replicas }: Pick<Database, 'pools' | 'replicas'>): void {
  const { gauge } = registry;
  const ofEach =
    (readings: (pool: PoolFacts) => readonly MetricValue[]): (() => readonly MetricValue[]) =>
    () =>
      pools().flatMap(readings);
  gauge(
    {
      name: 'bailiwick_db_connections',
      help: 'Connections to the store: those in use and those that are free.',
      labels: ['pool', 'state'],
    },
    ofEach(({ name, open, free }) => [
      [open - free, name, 'used'],
      [free, name, 'free'],
    ]),
  );
  gauge(
    { name: 'bailiwick_db_connections_max', help: 'The limit of connections to the store, by pool.', labels: ['pool'] },
    ofEach(({ name, max }) => [[max, name]]),
  );
  gauge(
    { name: 'bailiwick_db_waiting', help: 'Requests that wait for a connection to the store.', labels: ['pool'] },
    ofEach(({ name, waiting }) => [[waiting, name]]),
  );
  gauge(
    {
      name: 'bailiwick_replica_used',
      help: '1 while queries are read from this replica, else 0; absent without replicas.',
      labels: ['replica'],
    },
    () => replicas().map(({ address, isUsed }) => [isUsed ? 1 : 0, address]),
  );
  gauge(
    {
      name: 'bailiwick_replica_age_seconds',
      help: 'How old the data of this replica may be; absent while unknown.',
      labels: ['replica'],
    },
    () =>
      replicas().flatMap(({ address, age }): readonly MetricValue[] => (age === null ? [] : [[age / 1000, address]])),
  );
}

export function publishAudit({ gauge, total }: Registry, { counts, lags }: Pick<AuditTrail, 'counts' | 'lags'>): void {
  total(
    {
      name: 'bailiwick_audit_records_total',
      help: 'Events of the audit log that were written to the disk since the start.',
    },
    () => [[counts().written]],
  );
  total(
    {
      name: 'bailiwick_audit_dropped_total',
      help: 'Events that were lost because the audit log could not be written for too long.',
    },
    () => [[counts().lost]],
  );
  gauge(
    {
      name: 'bailiwick_audit_lag_seconds',
      help: 'For how long the files of the audit log could not be written, events in the store could not be fetched, and checkpoints could not be signed (absent without a key for them); 0 while it works.',
      labels: ['of'],
    },
    () => {
      const { file, store, checkpoint } = lags();
      return [
        [file / 1000, 'file'],
        [store / 1000, 'store'],
        ...(checkpoint === undefined ? [] : [[checkpoint / 1000, 'checkpoint'] as const]),
      ];
    },
  );
  gauge(
    {
      name: 'bailiwick_audit_stuck_events',
      help: 'Events in the store that another audit log has claimed and does not take: see `bailiwick audit release`.',
    },
    () => [[lags().stuck ?? 0]],
  );
}

export function publishReadiness(
  { gauge }: Registry,
  readiness: () => Promise<{ readonly checks: Partial<Readiness['checks']> }>,
): void {
  gauge({ name: 'bailiwick_ready', help: '1 if this check of /readyz passes, else 0.', labels: ['check'] }, async () =>
    Object.entries((await readiness()).checks).map(([check, said]) => [said === 'ok' ? 1 : 0, check]),
  );
}

/** `workers` is null where one process answers. */
export function publishWorkers({ gauge }: Registry, workers: StatusOptions['workers']): void {
  gauge(
    {
      name: 'bailiwick_workers',
      help: 'Processes that should answer requests of the API (configured), and those that do (answering); absent without workers.',
      labels: ['state'],
    },
    () => {
      if (workers === null) return [];
      const { size, serving } = workers();
      return [
        [size, 'configured'],
        [serving, 'answering'],
      ];
    },
  );
}

export function publishIssuers({ gauge }: Registry, issuers: readonly CredentialIssuer[]): void {
  gauge(
    {
      name: 'bailiwick_issuer_up',
      help: '1 if credentials of this issuer can be verified, by its place in the settings, else 0.',
      labels: ['setting'],
    },
    () => issuers.map(({ setting, trouble }) => [trouble() === null ? 1 : 0, setting]),
  );
}

export function publishCertificates({ gauge }: Registry, times: CertificateTimes | null): void {
  gauge(
    {
      name: 'bailiwick_tls_certificate_expires_timestamp_seconds',
      help: 'When the certificate of the API expires, and the first of the authorities for client certificates; absent without one.',
      labels: ['of'],
    },
    () => {
      const clientCa = times?.clientCaExpires() ?? null;
      return [
        ...(times === null ? [] : [[times.expires() / 1000, 'api'] as const]),
        ...(clientCa === null ? [] : [[clientCa / 1000, 'client_ca'] as const]),
      ];
    },
  );
}

/** Returns what counts the connections that are ended. `facts` is null where there is no listener of the API. */
export function publishConnections(
  { gauge, total }: Registry,
  facts: (() => ConnectionFacts) | null,
): (reason: CutReason) => void {
  gauge(
    {
      name: 'bailiwick_http_connections',
      help: 'Open connections to the API: those that have carried a valid credential, and those of strangers.',
      labels: ['from'],
    },
    () => {
      if (facts === null) return [];
      const { known, strangers } = facts();
      return [
        [known, 'known'],
        [strangers, 'stranger'],
      ];
    },
  );
  gauge({ name: 'bailiwick_http_connections_max', help: 'The limit of connections to the API.' }, () =>
    facts === null ? [] : [[facts().max]],
  );
  const cuts = new Map(CUT_REASONS.map((reason) => [reason, 0]));
  total(
    {
      name: 'bailiwick_http_connections_cut_total',
      help: 'Connections that were refused or closed: the table was full, their address was at its limit, their client read too slowly, or it or all of them sent too much at once.',
      labels: ['reason'],
    },
    () =>
      [...cuts].flatMap(([reason, count]): MetricValue[] => (facts === null && count === 0 ? [] : [[count, reason]])),
  );
  return (reason) => {
    cuts.set(reason, (cuts.get(reason) ?? 0) + 1);
  };
}

/** All that there are: for Prometheus, a count that appears with its first connection has not grown. */
const CUT_REASONS: readonly CutReason[] = ['slow', 'pipelined', 'address', 'full'];

/** Returns what counts the streams that are open. */
export function publishChanges({ gauge }: Registry, feed: Pick<Feed, 'state'>): (by: 1 | -1) => void {
  let streams = 0;
  gauge({ name: 'bailiwick_changes_streams', help: 'Streams of the feed of changes that are open.' }, () => [
    [streams],
  ]);
  gauge(
    {
      name: 'bailiwick_changes_lag_seconds',
      help: 'How long the oldest change that is not in the feed yet has waited, at the last check; 0 if there is none.',
    },
    () => {
      const state = feed.state();
      return state === null ? [] : [[state.lag ?? 0]];
    },
  );
  return (by) => {
    streams += by;
  };
}
