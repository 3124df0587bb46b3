// Whether the gateway can do its work now, for those who send it requests. Each check only says `ok` or `failed`.
import type { AuditFault } from '../audit/trail.js';
import type { ActivePolicy, PolicyState } from '../policy/active/active-policy.js';
import { type AgeLimits, isLeaseExpired, undecidedBecause } from '../policy/active/staleness.js';
import type { Clock } from '../lib/ports.js';
import { HEALTH_LIMITS } from '../limits/http.js';
import type { CertificateTimes } from './tls-files.js';

export interface ReadinessOptions {
  readonly policies: ActivePolicy;
  readonly ages: AgeLimits;
  readonly clock: Clock;
  /** Resolves if the store answers. */
  readonly ping: () => Promise<void>;
  /** Why requests, or some of them, are refused by the store, as far as is known; null if nothing is wrong. */
  readonly storeFault: () => string | null;
  /** Why requests cannot be recorded; null if they can, or may be answered without that. */
  readonly auditFault: () => AuditFault | null;
  /** Null without TLS. Without authorities for client certificates, other credentials still work. */
  readonly certificates: CertificateTimes | null;
  /** Whether the gateway is about to stop. */
  readonly isLeaving: () => boolean;
}

/** `outbox`: the store gives the events of commands to the audit log. */
type Check = 'listener' | 'certificate' | 'policy' | 'store' | 'outbox' | 'audit';

export interface Readiness {
  readonly isReady: boolean;
  readonly checks: Readonly<Record<Check, 'ok' | 'failed'>>;
}

/** Asks the store only once in a while, however many callers want to know. */
export function makeReadiness(options: ReadinessOptions): () => Promise<Readiness> {
  const { policies, ages, clock, ping, storeFault, auditFault, certificates, isLeaving } = options;
  const storeAnswers = remembered(() => answersInTime(ping));
  /** A snapshot with false labels says something untrue about itself, so nobody stands behind it. */
  const mayDecide = (state: PolicyState): boolean =>
    state.active.labels !== 'false' && !isLeaseExpired(state) && undecidedBecause(state, ages, clock.now()) === null;
  return async () => {
    const fault = auditFault();
    const said = (isOk: boolean): 'ok' | 'failed' => (isOk ? 'ok' : 'failed');
    const checks = {
      listener: said(!isLeaving()),
      certificate: said((certificates?.fault() ?? null) === null),
      policy: said(mayDecide(policies.state())),
      store: said((await storeAnswers()) && storeFault() === null),
      outbox: said(fault !== 'store'),
      audit: said(fault === null || fault === 'store'),
    };
    return { isReady: Object.values(checks).every((one) => one === 'ok'), checks };
  };
}

function remembered(ask: () => Promise<boolean>): () => Promise<boolean> {
  let asked: { readonly at: number; readonly answer: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (asked === null || now - asked.at >= HEALTH_LIMITS.interval) asked = { at: now, answer: ask() };
    return asked.answer;
  };
}

async function answersInTime(ping: () => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, HEALTH_LIMITS.patience, false);
  });
  const answered = ping().then(
    () => true,
    () => false,
  );
  const isThere = await Promise.race([answered, late]);
  clearTimeout(timer);
  return isThere;
}
