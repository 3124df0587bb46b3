// GET /admin/v1/status: what runs here, since when, and how old it is.
import { formatInstant, type Instant } from '../../../engine/index.js';
import { STATUS_ANSWER } from '../../api/admin-schemas.js';
import type { AuditLags, Recorder } from '../../audit/trail.js';
import type { Database } from '../../db/database.js';
import type { ReplicaState } from '../../db/replica.js';
import type { PeerGateway, Peers } from '../../policy/store/peers.js';
import type { Active, ActivePolicy, PolicyState } from '../../policy/active/active-policy.js';
import { ageOf, type AgeLimits, stalenessOf, undecidedBecause } from '../../policy/active/staleness.js';
import type { Shadow } from '../../shadow/shadow.js';
import { maskCredentials } from '../../lib/mask.js';
import { programVersion } from '../../lib/version.js';
import type { AuthzenSettings } from './authzen.js';
import type { Readiness } from '../readiness.js';
import type { StatusRoute } from '../route.js';
import type { CertificateTimes } from '../tls-files.js';
import { shadowSummary } from './shadow.js';

export interface StatusOptions {
  readonly startedAt: Instant;
  readonly db: Database;
  readonly policies: ActivePolicy;
  readonly ages: AgeLimits;
  readonly shadow: Pick<Shadow, 'state'>;
  /** Null if the gateway does not look for others. */
  readonly peers: Pick<Peers, 'list'> | null;
  readonly readiness: () => Promise<Readiness>;
  /** What is wrong with the store; null if nothing is. */
  readonly storeFault: () => string | null;
  /** Null if nothing is recorded. */
  readonly audit: Pick<Recorder, 'lags'> | null;
  /** Null without TLS. */
  readonly certificates: CertificateTimes | null;
  /** The workers of this gateway; null if it has none. */
  readonly workers: (() => { readonly size: number; readonly serving: number }) | null;
  /** Null unless others are answered in the words of AuthZEN. */
  readonly authzen: AuthzenSettings | null;
}

export function makeStatusRoute(options: StatusOptions): StatusRoute {
  const { startedAt, db, policies, ages, shadow, peers, readiness, storeFault } = options;
  const { audit, certificates, workers, authzen } = options;
  const version = programVersion();
  return {
    method: 'GET',
    path: '/admin/v1/status',
    access: 'status',
    operationId: 'getStatus',
    summary: 'Show what this gateway runs',
    input: {},
    output: { 200: { type: 'application/json', schema: STATUS_ANSWER } },
    answer: async ({ at }) => {
      const { isReady, checks } = await readiness();
      const state = policies.state();
      const candidate = shadow.state();
      const status = {
        version,
        startedAt: formatInstant(startedAt),
        ready: isReady,
        checks,
        ...policyFacts(state),
        ageSeconds: Math.floor(ageOf(state, at) / 1000),
        stale: stalenessOf(state, ages, at),
        undecided: undecidedBecause(state, ages, at),
        store: {
          kind: db.kind,
          ok: checks.store === 'ok',
          fault: storeFault(),
          replicas: db.replicas().map(replicaFacts),
        },
        audit: audit === null ? null : auditFacts(audit.lags(), checks),
        certificate: certificates === null ? null : certificateFacts(certificates),
        tls: certificates === null ? null : { expires: formatInstant(certificates.expires()) },
        authzen: authzen === null ? null : { vocabulary: authzen.vocabulary?.digest ?? null },
        shadow: candidate === null ? null : shadowSummary(candidate),
        workers: workers === null ? null : workers(),
        peers: peers?.list().map(peerFacts) ?? [],
      };
      return { status: 200, json: JSON.stringify(status) };
    },
  };
}

function replicaFacts({ address, isUsed, age, fault, reason }: ReplicaState): object {
  return { address, used: isUsed, ageSeconds: age === null ? null : age / 1000, fault, reason };
}

function auditFacts(
  { file, store, error, checkpoint, stuck = 0 }: AuditLags,
  { audit, outbox }: Readiness['checks'],
): object {
  return {
    ok: audit === 'ok' && outbox === 'ok',
    lagSeconds: Math.max(file, store) / 1000,
    fileLagSeconds: file / 1000,
    storeLagSeconds: store / 1000,
    checkpointLagSeconds: checkpoint === undefined ? null : checkpoint / 1000,
    stuckEvents: stuck,
    ...(error === undefined ? {} : { error: maskCredentials(error) }),
  };
}

function certificateFacts({ expires, clientCaExpires, fault }: CertificateTimes): object {
  const clientCa = clientCaExpires();
  return {
    expiresAt: formatInstant(expires()),
    clientCaExpiresAt: clientCa === null ? null : formatInstant(clientCa),
    fault: fault(),
  };
}

function peerFacts({ startedAt, seenAt, ...facts }: PeerGateway): object {
  return { ...facts, startedAt: formatInstant(startedAt), seenAt: formatInstant(seenAt) };
}

function statementFacts({ statement, signers }: Active): object {
  if (statement === null) return { issuedAt: null, statement: null };
  const expires = formatInstant(statement.expires);
  return {
    issuedAt: formatInstant(statement.issued),
    statement: { generation: statement.generation, expires, expiresAt: expires, signers },
  };
}

function policyFacts({ active, refusal, lag }: PolicyState): object {
  const fault = refusal === null || (lag !== null && lag.at > refusal.at) ? lag : refusal;
  const { policy, generation, source, since, labels, reason } = active;
  return {
    policy: policy.name,
    snapshot: policy.digest,
    decisions: policy.decisions,
    labels,
    generation,
    reason,
    source,
    loadedAt: formatInstant(since),
    ...statementFacts(active),
    lastError: fault === null ? null : { ...fault, at: formatInstant(fault.at) },
  };
}
