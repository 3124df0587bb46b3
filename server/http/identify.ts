// Who a request comes from: the actor of its credential, or the anonymous actor if the settings have one. Each actor is
// counted against limits here, and nowhere else.
import { type AuthenticatorRegistry, bearerToken, type Evidence, notValid } from '../auth/authenticator.js';
import type { RequestActor } from '../auth/request-actor.js';
import { ApiProblem, type LimitName, type ProblemCode } from '../problem.js';
import type { Attempts } from './attempts.js';
import type { Exchange } from './exchange.js';
import { addressName, type RateLimiter, tooMany } from './rate-limit.js';
import type { RequestAudit } from './request-audit.js';
import type { Route } from './route.js';

export interface Limiters {
  readonly perActor: RateLimiter;
  readonly perAddress: RateLimiter;
  /** Failures of authentication, by address. */
  readonly unauthenticated: RateLimiter;
  /** Look-ups of credentials that were never right, by address. */
  readonly attempts: Attempts;
}

/** What identifying needs of the services. */
interface Identifying {
  readonly limiters: Limiters;
  readonly audit: RequestAudit;
  /** Who reads without a credential; null if everybody needs one. */
  readonly anonymous: RequestActor | null;
}

/** Whether the request presents no credential at all, not even a bad one. */
export function isBare({ headers, incoming: { peer } }: Exchange): boolean {
  return !headers.has('authorization') && peer.certificate === null && peer.certificateFault === null;
}

/** What is done with a credential only. Whoever brings none gets 401, so that clients know to sign in. */
const SIGNED_IN: ReadonlySet<Route['access']> = new Set(['command', 'ask']);

/** The actor of a request without a credential; null if it needs one. */
export function asAnonymous(
  services: Pick<Identifying, 'limiters' | 'anonymous'>,
  { access }: Route,
  exchange: Exchange,
): RequestActor | null {
  const { anonymous, limiters } = services;
  if (anonymous === null || !isBare(exchange) || SIGNED_IN.has(access)) return null;
  exchange.actor = anonymous;
  limitAddress(services, exchange);
  limit(limiters.perActor, 'actor', countedAs(anonymous, exchange), exchange);
  return anonymous;
}

/** The name that an actor's requests are counted under. Without a credential, each address is somebody else. */
export function countedAs({ kind, id }: NonNullable<Exchange['actor']>, { address }: Exchange): string {
  return kind === 'anonymous' ? `anonymous\n${addressName(address)}` : id;
}

export function limitAddress({ limiters }: Pick<Identifying, 'limiters'>, exchange: Exchange): void {
  limit(limiters.perAddress, 'address', addressName(exchange.address), exchange);
}

/**
 * A request that is refused before anybody knows who sent it counts against its address, too, unless it was counted
 * already. Beyond the limit, that is the refusal.
 */
export function limitRefused(
  services: Pick<Identifying, 'limiters'>,
  exchange: Exchange,
  problem: ApiProblem,
): ApiProblem {
  const { actor, quotas } = exchange;
  const isCounted =
    isUnproven(problem) || problem.code === 'limit.rate' || quotas.some(({ policy }) => policy === 'address');
  if (actor !== null || problem.status >= 500 || isCounted) return problem;
  try {
    limitAddress(services, exchange);
    return problem;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return error;
  }
}

/**
 * What cannot be read counts against the address of its connection. A proxy's is not counted, because nobody knows whose
 * request it was.
 */
export function countUnreadable(
  { limiters, isProxy }: Pick<Identifying, 'limiters'> & { readonly isProxy: (address: string) => boolean },
  address: string | null,
): void {
  if (address === null || !isProxy(address)) limiters.perAddress.take(addressName(address));
}

/**
 * Refusals of requests of which nobody knows who sent them. They count against the address. What an issuer cannot judge
 * does not, unless something is wrong with it.
 */
const UNPROVEN: ReadonlySet<ProblemCode> = new Set(['auth.required', 'auth.invalid']);

function isUnproven({ code, detail }: ApiProblem): boolean {
  return UNPROVEN.has(code) || detail.fault !== undefined;
}

export function evidenceOf({ headers, incoming, address, span }: Exchange): Evidence {
  return {
    bearer: bearerToken(headers.get('authorization')),
    certificate: incoming.peer.certificate,
    address: addressName(address),
    trace: span.headers,
  };
}

export async function identify<Actor extends NonNullable<Exchange['actor']>>(
  registry: AuthenticatorRegistry<Actor>,
  services: Pick<Identifying, 'limiters' | 'audit'>,
  exchange: Exchange,
): Promise<Actor> {
  const { limiters, audit } = services;
  const { incoming, at } = exchange;
  const { peer } = incoming;
  const address = addressName(exchange.address);
  const credential = registry.credentialOf(evidenceOf(exchange));
  const authenticate = async (): Promise<Actor> => {
    try {
      // A bad certificate is refused even with a good key: everything presented must hold.
      if (peer.certificateFault !== null) throw notValid('unusable', `certificate: ${peer.certificateFault}`);
      return await credential.authenticate(at);
    } catch (error) {
      // Only failures are counted here, so nobody is locked out because others fail from the same address.
      if (error instanceof ApiProblem && isUnproven(error)) {
        limit(limiters.unauthenticated, 'unauthenticated', address, null);
      }
      throw error;
    }
  };
  // A credential that was valid before does not wait.
  const { gone } = incoming;
  const actor = credential.isUnproven
    ? await limiters.attempts.attempt(address, { gone, issuer: credential.issuer }, authenticate)
    : await authenticate();
  exchange.actor = actor;
  peer.noteKnown();
  audit.authenticated(exchange);
  limitAddress(services, exchange);
  limit(limiters.perActor, 'actor', countedAs(actor, exchange), exchange);
  return actor;
}

/** Counts the request against a limit, and notes what is left for the answer's headers. */
function limit(limiter: RateLimiter, policy: LimitName, name: string, told: Pick<Exchange, 'quotas'> | null): void {
  const wait = limiter.take(name);
  if (wait > 0) throw tooMany(limiter, policy, wait);
  const { quota } = limiter;
  if (quota > 0) told?.quotas.push({ policy, quota, left: limiter.left(name) });
}
