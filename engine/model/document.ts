// One policy file as it was read: shapes are checked and values typed, but names are not resolved yet. A part that was
// wrong is null and has been reported, so linking can go on with the rest. `source/` makes these, `link/` takes them.
import type { Identity } from './identity.js';
import type { Instant } from './instant.js';
import type { NamespacePath } from './namespace.js';
import type { ScopeName } from './scope.js';
import type { ScopeSet } from './scope-set.js';
import type { LineTable, Located, Span } from './span.js';
import type { CarriedScopes } from './vocabulary.js';
import type { RuleFor } from './policy-set.js';

export type IdentityReference = Located<Identity> & { readonly kind: 'identity' };
export type RoleReference = Located<string> & { readonly kind: 'role' };
export type MemberReference = IdentityReference | RoleReference;

/** A member of a role. Bounds that are absent are open. */
export type MemberDeclaration = MemberReference & {
  readonly notBefore?: Instant | null;
  readonly expires?: Instant | null;
};

export interface ProviderDeclaration {
  readonly name: Located<string>;
  readonly description: string | null;
}

/** A family of the policy's own. */
export interface FamilyDeclaration {
  readonly name: Located<string>;
  /** Sorted; null if one of them could not be read. */
  readonly actions: readonly string[] | null;
  readonly description: string | null;
}

/** The content of `policy.yaml`. */
export interface PolicyHeader {
  readonly name: Located<string> | null;
  readonly providers: readonly ProviderDeclaration[];
  readonly exclusive: readonly ExclusiveDeclaration[];
  readonly folders: readonly FolderDeclaration[];
  readonly families: readonly FamilyDeclaration[];
  /** Whether families or actions may have been lost, so that an unknown one is no mistake of its own. */
  readonly hidesFamilies: boolean;
}

/** A delegated folder. */
export interface FolderDeclaration {
  /** Without a slash at its ends. */
  readonly path: Located<string>;
  readonly within: Located<NamespacePath> | null;
  readonly exports: readonly RoleReference[];
}

/** A list of identities of which no actor may have two. */
export interface ExclusiveDeclaration extends Span {
  readonly identities: readonly IdentityReference[];
}

/** Scopes that may be left out: they are absent, wrong (and reported), or stated. */
export type StatedScopes = 'absent' | 'wrong' | Located<ScopeSet>;

export interface RoleDeclaration {
  readonly name: Located<string>;
  readonly description: string | null;
  readonly members: readonly MemberDeclaration[];
  readonly scopes: StatedScopes;
}

export interface GrantDeclaration {
  /** The place that is cited for an entry without an id. */
  readonly place: Span;
  readonly id: Located<string> | null;
  /** Exactly one in a correct grant. If there are more, their names are checked all the same. */
  readonly principals: readonly MemberReference[];
  /** Which keys name the principal; null if they may have been lost. */
  readonly holder: 'role' | 'identity' | 'both' | null;
  readonly namespace: Located<NamespacePath> | null;
  readonly scopes: StatedScopes;
  readonly inherit: boolean;
  readonly notBefore: Instant | null;
  readonly expires: Instant | null;
  readonly reason: string | null;
}

export interface AccessExpectation extends Span {
  readonly scope: ScopeName;
  readonly namespace: NamespacePath;
}

export interface VisibilityExpectation extends Span {
  readonly family: string;
  readonly context: NamespacePath;
  readonly namespaces: readonly NamespacePath[];
}

export interface TestDeclaration {
  readonly name: Located<string> | null;
  readonly identities: readonly IdentityReference[];
  readonly credentialScopes: CarriedScopes;
  readonly namespaceRestrictions: readonly NamespacePath[] | null;
  readonly at: Instant | null;
  readonly allow: readonly AccessExpectation[];
  readonly deny: readonly AccessExpectation[];
  readonly sees: readonly VisibilityExpectation[];
}

export interface PersonDeclaration {
  readonly name: Located<string>;
  readonly identities: readonly IdentityReference[];
}

export interface ExemptionDeclaration {
  readonly roles: readonly RoleReference[];
  readonly identities: readonly IdentityReference[];
}

/** `to`: whom a guardrail is about. */
export interface AudienceDeclaration extends ExemptionDeclaration {
  readonly providers: readonly Located<string>[];
}

/** Whom a rule is about. `everyone` if it was left out, null if it could not be read. */
export interface PartiesDeclaration {
  readonly to: AudienceDeclaration | 'everyone' | null;
  readonly except: ExemptionDeclaration | null;
}

export type RuleDeclaration = RuleFor<PartiesDeclaration, Located<string>, null>;

export interface GuardrailDeclaration {
  readonly id: Located<string> | null;
  readonly description: string | null;
  /** Exactly one in a correct guardrail. */
  readonly rules: readonly RuleDeclaration[];
}

export interface PolicyDocument {
  /** Relative to the policy folder, with `/`. */
  readonly file: string;
  readonly lines: LineTable;
  /** False if something could not be read at all. Names that it may declare are then not reported as unknown. */
  readonly complete: boolean;
  /** Null for every file but `policy.yaml`. */
  readonly header: PolicyHeader | null;
  readonly within: Located<NamespacePath> | null;
  readonly roles: readonly RoleDeclaration[];
  readonly people: readonly PersonDeclaration[];
  /** The place of the section's key. */
  readonly grantsKey: Span | null;
  readonly grants: readonly GrantDeclaration[];
  readonly tests: readonly TestDeclaration[];
  readonly guardrails: readonly GuardrailDeclaration[];
}
