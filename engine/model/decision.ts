// Requests to the engine and its answers (docs/meaning.md "Decisions", docs/meaning.md "Visibility").
import type { NamespacePath } from './namespace.js';
import type { ScopeName } from './scope.js';

/** May a scope be used on a record that lives at `target`, from `context`? */
export interface Access {
  readonly kind: 'access';
  readonly scope: ScopeName;
  readonly context: NamespacePath;
  readonly target: NamespacePath;
}

export interface CreateNamespace {
  readonly kind: 'create-namespace';
  readonly namespace: NamespacePath;
}

export interface Copy {
  readonly kind: 'copy';
  readonly source: NamespacePath;
  readonly destination: NamespacePath;
}

export type Request = Access | CreateNamespace | Copy;

/** The steps at which an access can fail, in order (docs/meaning.md "Decisions"). */
export type AccessStep =
  | 'canonicalize'
  | 'unknown_scope'
  | 'exclusive'
  | 'restriction'
  | 'no_matching_grant'
  | 'credential_scope'
  | 'target_relationship';

export type Step = AccessStep | 'source_read' | 'destination_write';

/** A grant as answers cite it. File and line are absent if the policy was built in memory. */
export interface GrantRef {
  readonly id: string;
  readonly file?: string;
  readonly line?: number;
}

export type Decision =
  | { readonly decision: 'allow'; readonly grants: readonly GrantRef[] }
  | {
      readonly decision: 'deny';
      readonly step: Step;
      /** Of a copy: the step at which that side failed. */
      readonly cause?: AccessStep;
      /** Of step `exclusive`: the first two of the actor's identities that exclude each other, sorted. */
      readonly identities?: readonly [string, string];
    };

export type Reach = 'lineage' | 'exact' | 'subtree';

export interface VisibilityRequest {
  /** One of the five, or one that the policy declares. */
  readonly family: string;
  /** `read` by default. Any other action is possible at the context itself, and in reach `subtree` at and below it. */
  readonly action?: string | undefined;
  readonly context: NamespacePath;
  readonly reach: Reach;
}

/**
 * Never a list that can be empty by accident: `some` holds at least one namespace or subtree (docs/meaning.md
 * "Visibility").
 */
export type Visible =
  | { readonly kind: 'all' }
  | { readonly kind: 'some'; readonly exact: readonly NamespacePath[]; readonly subtrees: readonly NamespacePath[] };

export type Visibility = { readonly kind: 'none'; readonly step: AccessStep } | Visible;
