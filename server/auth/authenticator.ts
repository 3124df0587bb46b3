// The evidence that a request brings, the authenticators that judge it, and the registry that picks the one
// responsible. Each way to authenticate is one authenticator. Nothing else in the gateway knows how many there are.
import type { X509Certificate } from 'node:crypto';
import type { Instant } from '../../engine/index.js';
import { TOKEN_LIMITS } from '../limits/credentials.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem, type AuthenticationFault } from '../problem.js';
import type { TraceHeaders } from '../telemetry/trace.js';

export interface Evidence {
  /** The token of `Authorization: Bearer`. Null without that header, empty if the header holds no such token. */
  readonly bearer: string | null;
  /** The client's certificate, if the listener has verified it. */
  readonly certificate: X509Certificate | null;
  /** The client's address as limits count it. */
  readonly address: string;
  /** Passed on in requests to issuers about the credential. */
  readonly trace?: TraceHeaders;
}

/** Makes an actor of one kind from one kind of evidence. */
export interface Authenticator<Actor> {
  readonly name: string;
  /** The credential in the evidence; null if this authenticator does not judge its kind. Asks nobody. */
  readonly credentialOf: (evidence: Evidence) => Credential<Actor> | null;
  /**
   * The issuers that it asks about credentials. The policy must declare their providers. Empty if it asks only the
   * store.
   */
  readonly issuers: readonly CredentialIssuer[];
  /** Waits until everything is noted that is still to be noted about credentials. */
  readonly close: () => Promise<void>;
}

/** What one request presents; not judged yet. */
export interface Credential<Actor> {
  /** Whether judging it needs a look-up, because it has not been accepted before. Decides nothing. */
  readonly isUnproven: boolean;
  /** The setting of the issuer that may have to be asked about it; null if there is none. Nothing of it is verified. */
  readonly issuer: string | null;
  /** Throws `auth.invalid` for every reason alike, and `auth.unavailable` if the issuer cannot be asked. */
  readonly authenticate: (at: Instant) => Promise<Actor>;
}

/** A third party that vouches for identities. */
export interface CredentialIssuer {
  /** Where it is in the settings: `authentication.oidc.0`. */
  readonly setting: string;
  /** The provider of the identities that it vouches for. */
  readonly provider: string;
  /**
   * Called before the first request. A failure that asking again would not help is reported as a fault of the settings.
   */
  readonly prepare: () => Promise<SetupFault | null>;
  /** Why its credentials are refused at present; null if they are not. */
  readonly trouble: () => string | null;
}

/** A fault of a setting that only shows at the start. */
export interface SetupFault {
  readonly setting: string;
  readonly message: string;
  readonly fix: string;
}

/** All authenticators of one door. Any evidence gives a credential to judge. */
export interface AuthenticatorRegistry<Actor> extends Pick<Authenticator<Actor>, 'issuers' | 'close'> {
  readonly credentialOf: (evidence: Evidence) => Credential<Actor>;
}

/**
 * Makes a registry. Its credentials throw `auth.required` if there is no evidence. They throw `auth.invalid` if the
 * number of authenticators that find a credential in the evidence is not exactly one, or if the credential is revoked.
 */
export function makeRegistry<Actor extends { readonly credentialFingerprint: string | null }>(
  authenticators: readonly Authenticator<Actor>[],
  isRevoked: (fingerprint: string) => boolean,
): AuthenticatorRegistry<Actor> {
  return {
    credentialOf: (evidence) => {
      const [one, ...others] = authenticators.flatMap(({ credentialOf }) => credentialOf(evidence) ?? []);
      if (one === undefined) return noCredential(evidence);
      if (others.length > 0) return refused(notValid('unreadable', 'more than one credential'));
      const authenticate = async (at: Instant): Promise<Actor> => {
        const actor = await one.authenticate(at);
        // Checked for every kind of credential, even if the authenticator knew it from before.
        const { credentialFingerprint: print } = actor;
        if (print !== null && isRevoked(print))
          throw notValid('revoked', 'its fingerprint is in the file of revocations');
        return actor;
      };
      return { ...one, authenticate };
    },
    issuers: authenticators.flatMap(({ issuers }) => issuers),
    close: async () => {
      await Promise.all(authenticators.map((one) => one.close()));
    },
  };
}

function noCredential({ bearer, certificate }: Evidence): Credential<never> {
  const isBare = bearer === null && certificate === null;
  return refused(isBare ? new ApiProblem('auth.required') : notValid('unreadable', NOT_ACCEPTED));
}

const NOT_ACCEPTED = 'neither an API key, a signed token nor anything else that is accepted here';

function refused(refusal: ApiProblem): Credential<never> {
  return { isUnproven: false, issuer: null, authenticate: () => Promise.reject(refusal) };
}

/** The only refusal of a credential. `reason` is only for the operator's log, `fault` only for the metrics. */
export function notValid(fault: AuthenticationFault, reason: string): ApiProblem {
  return new ApiProblem('auth.invalid', { fault, reason });
}

/** The answer for a credential whose issuer cannot be reached, so its validity is unknown. */
export function notJudged(reason: string): ApiProblem {
  return new ApiProblem('auth.unavailable', { reason, retryAfter: TOKEN_LIMITS.issuerRetryAfter });
}

/**
 * The same for a credential that is probably not valid, so it counts as one that is not. Otherwise anybody could use up
 * what others of an address have left while their issuer is away.
 */
export function notJudgedYet(
  fault: AuthenticationFault,
  told: { readonly reason: string; readonly retryAfter: number },
): ApiProblem {
  return new ApiProblem('auth.unavailable', { fault, ...told });
}

/** The token of `Bearer <token>`, or an empty string. The scheme's name is case-insensitive (RFC 9110). */
export function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined) return null;
  if (authorization.length > HTTP_LIMITS.credentialCharacters) return '';
  const cut = authorization.indexOf(' ');
  return cut > 0 && authorization.slice(0, cut).toLowerCase() === 'bearer'
    ? authorization.slice(cut).replace(/^ +/, '')
    : '';
}
