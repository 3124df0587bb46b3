// Every way to authenticate that the settings open, and what must be right about it before the first request. To add
// one, add its file, its settings and its line here.
import { FAMILIES, formatIdentity, type Instant, type Policy, ROOT, visibility } from '../../engine/index.js';
import type { Logger } from '../lib/ports.js';
import type { AnonymousSettings } from './anonymous.js';
import type { Authenticator, CredentialIssuer, SetupFault } from './authenticator.js';
import type { CertificateSettings } from './certificate-authenticator.js';
import type { IntrospectionSettings } from './introspection-authenticator.js';
import type { AuthenticatorTools, IssuerSettings } from './oidc-authenticator.js';
import { actorWithoutCredential, type RequestActor } from './request-actor.js';
import { type Revocations, RevocationsError, watchRevocations } from './revocations.js';

/** The settings of authentication. */
export interface AuthenticationSettings {
  readonly keys: { readonly enabled: boolean };
  readonly oidc: readonly IssuerSettings[];
  readonly introspection: readonly IntrospectionSettings[];
  /** Null if certificates do not authenticate anybody. */
  readonly mtls: CertificateSettings | null;
  /** Defaults to null: everybody needs a credential. */
  readonly anonymous?: AnonymousSettings | null;
  /** An absolute path; null if no file revokes credentials. */
  readonly revocationsFile: string | null;
}

/**
 * The authenticators outside local mode. `keys` is made elsewhere, because it also opens the admin listener. The others
 * are loaded only if they are used.
 */
export async function makeAuthenticators(
  settings: AuthenticationSettings,
  keys: Authenticator<RequestActor>,
  tools: AuthenticatorTools,
): Promise<readonly Authenticator<RequestActor>[]> {
  const { oidc, introspection, mtls } = settings;
  const made = settings.keys.enabled ? [keys] : [];
  if (oidc.length > 0) {
    const { makeOidcAuthenticator } = await import('./oidc-authenticator.js');
    made.push(makeOidcAuthenticator(oidc, tools));
  }
  if (introspection.length > 0) {
    const { makeIntrospectionAuthenticator } = await import('./introspection-authenticator.js');
    const leavesSigned = oidc.length === 0 ? 'takes all' : 'leaves signed tokens';
    for (const [index, one] of introspection.entries()) {
      const setting = `authentication.introspection.${String(index)}`;
      made.push(makeIntrospectionAuthenticator(one, { ...tools, setting, leavesSigned }));
    }
  }
  if (mtls !== null) {
    const { makeCertificateAuthenticator } = await import('./certificate-authenticator.js');
    made.push(makeCertificateAuthenticator(mtls, tools));
  }
  return made;
}

/** Null if no file revokes credentials. Throws `AuthenticationError`. */
export async function openRevocations(
  { revocationsFile }: AuthenticationSettings,
  log: Logger,
): Promise<Revocations | null> {
  if (revocationsFile === null) return null;
  try {
    return await watchRevocations(revocationsFile, log);
  } catch (error) {
    if (!(error instanceof RevocationsError)) throw error;
    const fix = 'name a file with a fingerprint of `whoami` or the log in each line; it may be empty';
    throw new AuthenticationError([{ setting: SETTING_OF_REVOCATIONS, message: `the file ${error.message}`, fix }]);
  }
}

const SETTING_OF_REVOCATIONS = 'authentication.revocationsFile';

/** The settings of `authentication` prevent a start. Lists everything that is wrong with them. */
export class AuthenticationError extends Error {
  override readonly name = 'AuthenticationError';
  readonly faults: readonly SetupFault[];

  constructor(faults: readonly SetupFault[]) {
    super('the settings of `authentication` cannot be used');
    this.faults = faults;
  }
}

const SETTING_OF_ANONYMOUS = 'authentication.anonymous.identity';

/** Null if everybody needs a credential. Throws `AuthenticationError`. */
export function openAnonymous(settings: AnonymousSettings | null, policy: Policy): RequestActor | null {
  if (settings === null) return null;
  const { provider } = settings.identity;
  if (!policy.providers.includes(provider))
    throw new AuthenticationError([undeclared(SETTING_OF_ANONYMOUS, provider, policy)]);
  return actorWithoutCredential(settings.identity);
}

/** Warns if a policy lets them see nothing, although the settings let them in. */
export function warnOfNothingPublic(actor: RequestActor, policy: Policy, { at, log }: Warning): void {
  const seen = FAMILIES.some(
    (family) => visibility(policy, { actor, request: { family, context: ROOT, reach: 'subtree' }, at }).kind !== 'none',
  );
  if (seen) return;
  const names = actor.identities.map(formatIdentity).join();
  log.warn(
    { setting: SETTING_OF_ANONYMOUS, policy: policy.name, snapshot: policy.digest },
    `no grant of the policy lets \`${names}\` read a namespace, template or resource now, so anonymous requests find nothing`,
  );
}

interface Warning {
  readonly at: Instant;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Throws `AuthenticationError`. An issuer that cannot be reached is not an error: its credentials are refused until it
 * can be reached.
 */
export async function prepareIssuers(issuers: readonly CredentialIssuer[], policy: Policy): Promise<void> {
  const undeclared = undeclaredProviders(issuers, policy);
  const faults = await Promise.all(issuers.map((issuer) => issuer.prepare()));
  const all = [...undeclared, ...faults.filter((fault) => fault !== null)];
  if (all.length > 0) throw new AuthenticationError(all);
}

/** Warns that callers from these issuers have no grant under a policy that has just come into force. */
export function warnOfUndeclared(issuers: readonly CredentialIssuer[], policy: Policy, log: Logger): void {
  for (const { setting, message } of undeclaredProviders(issuers, policy)) {
    log.warn({ setting, policy: policy.name, snapshot: policy.digest }, message);
  }
}

function undeclaredProviders(issuers: readonly CredentialIssuer[], policy: Policy): readonly SetupFault[] {
  return issuers
    .filter(({ provider }) => !policy.providers.includes(provider))
    .map(({ setting, provider }) => undeclared(`${setting}.provider`, provider, policy));
}

function undeclared(setting: string, provider: string, { name }: Policy): SetupFault {
  return {
    setting,
    message: `the policy \`${name}\` does not declare the provider \`${provider}\``,
    fix: `add \`${provider}: {}\` to \`providers\` in policy.yaml, or name another provider`,
  };
}
