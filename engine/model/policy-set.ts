// A policy with every reference resolved. Linking makes it, and compiling reads it.
import type { LineTable, Range, Span } from './span.js';
import type { Identity } from './identity.js';
import type { Instant } from './instant.js';
import type { NamespacePath } from './namespace.js';
import type { ScopeName } from './scope.js';
import type { ScopeSet } from './scope-set.js';
import type { CarriedScopes, OwnFamily } from './vocabulary.js';

/**
 * Where something is declared; null in a policy built in memory. Lines and columns are computed only when they are
 * shown.
 */
export interface Place extends Span {
  readonly file: string;
  readonly lines: LineTable;
}

export interface PolicyProvider {
  readonly name: string;
  readonly description: string | null;
}

/** A member with a window holds what the role holds, within that window. */
export type PolicyMember = Principal & {
  readonly notBefore?: Instant | null;
  readonly expires?: Instant | null;
  readonly place: Place | null;
};

export interface PolicyRole {
  readonly name: string;
  readonly description: string | null;
  readonly members: readonly PolicyMember[];
  readonly place: Place | null;
}

export type Principal =
  { readonly kind: 'identity'; readonly identity: Identity } | { readonly kind: 'role'; readonly role: string };

export interface PolicyGrant {
  readonly id: string;
  readonly principal: Principal;
  readonly namespace: NamespacePath;
  /** Never empty: the grant's own scopes, or the scopes of its role if it names none. */
  readonly scopes: ScopeSet;
  /** Present if the scopes are those of its role. */
  readonly isRoleScoped?: true;
  readonly inherit: boolean;
  readonly notBefore: Instant | null;
  readonly expires: Instant | null;
  readonly reason: string | null;
  readonly place: Place | null;
}

/** One expectation of a policy test: `resource:read /labs/optics`. */
export interface ExpectedAccess {
  readonly scope: ScopeName;
  readonly namespace: NamespacePath;
  readonly place: Place | null;
}

/** One `sees` line: the exact lineage visibility of a family from a context. */
export interface ExpectedVisibility {
  readonly family: string;
  readonly context: NamespacePath;
  readonly namespaces: readonly NamespacePath[];
  readonly place: Place | null;
}

export interface PolicyTest {
  readonly name: string;
  readonly identities: readonly Identity[];
  readonly credentialScopes: CarriedScopes;
  readonly namespaceRestrictions: readonly NamespacePath[] | null;
  /** Null if it must hold in every interval of time (docs/language.md "Tests"). */
  readonly at: Instant | null;
  readonly allow: readonly ExpectedAccess[];
  readonly deny: readonly ExpectedAccess[];
  readonly sees: readonly ExpectedVisibility[];
  readonly place: Place | null;
}

/** One human with several identities. */
export interface PolicyPerson {
  readonly name: string;
  /** At least one identity. No identity belongs to two people. */
  readonly identities: readonly Identity[];
  readonly place: Place | null;
}

/** Identities of which no actor may have two (docs/meaning.md "Exclusive identities"). */
export interface PolicyExclusive {
  readonly identities: readonly Identity[];
  readonly place: Place | null;
}

/** A delegated folder, or a file with a `within` of its own: it decides at or below that (docs/language.md "Delegation"). */
export interface PolicyFolder {
  readonly path: string;
  readonly within: NamespacePath;
  /** Roles that files outside of the folder may use anywhere. Null for a file, which delegates nothing. */
  readonly exports: readonly string[] | null;
  readonly place: Place | null;
}

/** Whom a guardrail exempts. */
export interface Exemption {
  readonly roles: readonly string[];
  readonly identities: readonly Identity[];
}

/** Whom a guardrail is about: everybody named by any of these. */
export interface Audience extends Exemption {
  readonly providers: readonly string[];
}

/** Whose rights a guardrail is about. */
export interface Parties {
  /** Null means everyone. */
  readonly to: Audience | null;
  readonly except: Exemption;
}

/** Where a counting guardrail counts: `at` a path, `under` it everywhere, or at every first segment of a namespace that a grant names. */
export type CountedAt =
  { readonly kind: 'path' | 'under'; readonly path: NamespacePath } | { readonly kind: 'every-top-level' };

/** A rule about somebody. A part of a file that could not be read is `Unread`, so nothing of a linked policy is. */
export type RuleFor<Who, Name, Unread> =
  | ({ readonly kind: 'never'; readonly scopes: ScopeSet | Unread; readonly under: NamespacePath | Unread } & Who)
  | ({
      readonly kind: 'separate';
      readonly sides: readonly ScopeSet[] | Unread;
      readonly under: NamespacePath | Unread;
    } & Who)
  | ({ readonly kind: 'atLeast' } & Count<Unread>)
  /** `groups`: how many, beside the people. */
  | ({ readonly kind: 'atMost'; readonly groups: number | Unread } & Count<Unread> & Who)
  | {
      readonly kind: 'expires';
      readonly providers: readonly Name[] | Unread;
      readonly withinMilliseconds: number | Unread;
      /** Whether only each grant by itself must be that short; else also what follows each other without a break. */
      readonly each: boolean | Unread;
    };

interface Count<Unread> {
  /** How many people. */
  readonly identities: number | Unread;
  readonly scopes: ScopeSet | Unread;
  readonly at: CountedAt | Unread;
}

/** The five kinds (docs/language.md "Guardrails"). */
export type GuardrailRule = RuleFor<Parties, string, never>;

export interface PolicyGuardrail {
  readonly id: string;
  readonly description: string | null;
  readonly rule: GuardrailRule;
  readonly place: Place | null;
}

export interface PolicySet {
  readonly name: string;
  readonly providers: readonly PolicyProvider[];
  readonly exclusive: readonly PolicyExclusive[];
  readonly folders: readonly PolicyFolder[];
  /** Families that it declares beside the five of records. Absent means none. */
  readonly families?: readonly OwnFamily[];
  readonly roles: readonly PolicyRole[];
  /** The identities that guardrails treat as one person. An identity that is not listed is a person of its own. */
  readonly people: readonly PolicyPerson[];
  readonly grants: readonly PolicyGrant[];
  readonly tests: readonly PolicyTest[];
  readonly guardrails: readonly PolicyGuardrail[];
}

/** What lint needs to know about a file itself. */
export interface FileOutline {
  readonly file: string;
  readonly within: NamespacePath | null;
  /** Where its grants begin; null if it has none. */
  readonly grantsAt: Range | null;
}
