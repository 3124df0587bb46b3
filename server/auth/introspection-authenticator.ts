// Opaque tokens as evidence: the issuer says whose they are (RFC 7662). That a token is active is believed for a short
// while. An answer that is not clearly yes means no, and the next request with the token asks again. While the issuer cannot be reached, its tokens are not accepted, and
// their clients get 503 and try again.
import { hash } from 'node:crypto';
import type { Instant } from '../../engine/index.js';
import { TOKEN_LIMITS } from '../limits/credentials.js';
import { OutgoingError, send } from '../net/outgoing.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { type Authenticator, type Evidence, notJudged, notValid } from './authenticator.js';
import { certificateThumbprint } from './certificate-thumbprint.js';
import { ClientSecretError, readClientSecret } from './client-secret.js';
import type { TraceHeaders } from '../telemetry/trace.js';
import { type Claims, isCompact, refuseOtherSpelling } from './compact-token.js';
import { isKeyText } from './key-text.js';
import type { AuthenticatorTools } from './oidc-authenticator.js';
import { makePlaces } from './places.js';
import { KeySetError, readDocument } from './public-keys.js';
import { actorOf, bytesOf, type RequestActor } from './request-actor.js';
import { audiencesOf, boundCertificate, type ClaimNames, holderOf, timeOf } from './token-claims.js';

/** The settings of one endpoint. */
export interface IntrospectionSettings extends ClaimNames {
  readonly url: string;
  readonly clientId: string;
  /** An absolute path; the file is read at the start. */
  readonly clientSecretFile: string;
  /** What `aud` must contain; null if the endpoint itself knows which tokens are for us. */
  readonly audience: readonly string[] | null;
  /** What its tokens begin with, if there are several endpoints; null accepts any token. */
  readonly tokenPrefix: string | null;
  /** How many milliseconds an answer is used. */
  readonly cacheTime: number;
}

/** What the endpoint said about an active token. */
interface Active {
  readonly actor: RequestActor;
  readonly boundTo: string | null;
  /** Milliseconds since 1970. */
  readonly until: number;
}

interface Answered extends Active {
  /** When the question was sent, in milliseconds since 1970. */
  readonly askedAt: number;
}

export interface IntrospectionOptions extends AuthenticatorTools {
  /** Where it is in the settings: `authentication.introspection.0`. */
  readonly setting: string;
  /** Whether signed tokens are judged elsewhere. */
  readonly leavesSigned: 'leaves signed tokens' | 'takes all';
}

export function makeIntrospectionAuthenticator(
  settings: IntrospectionSettings,
  options: IntrospectionOptions,
): Authenticator<RequestActor> {
  const { provider, tokenPrefix, cacheTime } = settings;
  const { setting, clock, log, fingerprint, leavesSigned } = options;
  const answers = makeLruCache<Answered>(TOKEN_LIMITS.verifiedBytes, TOKEN_LIMITS.verified);
  const asking = new Map<string, Promise<Answered>>();
  const places = makePlaces(TOKEN_LIMITS.introspections);
  let secret: string | null = null;
  let trouble: string | null = null;

  const ask = async (token: string, trace?: TraceHeaders): Promise<Claims> => {
    try {
      const claims = await introspect(settings, { secret: secret ?? '', token, trace });
      if (trouble !== null) log.info({ setting }, 'the introspection endpoint answers again');
      trouble = null;
      return claims;
    } catch (error) {
      const found = troubleOf(error);
      // Said once, not for each token.
      if (trouble !== found)
        log.warn({ setting, reason: found, error }, 'the introspection endpoint could not be used');
      trouble = found;
      throw notJudged(`the introspection endpoint ${found}`);
    }
  };
  const judge = async (token: string, digest: string, trace?: TraceHeaders): Promise<Answered> => {
    const askedAt = clock.now();
    const claims = await ask(token, trace);
    if (claims.get('active') !== true) {
      // From now on it counts as an attempt again.
      answers.forget(digest);
      throw notValid('unknown', 'no longer active, says the introspection endpoint');
    }
    const answered = { ...readActive(claims, { settings, digest, fingerprint }), askedAt };
    answers.put(digest, answered, bytesOf(answered.actor, answered.boundTo));
    return answered;
  };
  /** Concurrent requests with the same token share one request to the issuer. */
  const judgeOnce = (token: string, digest: string, { address, trace }: Evidence): Promise<Answered> => {
    const underWay = asking.get(digest);
    if (underWay !== undefined) return underWay;
    const judged = places
      .hold(address, () => judge(token, digest, trace))
      .then((held) => {
        if (held === null) throw notJudged('too many requests to the introspection endpoint are in progress');
        return held.done;
      })
      .finally(() => asking.delete(digest));
    asking.set(digest, judged);
    return judged;
  };
  const recall = (digest: string, at: Instant): Answered | null => {
    const known = answers.get(digest);
    return known !== undefined && at >= known.askedAt && at - known.askedAt < cacheTime ? known : null;
  };

  const isOurs = (token: string): boolean =>
    TOKEN.test(token) &&
    !isKeyText(token) &&
    (leavesSigned === 'takes all' || !isCompact(token)) &&
    (tokenPrefix === null || token.startsWith(tokenPrefix));

  return {
    name: 'introspection',
    credentialOf: (evidence) => {
      const { bearer: token, certificate } = evidence;
      if (token === null || !isOurs(token)) return null;
      const digest = digestOf(token);
      const authenticate = async (at: Instant): Promise<RequestActor> => {
        // Another spelling of the same token would escape a revocation of it.
        refuseOtherSpelling(token);
        const found = recall(digest, at) ?? (await judgeOnce(token, digest, evidence));
        if (at >= found.until) throw notValid('expired', 'expired');
        if (found.boundTo !== null && found.boundTo !== certificateThumbprint(certificate)) {
          throw notValid('misdirected', 'bound to another certificate');
        }
        return found.actor;
      };
      return { isUnproven: answers.get(digest) === undefined, issuer: setting, authenticate };
    },
    issuers: [
      {
        setting,
        provider,
        prepare: async () => {
          try {
            secret = await readClientSecret(settings.clientSecretFile);
            return null;
          } catch (error) {
            if (!(error instanceof ClientSecretError)) throw error;
            const fix = 'name a file with the secret of the client and nothing else';
            return { setting: `${setting}.clientSecretFile`, message: `names a file that ${error.message}`, fix };
          }
        },
        trouble: () => trouble,
      },
    ],
    close: () => Promise.resolve(),
  };
}

/** The syntax of a bearer token (RFC 6750, section 2.1). */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

function digestOf(text: string): string {
  return hash('sha256', text, 'base64');
}

interface AnswerContext {
  readonly settings: IntrospectionSettings;
  readonly digest: string;
  readonly fingerprint: AuthenticatorTools['fingerprint'];
}

function readActive(claims: Claims, { settings, digest, fingerprint }: AnswerContext): Active {
  const type = claims.get('token_type') ?? 'Bearer';
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw notValid('misdirected', 'not an access token: its type is not accepted');
  const { audience, url } = settings;
  if (audience !== null && !audiencesOf(claims).some((one) => audience.includes(one)))
    throw notValid('misdirected', 'for another audience');
  const holder = holderOf(claims, settings);
  const id = claims.get('jti');
  // An opaque token has only one spelling, so its digest identifies it if the endpoint gives it no id.
  const which = typeof id === 'string' && id !== '' ? ['jti', id] : ['token', digest];
  const credentialFingerprint = fingerprint('token', JSON.stringify([url, claims.get('sub'), ...which]));
  return {
    actor: actorOf('token', { ...holder, credentialFingerprint }),
    boundTo: boundCertificate(claims),
    until: claims.has('exp') ? timeOf(claims, 'exp') : Infinity,
  };
}

interface Question {
  readonly secret: string;
  readonly token: string;
  readonly trace: TraceHeaders | undefined;
}

async function introspect(settings: IntrospectionSettings, { secret, token, trace }: Question): Promise<Claims> {
  const { documentBytes: maxBytes, documentTimeout: timeout } = TOKEN_LIMITS;
  // Both are form-encoded before they are joined (RFC 6749, section 2.3.1).
  const [user, password] = [settings.clientId, secret].map((text) =>
    new URLSearchParams({ '': text }).toString().slice(1),
  );
  const { status, body } = await send({
    url: settings.url,
    reach: 'private',
    form: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    headers: {
      ...trace,
      Authorization: `Basic ${Buffer.from(`${String(user)}:${String(password)}`).toString('base64')}`,
    },
    maxBytes,
    timeout,
  });
  if (status !== 200) throw new OutgoingError(`answers with status ${String(status)}`);
  const claims = readDocument(body, 'its answer');
  if (typeof claims.get('active') !== 'boolean')
    throw new KeySetError('its answer does not say whether the token is active');
  return claims;
}

function troubleOf(error: unknown): string {
  if (error instanceof OutgoingError) return error.message;
  return error instanceof KeySetError ? `cannot be understood: ${error.message}` : 'failed';
}
