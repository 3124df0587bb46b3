// What the admin listener answers, as far as the console shows it (docs/admin.md; the shapes are those of its /openapi.json).
export interface Status {
  readonly version: string;
  readonly startedAt: string;
  readonly ready: boolean;
  readonly policy: string;
  readonly snapshot: string;
  readonly decisions: string;
  readonly labels: string;
  readonly generation: number;
  readonly reason: string;
  readonly source: Readonly<Record<string, string>>;
  readonly loadedAt: string;
  readonly statement: { readonly generation: number; readonly expiresAt: string } | null;
  readonly ageSeconds: number;
  readonly stale: 'no' | 'soft' | 'hard';
  readonly undecided: string | null;
  readonly store: { readonly kind: string; readonly ok: boolean };
  readonly audit: { readonly ok: boolean; readonly fileLagSeconds: number; readonly storeLagSeconds: number } | null;
  readonly certificate: { readonly expiresAt: string } | null;
  readonly lastError: {
    readonly at: string;
    readonly code: string;
    readonly message: string;
    readonly problems: readonly string[];
  } | null;
  readonly shadow: { readonly snapshot: string } | null;
  readonly workers: { readonly size: number; readonly serving: number } | null;
  readonly peers: readonly {
    readonly gateway: string;
    readonly host: string;
    readonly version: string;
    readonly snapshot: string;
    readonly generation: number;
    readonly startedAt: string;
    readonly seenAt: string;
  }[];
}

export interface StoredSnapshot {
  readonly snapshot: string;
  readonly policy: string;
  readonly decisions: string;
  readonly bytes: number;
  readonly state: 'active' | 'shadow' | 'stored' | 'refused';
  readonly isSigned: boolean;
  readonly generation: number | null;
  readonly reason: string | null;
  readonly askedBy: string | null;
  readonly loadedAt: string;
}

interface ShadowRow {
  readonly identities: readonly string[];
  readonly scopes: readonly string[];
  readonly namespace: string;
  readonly extent: 'exact' | 'subtree' | 'below';
  readonly except?: readonly string[];
  readonly from: string | null;
  readonly until: string | null;
}

export interface ShadowAnswer {
  readonly snapshot: string | null;
  readonly since: string | null;
  readonly differs: {
    readonly gained: number;
    readonly lost: number;
    readonly compared: number;
    readonly rows: { readonly gained: readonly ShadowRow[]; readonly lost: readonly ShadowRow[] };
  } | null;
  readonly fault?: { readonly code: string; readonly message: string } | null;
  readonly live?: {
    readonly compared: number;
    readonly gained: number;
    readonly lost: number;
    readonly skipped: number;
    readonly examples: readonly {
      readonly actor: { readonly id: string };
      readonly operation: string;
      readonly access: EventAccess;
      readonly at: string;
      readonly times: number;
      readonly change: string;
    }[];
  };
}

export interface EventAccess {
  readonly family?: string;
  readonly scope?: string;
  readonly reach?: string;
  readonly context?: string;
  readonly target?: string;
  readonly creates?: string;
  readonly source?: string;
  readonly destination?: string;
  readonly moves?: true;
}

interface Holder {
  readonly identities: readonly string[];
  readonly credentialScopes: readonly string[];
  readonly namespaceRestrictions: readonly string[] | null;
}

export interface LogEvent {
  readonly seq: number;
  readonly log: string;
  readonly time: string;
  readonly kind: string;
  readonly operation: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly requestId: string;
  readonly actor: Holder & { readonly id: string; readonly kind: string; readonly fingerprint: string | null };
  readonly subject?: Holder;
  readonly access: EventAccess | null;
  readonly step?: string;
  readonly grants?: readonly string[];
  readonly records?: readonly string[];
  readonly items?: number;
  /** The id of a key that was made or revoked. */
  readonly key?: string;
  readonly snapshot: string | null;
  readonly shown?: 'yes' | 'maybe';
  readonly fault?: string;
}

export interface FoundEvents {
  readonly events: readonly LogEvent[];
  readonly found: number;
  readonly searched: number;
  readonly malformed: number;
  readonly unverified: number;
  readonly unrecorded: { readonly lists: number; readonly counts: number };
}

export interface ChainState {
  readonly ok: boolean;
  readonly events: number;
  readonly logs: readonly {
    readonly log: string;
    readonly events: number;
    readonly head: { readonly seq: number; readonly hash: string } | null;
  }[];
  readonly faults: readonly { readonly log: string | null; readonly kind: string; readonly text: string }[];
  readonly count: number;
}

/** RFC 9457, with the members of ours. */
export interface Problem {
  readonly title?: string;
  readonly code?: string;
  readonly requestId?: string;
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
}
