// Signed tokens (JWT) of OpenID Connect and OAuth 2.0 issuers as evidence. A token counts only if the settings name its
// issuer, and only as far as they say. Algorithm, key, type, audience and times are all checked, and nothing in the
// token's header chooses how. A verified token is recognized by its hash, for as long as the issuer has its key and it
// has not expired.
import { hash } from 'node:crypto';
import { compactVerify } from 'jose';
import type { Instant } from '../../engine/index.js';
import { TOKEN_LIMITS } from '../limits/credentials.js';
import type { Clock, Logger } from '../lib/ports.js';
import type { TraceHeaders } from '../telemetry/trace.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { type Authenticator, type CredentialIssuer, notJudged, notJudgedYet, notValid } from './authenticator.js';
import { certificateThumbprint } from './certificate-thumbprint.js';
import { type Claims, type CompactToken, isCompact, readCompactToken } from './compact-token.js';
import type { Fingerprinter } from './fingerprint.js';
import { type IssuerKeys, makeIssuerKeys } from './issuer-keys.js';
import { isKeyText } from './key-text.js';
import type { Algorithm, PublicKey } from './public-keys.js';
import { actorOf, bytesOf, type RequestActor } from './request-actor.js';
import {
  audiencesOf,
  boundCertificate,
  type ClaimNames,
  holderOf,
  type TimeRules,
  type Validity,
  validityOf,
} from './token-claims.js';

/** The settings of one issuer. */
export interface IssuerSettings extends ClaimNames, TimeRules {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly jwksUrl: string | null;
  readonly algorithms: readonly Algorithm[];
  /** Clients that tokens may be issued to; null for any client. */
  readonly clients: readonly string[] | null;
  /** `access`: only tokens that say they are access tokens (RFC 9068). */
  readonly tokenType: 'access' | 'any';
}

/** What every authenticator gets in addition to its settings. */
export interface AuthenticatorTools {
  readonly fingerprint: Fingerprinter;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Issuer {
  /** Where it is in the settings: `authentication.oidc.0`. */
  readonly setting: string;
  readonly settings: IssuerSettings;
  readonly keys: IssuerKeys;
}

/** A verified token, and what its validity depends on. */
interface Verified extends Validity {
  readonly actor: RequestActor;
  readonly issuer: Issuer;
  readonly key: PublicKey;
  readonly boundTo: string | null;
}

export function makeOidcAuthenticator(
  settings: readonly IssuerSettings[],
  { fingerprint, clock, log }: AuthenticatorTools,
): Authenticator<RequestActor> {
  const issuers = settings.map((one, index): Issuer => {
    const { issuer, jwksUrl, algorithms } = one;
    const setting = `authentication.oidc.${String(index)}`;
    return { setting, settings: one, keys: makeIssuerKeys({ issuer, jwksUrl, algorithms, clock, log }) };
  });
  const byName = new Map(issuers.map((issuer) => [issuer.settings.issuer, issuer]));
  const verified = makeLruCache<Verified>(TOKEN_LIMITS.verifiedBytes, TOKEN_LIMITS.verified);

  const named = ({ claims }: CompactToken): Issuer | null => {
    const name = claims.get('iss');
    return typeof name === 'string' ? (byName.get(name) ?? null) : null;
  };
  /** The issuer to ask about a token that may be anything. Tokens that name none are refused without asking anybody. */
  const issuerOf = (text: string): Issuer | null => {
    try {
      return named(readCompactToken(text));
    } catch {
      return null;
    }
  };

  const verify = async (text: string, trace?: TraceHeaders): Promise<Verified> => {
    const token = readCompactToken(text);
    const { algorithm, keyId, claims } = token;
    const issuer = named(token);
    if (issuer === null) throw notValid('unknown', 'unknown issuer');
    const { algorithms } = issuer.settings;
    if (!algorithms.some((allowed) => allowed === algorithm))
      throw notValid('unusable', 'an algorithm that is not allowed');
    const key = await issuer.keys.find(keyId, algorithm, trace);
    if (key === null) {
      const { failure } = issuer.keys.state();
      if (failure !== null)
        throw notJudged(
          `signed with a key that the issuer does not publish, whose keys cannot be fetched: ${failure.message}`,
        );
      const wait = issuer.keys.notAskedFor(keyId);
      throw wait === null
        ? notValid('unknown', 'signed with a key that the issuer does not publish')
        : notJudgedYet('unknown', {
            reason: 'signed with a key that the issuer did not publish a moment ago',
            retryAfter: wait,
          });
    }
    try {
      await compactVerify(text, key.key, { algorithms: [key.algorithm] });
    } catch {
      throw notValid('wrong', 'wrong signature');
    }
    checkUse(token, issuer.settings);
    const holder = holderOf(claims, issuer.settings);
    const credentialFingerprint = fingerprint('token', identifierOf(token, issuer.settings));
    return {
      actor: actorOf('token', { ...holder, credentialFingerprint }),
      issuer,
      key,
      boundTo: boundCertificate(claims),
      ...validityOf(claims, issuer.settings),
    };
  };

  /** The result of verifying the same token before, unless the issuer no longer has its key. */
  const recall = async (digest: string, trace?: TraceHeaders): Promise<Verified | null> => {
    const known = verified.get(digest);
    if (known === undefined) return null;
    const { issuer, key } = known;
    return (await issuer.keys.find(key.keyId, key.algorithm, trace)) === key ? known : null;
  };

  return {
    name: 'oidc',
    issuers: issuers.map(describeIssuer),
    credentialOf: ({ bearer, certificate, trace }) => {
      if (bearer === null || isKeyText(bearer) || !isCompact(bearer)) return null;
      const digest = digestOf(bearer);
      const authenticate = async (at: Instant): Promise<RequestActor> => {
        const recalled = await recall(digest, trace);
        const found = recalled ?? (await verify(bearer, trace));
        if (at < found.from) throw notValid('expired', 'not valid yet');
        if (at >= found.until) throw notValid('expired', 'expired');
        if (found.boundTo !== null && found.boundTo !== certificateThumbprint(certificate)) {
          throw notValid('misdirected', 'bound to another certificate');
        }
        if (recalled === null) verified.put(digest, found, bytesOf(found.actor, found.boundTo));
        return found.actor;
      };
      const known = verified.get(digest);
      const issuer = (known?.issuer ?? issuerOf(bearer))?.setting ?? null;
      return { isUnproven: known === undefined, issuer, authenticate };
    },
    close: () => {
      for (const { keys } of issuers) keys.close();
      return Promise.resolve();
    },
  };
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64');
}

function describeIssuer({ setting, settings, keys }: Issuer): CredentialIssuer {
  return {
    setting,
    provider: settings.provider,
    prepare: async () => {
      const failure = await keys.prepare();
      if (failure?.kind !== 'misconfigured') return null;
      return { setting: `${setting}.issuer`, message: failure.message, fix: 'correct `issuer`, or set `jwksUrl`' };
    },
    trouble: () => {
      const { failure, keys: count } = keys.state();
      return failure?.message ?? (count === 0 ? 'it publishes no key for its algorithms' : null);
    },
  };
}

/** Checks that a token is meant for this gateway, was issued to an allowed client, and gives access to an API. */
function checkUse({ type, claims }: CompactToken, { audience, clients, tokenType }: IssuerSettings): void {
  const named = audiencesOf(claims);
  if (!named.some((one) => audience.includes(one))) throw notValid('misdirected', 'for another audience');
  const client = claims.get('azp') ?? claims.get('client_id');
  if (clients !== null && !clients.some((allowed) => allowed === client))
    throw notValid('misdirected', 'issued to another client');
  // Any other audience of the token could use it here, unless we know the client that it was issued to.
  if (clients === null && !named.every((one) => audience.includes(one)))
    throw notValid('misdirected', 'for other audiences as well, and `clients` does not say who may use it');
  const isAccess = type === 'at+jwt';
  if (!isAccess && (tokenType === 'access' || (type !== null && type !== 'jwt')))
    throw notValid('misdirected', 'not an access token: its type is not accepted');
  if (!isAccess && isOfAnotherUse(claims))
    throw notValid('misdirected', 'an ID token, a refresh token or a logout token');
}

/** Claims that mark ID tokens, logout and security events, and the kinds of token that Keycloak names. */
function isOfAnotherUse(claims: Claims): boolean {
  const kind = claims.get('typ');
  return ID_MARKS.some((name) => claims.has(name)) || (kind !== undefined && kind !== 'Bearer');
}

const ID_MARKS = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];

/**
 * Identifies a token by its issuer, its subject and its `jti`, or else by everything that was signed. Never by its
 * spelling.
 */
function identifierOf({ claims, payload }: CompactToken, { issuer }: IssuerSettings): string {
  const id = claims.get('jti');
  const which = typeof id === 'string' && id !== '' ? ['jti', id] : ['payload', digestOf(payload)];
  return JSON.stringify([issuer, claims.get('sub'), ...which]);
}
