// Turns the claims of a token into a holder: identities, scopes, restrictions, times of validity, and the certificate
// that it is bound to. A signature or the issuer's own answer vouches for the claims. An absent, empty or malformed
// claim never means more.
import {
  canonicalize,
  formatIdentity,
  type Identity,
  isFamily,
  isRecordScope,
  isScopeName,
  makeIdentity,
  type NamespacePath,
  NO_SCOPES,
  type ScopeSet,
  scopeSetOf,
} from '../../engine/index.js';
import { KEY_LIMITS, TOKEN_LIMITS } from '../limits/credentials.js';
import { notValid } from './authenticator.js';
import { carriedBytes } from './carried-bytes.js';
import type { Claims } from './compact-token.js';
import type { CredentialHolder } from './request-actor.js';

/** Which claim carries what; null if none does. */
export interface ClaimNames {
  /** The provider, declared in the policy, that the token's `sub` is a subject of. */
  readonly provider: string;
  readonly scopeClaim: string | null;
  readonly groupsClaim: string | null;
  /** What stands between the groups of a claim that is one string. Null: such a string is one group. */
  readonly groupsSeparator: string | null;
  readonly restrictionsClaim: string | null;
}

export type ClaimedHolder = Omit<CredentialHolder, 'credentialFingerprint'>;

/** Throws `auth.invalid` if the claims name no holder. */
export function holderOf(claims: Claims, names: ClaimNames): ClaimedHolder {
  const { provider, scopeClaim, groupsClaim, groupsSeparator, restrictionsClaim } = names;
  const own = identityOf(provider, claims.get('sub'), '`sub`');
  const groups = groupsClaim === null ? [] : groupsOf(claims.get(groupsClaim), groupsSeparator);
  const named = groups.map((group) => identityOf(`${provider}-group`, group, 'the groups claim'));
  const identities = [own, ...named];
  const restrictions = restrictionsClaim === null ? null : restrictionsOf(claims.get(restrictionsClaim));
  if (carriedBytes(identities, restrictions) > KEY_LIMITS.carriedBytes)
    throw notValid('unusable', `its groups and restrictions have more than ${String(KEY_LIMITS.carriedBytes)} bytes`);
  return {
    id: formatIdentity(own),
    identities,
    scopes: scopeClaim === null ? null : scopesOf(claims.get(scopeClaim)),
    restrictions,
  };
}

function identityOf(provider: string, subject: unknown, claim: string): Identity {
  const made = typeof subject === 'string' ? makeIdentity(provider, subject) : null;
  if (made?.ok !== true) throw notValid('unusable', `${claim} is not a subject`);
  return made.identity;
}

/** An absent claim and an empty string mean no groups. */
function groupsOf(value: unknown, separator: string | null): readonly unknown[] {
  if (value === undefined || value === '') return [];
  const groups: unknown = typeof value !== 'string' ? value : separator === null ? [value] : value.split(separator);
  if (!Array.isArray(groups)) throw notValid('unusable', 'the groups claim is neither a list nor a string');
  if (groups.length > TOKEN_LIMITS.groups)
    throw notValid('unusable', `the groups claim has more than ${String(TOKEN_LIMITS.groups)} groups`);
  return [...new Set<unknown>(groups)];
}

/** A configured claim that is absent carries no scope. */
function scopesOf(value: unknown): ScopeSet {
  if (value === undefined) return NO_SCOPES;
  const texts: readonly unknown[] =
    typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [null];
  if (texts.length > TOKEN_LIMITS.scopes)
    throw notValid('unusable', `the scope claim has more than ${String(TOKEN_LIMITS.scopes)} scopes`);
  const names = texts.filter((text) => {
    if (typeof text !== 'string')
      throw notValid('unusable', 'the scope claim is neither a string nor a list of strings');
    const cut = text.indexOf(':');
    // A name that begins like a scope of records must be one. Others are meant for somebody else, unless a policy declares them.
    return cut >= 0 && isFamily(text.slice(0, cut));
  });
  if (!names.every(isRecordScope)) throw notValid('unusable', 'the scope claim has a scope that does not exist');
  return scopeSetOf(texts.filter(isScopeName));
}

/** A configured claim must be present. Without it nobody knows how far the token reaches. */
function restrictionsOf(value: unknown): readonly NamespacePath[] {
  if (!Array.isArray(value) || value.length > KEY_LIMITS.restrictions)
    throw notValid('unusable', 'the restrictions claim is missing, not a list, or too long');
  return value.map((text: unknown) => {
    const named = canonicalize(text);
    if (!named.ok) throw notValid('unusable', 'the restrictions claim has an entry that is not a namespace');
    return named.path;
  });
}

/** In milliseconds since 1970: valid at `from`, no longer valid at `until`. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

export interface TimeRules {
  readonly clockTolerance: number;
  readonly maxTokenAge: number;
}

/** The validity of a token, which must say when it was issued and when it expires. */
export function validityOf(claims: Claims, { clockTolerance, maxTokenAge }: TimeRules): Validity {
  const issued = timeOf(claims, 'iat');
  const ends = timeOf(claims, 'exp');
  const begins = claims.has('nbf') ? timeOf(claims, 'nbf') : issued;
  if (ends <= issued) throw notValid('unusable', 'it ends before it was issued');
  return {
    from: Math.max(issued, begins) - clockTolerance,
    until: Math.min(ends, issued + maxTokenAge) + clockTolerance,
  };
}

/** A NumericDate in milliseconds. A number outside the range of dates is refused. */
export function timeOf(claims: Claims, name: string): number {
  const seconds = claims.get(name);
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= LAST_SECOND))
    throw notValid('unusable', `\`${name}\` is missing or not a time`);
  return seconds * 1000;
}

/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799;

/** The thumbprint of the certificate that the token is bound to (RFC 8705); null if it is bound to nothing. */
export function boundCertificate(claims: Claims): string | null {
  const confirmation = claims.get('cnf');
  if (confirmation === undefined) return null;
  const members = typeof confirmation === 'object' && confirmation !== null ? Object.entries(confirmation) : [];
  const [first, ...more] = members;
  // A token that requires another kind of proof is refused, because that proof cannot be checked here.
  if (first?.[0] !== 'x5t#S256' || more.length > 0 || typeof first[1] !== 'string') {
    throw notValid('misdirected', 'bound to a proof that is not supported');
  }
  return first[1];
}

/** The texts of `aud`, at least one. */
export function audiencesOf(claims: Claims): readonly string[] {
  const value = claims.get('aud');
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (texts.length === 0 || !texts.every((text) => typeof text === 'string'))
    throw notValid('unusable', '`aud` is missing, or neither a string nor a list of strings');
  return texts;
}
