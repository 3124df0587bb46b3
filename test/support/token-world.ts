// Two issuers of tokens and an authenticator that accepts them, at a fixed time: the basis of the suites about signed
// tokens.
import { type Instant, instantOf } from '../../engine/index.js';
import type { Authenticator } from '../../server/auth/authenticator.js';
import { makeFingerprinter } from '../../server/auth/fingerprint.js';
import type { IntrospectionSettings } from '../../server/auth/introspection-authenticator.js';
import { type IssuerSettings, makeOidcAuthenticator } from '../../server/auth/oidc-authenticator.js';
import type { RequestActor } from '../../server/auth/request-actor.js';
import { credentialOf } from './credential-of.js';
import { ApiProblem } from '../../server/problem.js';
import { type IssuerKey, makeIssuerKey, openIssuer, type TokenIssuer } from './token-issuer.js';

/** Seconds. */
export const NOW = 1_800_000_000;

export interface TokenWorld {
  readonly issuer: TokenIssuer;
  /** Has a provider of its own, and the key `theirs`. */
  readonly other: TokenIssuer;
  readonly keyOf: (keyId: string) => IssuerKey;
  /** Those of a good token of `issuer`, and others in their place. */
  readonly claims: (more?: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** Milliseconds. */
  readonly setNow: (now: number) => void;
  readonly open: (more?: Partial<IssuerSettings>) => Authenticator<RequestActor>;
  readonly actorOf: (bearer: string, authenticator?: Authenticator<RequestActor>) => Promise<RequestActor>;
  /** The reason, which only the log has, or `accepted`; every refusal is `auth.invalid`. */
  readonly refusalOf: (bearer: string, authenticator?: Authenticator<RequestActor>) => Promise<string>;
  readonly close: () => Promise<void>;
}

export const ISSUER_SETTINGS: Omit<IssuerSettings, 'issuer' | 'provider'> = {
  audience: ['bailiwick'],
  jwksUrl: null,
  algorithms: ['ES256', 'RS256'],
  clients: null,
  tokenType: 'any',
  clockTolerance: 30_000,
  maxTokenAge: 24 * 3_600_000,
  scopeClaim: null,
  groupsClaim: null,
  groupsSeparator: null,
  restrictionsClaim: null,
};

/** Of an endpoint of introspection that asks for nothing beyond the standard. */
export const INTROSPECTION_SETTINGS: Omit<IntrospectionSettings, 'url' | 'clientId' | 'clientSecretFile'> = {
  provider: 'idp',
  audience: null,
  tokenPrefix: null,
  cacheTime: 10_000,
  scopeClaim: 'scope',
  groupsClaim: null,
  groupsSeparator: null,
  restrictionsClaim: null,
};

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

export async function openTokenWorld(): Promise<TokenWorld> {
  const made = await Promise.all([
    makeIssuerKey('k1', 'ES256'),
    makeIssuerKey('rsa', 'RS256'),
    makeIssuerKey('pss', 'PS256'),
    makeIssuerKey('ed', 'EdDSA'),
    makeIssuerKey('p384', 'ES384'),
    makeIssuerKey('weak', 'RS256'),
    makeIssuerKey('theirs', 'ES256'),
  ]);
  const keys = new Map(made.map((key) => [key.keyId, key]));
  const keyOf = (keyId: string): IssuerKey => {
    const key = keys.get(keyId);
    if (key === undefined) throw new Error(keyId);
    return key;
  };
  // A silent key: it says neither what it is for nor with which algorithm.
  const { alg: _alg, use: _use, ...rsa } = keyOf('rsa').jwk;
  const issuer = await openIssuer([
    ...['k1', 'pss', 'ed', 'p384'].map((keyId) => keyOf(keyId).jwk),
    rsa,
    { ...keyOf('weak').jwk, n: Buffer.alloc(128, 0xc5).toString('base64url') },
    { kty: 'oct', kid: 'oct', k: 'AAAA', alg: 'HS256' },
    'no key',
  ]);
  const other = await openIssuer([keyOf('theirs').jwk]);
  let now: Instant = instantOf(NOW * 1000);
  const open: TokenWorld['open'] = (more = {}) =>
    makeOidcAuthenticator(
      [
        { ...ISSUER_SETTINGS, issuer: issuer.url, provider: 'orcid', ...more },
        { ...ISSUER_SETTINGS, issuer: other.url, provider: 'github' },
      ],
      { fingerprint: makeFingerprinter(Buffer.alloc(32, 1)), clock: { now: () => now }, log: silent },
    );
  const actorOf: TokenWorld['actorOf'] = (bearer, authenticator = open()) =>
    credentialOf(authenticator, { bearer, certificate: null, address: '127.0.0.1' }).authenticate(now);
  return {
    issuer,
    other,
    keyOf,
    claims: (more = {}) => {
      const all: Readonly<Record<string, unknown>> = {
        iss: issuer.url,
        sub: 'alice',
        aud: 'bailiwick',
        iat: NOW,
        exp: NOW + 300,
        jti: 't1',
        ...more,
      };
      return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    },
    setNow: (next) => {
      now = instantOf(next);
    },
    open,
    actorOf,
    refusalOf: async (bearer, authenticator) => {
      try {
        await actorOf(bearer, authenticator);
      } catch (error) {
        if (error instanceof ApiProblem && error.detail.fault !== undefined) return error.detail.reason ?? '';
        throw error;
      }
      return 'accepted';
    },
    close: async () => {
      await Promise.all([issuer.stop(), other.stop()]);
    },
  };
}
