// The evidence that a request brings, the authenticators that judge it, and the registry that asks the one it is for.
// Each way to authenticate is one authenticator; nothing else in the gateway knows how many there are.
import type { X509Certificate } from 'node:crypto';
import type { Instant } from '../../engine/index.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem, type AuthenticationFault } from '../problem.js';
import type { TraceHeaders } from '../trace.js';

export interface Evidence {
  /** The token of `Authorization: Bearer`: null without that header, empty where it holds no such token. */
  readonly bearer: string | null;
  /** The client's certificate once the listener has verified it. */
  readonly certificate: X509Certificate | null;
  /** Null if there is none: a Unix socket, or no socket at all. */
  readonly address: string | null;
  /** Passed on in requests to issuers about the credential. */
  readonly trace?: TraceHeaders;
}

/** Makes an actor of one kind from one kind of evidence. */
export interface Authenticator<Actor> {
  readonly name: string;
  /** The credential in the evidence; null if it is not of the kind that this one judges. Asks nobody. */
  readonly credentialOf: (evidence: Evidence) => Credential<Actor> | null;
  /** The issuers that it asks about credentials, whose providers the policy has to declare; empty if it asks only the store. */
  readonly issuers: readonly CredentialIssuer[];
  /** Waits for what is still being noted about credentials. */
  readonly close: () => Promise<void>;
}

/** What one request presents, not judged yet. */
export interface Credential<Actor> {
  /** Whether judging it needs a look-up, because it has not been accepted before. Decides nothing. */
  readonly isUnproven: boolean;
  /** Throws `auth.invalid`, whatever the reason is. */
  readonly authenticate: (at: Instant) => Promise<Actor>;
}

/** Somebody else who vouches for identities. */
export interface CredentialIssuer {
  /** Where the settings have it: `authentication.oidc.0`. */
  readonly setting: string;
  /** The provider of the identities that it vouches for. */
  readonly provider: string;
  /** Asked before the first request. What asking again would not help is a fault of the settings. */
  readonly prepare: () => Promise<SetupFault | null>;
  /** Why its credentials are refused at present; null if they are not. */
  readonly trouble: () => string | null;
}

/** What is wrong with a setting, found only at the start. */
export interface SetupFault {
  readonly setting: string;
  readonly message: string;
  readonly fix: string;
}

/** All authenticators of one door. Whatever the evidence is, there is a credential to judge. */
export interface Registry<Actor> extends Pick<Authenticator<Actor>, 'issuers' | 'close'> {
  readonly credentialOf: (evidence: Evidence) => Credential<Actor>;
}

/**
 * Its credentials throw `auth.required` where there is no evidence, `auth.invalid` where not exactly one authenticator has one in it, or
 * it is revoked.
 */
export function makeRegistry<Actor extends { readonly credentialFingerprint: string | null }>(
  authenticators: readonly Authenticator<Actor>[],
  isRevoked: (fingerprint: string) => boolean,
): Registry<Actor> {
  return {
    credentialOf: (evidence) => {
      const [one, ...others] = authenticators
        .map(({ credentialOf }) => credentialOf(evidence))
        .filter((credential) => credential !== null);
      if (one === undefined || others.length > 0) return noCredential(evidence);
      const authenticate = async (at: Instant): Promise<Actor> => {
        const actor = await one.authenticate(at);
        // Of every kind, and also where the authenticator knew it from before.
        const { credentialFingerprint: print } = actor;
        if (print !== null && isRevoked(print)) throw notValid('revoked', 'revoked by its fingerprint');
        return actor;
      };
      return { isUnproven: one.isUnproven, authenticate };
    },
    issuers: authenticators.flatMap(({ issuers }) => issuers),
    close: async () => {
      await Promise.all(authenticators.map((one) => one.close()));
    },
  };
}

function noCredential({ bearer, certificate }: Evidence): Credential<never> {
  const isBare = bearer === null && certificate === null;
  const refusal = isBare ? new ApiProblem('auth.required') : notValid('unreadable', 'not a credential of one kind');
  return { isUnproven: false, authenticate: () => Promise.reject(refusal) };
}

/** The one refusal of a credential; `reason` is for the operator's log and `fault` for the metrics alone. */
export function notValid(fault: AuthenticationFault, reason: string): ApiProblem {
  return new ApiProblem('auth.invalid', { fault, reason });
}

/** The token of `Bearer <token>`, or an empty text. The scheme's name is case-insensitive (RFC 9110). */
export function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined) return null;
  if (authorization.length > HTTP_LIMITS.credentialCharacters) return '';
  const cut = authorization.indexOf(' ');
  return cut > 0 && authorization.slice(0, cut).toLowerCase() === 'bearer' ? authorization.slice(cut + 1) : '';
}
