// What the pipeline works with: the services of the process, which all requests share, and the door that a request came
// through.
import type { Instant } from '../../engine/index.js';
import type { AdminActor, MonitorActor } from '../auth/admin-actor.js';
import type { AuthenticatorRegistry } from '../auth/authenticator.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { ActorResolver } from '../auth/resolved-actors.js';
import type { Clock, IdSource } from '../lib/ports.js';
import type { Active, ActivePolicy } from '../policy/active/active-policy.js';
import { type AgeLimits, isLeaseExpired, undecidedBecause } from '../policy/active/staleness.js';
import { ApiProblem } from '../problem.js';
import type { LiveComparison } from '../shadow/live-comparison.js';
import type { BeginSpan } from '../telemetry/trace.js';
import type { ClientAddress } from './client-address.js';
import type { Cors } from './cors.js';
import type { HostGuard } from './host-guard.js';
import type { Limiters } from './identify.js';
import type { RequestAudit } from './request-audit.js';
import type { RequestObserver } from './request-observer.js';
import type { Bodies, Readers, Shares } from './shares.js';
import type { Places } from './stream-places.js';

/** What every request needs, whichever door it comes through. */
export interface Services {
  readonly actors: AuthenticatorRegistry<RequestActor>;
  /** Who reads without a credential; null if everybody needs one. */
  readonly anonymous: RequestActor | null;
  readonly admins: AuthenticatorRegistry<AdminActor>;
  /** Who may see what runs here: admins and monitoring. */
  readonly watchers: AuthenticatorRegistry<AdminActor | MonitorActor>;
  readonly policies: ActivePolicy;
  readonly ages: AgeLimits;
  readonly resolveActor: ActorResolver;
  readonly limiters: Limiters;
  readonly clientAddress: ClientAddress;
  readonly shares: Readonly<Record<'actors' | 'anonymous', Shares>> & {
    /** What monitoring leaves unread keeps no admin out, and nothing keeps the gateway's own user out. */
    readonly admins: Readonly<Record<(AdminActor | MonitorActor)['kind'], Shares>>;
    readonly strangers: Readers;
    /** What those who read without a credential share: turns, and room for what they send. */
    readonly crowd: Pick<Shares, 'enter'>;
    readonly bodies: Bodies;
    /** Those of `actors` and of `anonymous`, each together. */
    readonly readers: Readonly<Record<'actors' | 'anonymous', Readers>>;
  };
  /** Places for streams, which an actor takes in addition to its turns. */
  readonly streams: Readonly<Record<'actors' | 'anonymous', Places>>;
  readonly clock: Clock;
  readonly nextId: IdSource;
  readonly beginSpan: BeginSpan;
  readonly observer: RequestObserver;
  readonly audit: RequestAudit;
  readonly shadow: Pick<LiveComparison, 'note'>;
}

/** One way in: a listener, or calls within the process. */
export interface Door {
  readonly services: Services;
  readonly guard: HostGuard;
  /** Whether everybody who reaches this door may see what runs here. */
  readonly showsStatus: boolean;
  /** Of its own address. Defaults to `http`. */
  readonly scheme?: 'http' | 'https';
  /** Web pages that may send requests. */
  readonly cors: Cors;
  readonly isClosing: () => boolean;
}

/** Pins the policy. Refuses if nobody can tell whether it is still in force. */
export function pinFresh({ policies, ages }: Services, at: Instant): Active {
  const state = policies.state();
  if (isLeaseExpired(state)) throw new ApiProblem('snapshot.unavailable', { retryAfter: 1 });
  const reason = undecidedBecause(state, ages, at);
  if (reason !== null) throw new ApiProblem('snapshot.expired', { title: capitalized(reason), retryAfter: 5 });
  return state.active;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
