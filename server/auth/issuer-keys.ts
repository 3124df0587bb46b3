// The keys of one issuer over time. They are fetched when they are needed and when they are old, one fetch at a time
// with a pause between fetches, so no token can make the gateway ask often. Fetched keys outlive an outage of the
// issuer for some time. What went wrong is tried again without a token, too: else nobody would know that it is over.
import type { Instant } from '../../engine/index.js';
import { TOKEN_LIMITS } from '../limits/credentials.js';
import { isLoopbackUrl, type OutgoingAnswer, OutgoingError, reachedUrlFault, send } from '../net/outgoing.js';
import type { Clock, Logger } from '../lib/ports.js';
import { type NetworkReach, reachFrom } from '../net/addresses.js';
import type { TraceHeaders } from '../telemetry/trace.js';
import { type Algorithm, KeySetError, type PublicKey, readDocument, readKeySet } from './public-keys.js';

export interface IssuerKeysOptions {
  /** The issuer exactly as its tokens and its discovery document name it. */
  readonly issuer: string;
  /** Null if the issuer's discovery document says it. */
  readonly jwksUrl: string | null;
  readonly algorithms: readonly Algorithm[];
  readonly clock: Clock;
  readonly log: Logger;
}

export interface IssuerKeys {
  /**
   * The key of this name for this algorithm, or null if there is none. It is the same object for as long as the issuer
   * has it. `trace` is sent with whatever is fetched for it.
   */
  readonly find: (keyId: string, algorithm: string, trace?: TraceHeaders) => Promise<PublicKey | null>;
  /**
   * After how many seconds the issuer may be asked for a key of this name. Null if it had the name when it was last
   * asked, or was asked for it then: so a key that is missing is none of its keys.
   */
  readonly notAskedFor: (keyId: string) => number | null;
  /** Fetches the keys. Null if that succeeded, otherwise why not. From then on tries again by itself, until `close`. */
  readonly prepare: () => Promise<Failure | null>;
  readonly state: () => KeysState;
  /** Fetches nothing by itself any more. */
  readonly close: () => void;
}

export interface KeysState {
  /** Null if they were never fetched. */
  readonly fetchedAt: Instant | null;
  readonly keys: number;
  /** Why the last fetch failed; null if it succeeded. */
  readonly failure: Failure | null;
}

/** `misconfigured`: the issuer's answer contradicts the settings, and asking again will not help. */
export interface Failure {
  readonly kind: 'unreachable' | 'misconfigured';
  readonly message: string;
}

export function makeIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { issuer, clock, log } = options;
  let keys: readonly PublicKey[] = [];
  let fetchedAt: Instant | null = null;
  let triedAt: Instant | null = null;
  let failure: Failure | null = null;
  let fetching: Promise<void> | null = null;
  let retrying: NodeJS.Timeout | null = null;
  /** The name that the last fetch was begun for, and those that were known before it. */
  let askedFor = new Set<string>();

  /** What is wrong is said once, not after each fetch. */
  const fetchKeys = async (trace?: TraceHeaders): Promise<void> => {
    try {
      const fetched = await fetchKeySet(options, trace);
      const isNews = failure !== null || fetchedAt === null || keys.length > 0;
      const known = new Map(keys.map((key) => [nameOf(key), key]));
      keys = fetched.map((key) => known.get(nameOf(key)) ?? key);
      fetchedAt = clock.now();
      if (failure !== null) log.info({ issuer, keys: keys.length }, 'the keys of an issuer can be fetched again');
      if (keys.length === 0 && isNews)
        log.warn({ issuer }, 'the issuer publishes no key for its algorithms: its tokens are refused');
      failure = null;
    } catch (error) {
      const { message: before } = failure ?? {};
      failure = failureOf(error);
      if (failure.message !== before)
        log.warn({ issuer, reason: failure.message, error }, 'the keys of an issuer could not be fetched');
    }
  };
  /** Joins the fetch that is under way. Does not begin one too soon after another. */
  const refresh = (names: readonly string[], trace?: TraceHeaders): Promise<void> => {
    // Whoever joins may name a key that is newer than the answer.
    if (fetching !== null) return fetching;
    const now = clock.now();
    if (isWithin(triedAt, now, TOKEN_LIMITS.keysCoolDown)) return Promise.resolve();
    triedAt = now;
    askedFor = new Set([...names, ...keys.map(({ keyId }) => keyId)]);
    fetching = fetchKeys(trace).finally(() => {
      fetching = null;
    });
    return fetching;
  };
  const findKnown = (keyId: string, algorithm: string): PublicKey | null => {
    if (!isWithin(fetchedAt, clock.now(), TOKEN_LIMITS.keysKept)) return null;
    const found = keys.filter((key) => key.keyId === keyId && key.algorithm === algorithm);
    // If two keys have the same name, nobody knows which one is meant.
    return found.length === 1 ? (found[0] ?? null) : null;
  };
  return {
    find: async (keyId, algorithm, trace) => {
      if (!isWithin(fetchedAt, clock.now(), TOKEN_LIMITS.keysFresh)) {
        const refreshed = refresh([keyId], trace);
        // In an outage, a known key does not wait for an issuer that has failed to answer. An unknown one waits below.
        if (failure === null) await refreshed;
      }
      const known = findKnown(keyId, algorithm);
      if (known !== null) return known;
      await refresh([keyId], trace);
      return findKnown(keyId, algorithm);
    },
    notAskedFor: (keyId) => {
      if (triedAt === null || askedFor.has(keyId)) return null;
      return Math.max(1, Math.ceil((triedAt + TOKEN_LIMITS.keysCoolDown - clock.now()) / 1000));
    },
    prepare: async () => {
      await refresh([]);
      retrying ??= setInterval(() => {
        if (failure !== null || keys.length === 0) void refresh([]);
      }, TOKEN_LIMITS.keysRetry).unref();
      return failure;
    },
    state: () => ({ fetchedAt, keys: keys.length, failure }),
    close: () => {
      clearInterval(retrying ?? undefined);
    },
  };
}

/** Also false if the clock was set back. */
function isWithin(since: Instant | null, now: Instant, time: number): boolean {
  return since !== null && now >= since && now - since < time;
}

function nameOf({ keyId, algorithm, material }: PublicKey): string {
  return JSON.stringify([keyId, algorithm, material]);
}

async function fetchKeySet(
  { issuer, jwksUrl, algorithms }: IssuerKeysOptions,
  trace?: TraceHeaders,
): Promise<readonly PublicKey[]> {
  // An operator may run an issuer in a private network. But an issuer on the public internet must not send the gateway
  // into it.
  const { url, reach } = jwksUrl === null ? await discover(issuer, trace) : { url: jwksUrl, reach: 'private' as const };
  const { body } = await fetchDocument(url, { reach, trace });
  return readKeySet(body, algorithms);
}

/** The discovery document contradicts the settings. */
class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';
}

interface KeysAddress {
  readonly url: string;
  readonly reach: NetworkReach;
}

/** The address of the keys by OpenID Connect Discovery. */
async function discover(issuer: string, trace?: TraceHeaders): Promise<KeysAddress> {
  const document = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { body, from } = await fetchDocument(document, { reach: 'private', trace });
  const fields = readDocument(body, 'the discovery document');
  if (fields.get('issuer') !== issuer) {
    throw new DiscoveryError('the discovery document is of another issuer: `issuer` must be written exactly as there');
  }
  const address = fields.get('jwks_uri');
  if (typeof address !== 'string') throw new DiscoveryError('the discovery document has no `jwks_uri`');
  const reach = reachFrom(from);
  const fault = reachedUrlFault(address, reach);
  if (fault !== null) throw new DiscoveryError(`the \`jwks_uri\` of the discovery document ${fault}`);
  // An issuer on another machine must not send the gateway to services on the gateway's own machine.
  if (isLoopbackUrl(address) && !isLoopbackUrl(issuer)) {
    throw new DiscoveryError('the `jwks_uri` of the discovery document is an address of this machine');
  }
  return { url: address, reach };
}

async function fetchDocument(
  url: string,
  { reach, trace = {} }: { readonly reach: NetworkReach; readonly trace: TraceHeaders | undefined },
): Promise<OutgoingAnswer> {
  const { documentBytes: maxBytes, documentTimeout: timeout } = TOKEN_LIMITS;
  const answer = await send({ url, headers: trace, maxBytes, timeout, reach });
  if (answer.status !== 200) throw new OutgoingError(`answers with status ${String(answer.status)}`);
  return answer;
}

function failureOf(error: unknown): Failure {
  if (error instanceof DiscoveryError) return { kind: 'misconfigured', message: error.message };
  if (error instanceof KeySetError) return { kind: 'unreachable', message: error.message };
  if (error instanceof OutgoingError) return { kind: 'unreachable', message: `it ${error.message}` };
  return { kind: 'unreachable', message: 'its answer could not be used' };
}
