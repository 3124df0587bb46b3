// The snapshot file as JSON. One table lists every field, with its type and the digests that cover it. Loading checks shapes
// by the same table, so every field is classified.
import type { PolicyChecks } from '../model/checks.js';

/** The format that compiling writes. Any change to the fields or their meaning raises it, so that no file is misread. */
export const SNAPSHOT_FORMAT = 3;

/** A few rows of a long column. `row` has each row as its distance from the one before (the first from 0), `at` has the values. */
export interface SparseColumn {
  readonly row: readonly number[];
  readonly at: readonly number[];
}

/** The texts of a few rows. `row` as in `SparseColumn`. */
export interface SparseTexts {
  readonly row: readonly number[];
  readonly text: readonly string[];
}

/** Families that a policy declares, and sets of scopes with some of theirs. */
export interface FamilyColumns {
  /** Of each family after the other, sorted; `read` and `write` are not stated. */
  readonly action: readonly string[];
  readonly description: SparseTexts;
  /** Sorted. */
  readonly name: readonly string[];
  /** How many of the actions belong to each family. */
  readonly perFamily: readonly number[];
  /** Sets that grants name, sorted by their parts; `own` has the places of scopes in the sorted list of those of all families. */
  readonly sets: {
    readonly own: readonly number[];
    /** How many of `own` belong to each set; at least one. */
    readonly perSet: readonly number[];
    /** The bits of the ten. */
    readonly record: readonly number[];
  };
}

/** Keys stand in code unit order, as they do in the file. */
export interface SnapshotBody {
  /** Absent in format 1. Format 2 has guardrails, people and tests. */
  readonly checks?: Partial<PolicyChecks>;
  /** The decision digest. */
  readonly decisions: string;
  /** Pairs of identity rows of which no actor may have both. Absent before format 3, like all texts for people. */
  readonly exclusive?: { readonly first: readonly number[]; readonly second: readonly number[] };
  /** Families beside the five. Absent if there are none, and before format 3. */
  readonly families?: FamilyColumns;
  readonly files: readonly string[];
  readonly format: number;
  readonly grants: {
    /** Rows of the grants that count at their own namespace only, as distances. */
    readonly exact: readonly number[];
    readonly expires: SparseColumn;
    /** 0, or one more than a row of `files`. */
    readonly file: readonly number[];
    readonly id: readonly string[];
    readonly line: readonly number[];
    readonly namespace: readonly number[];
    readonly notBefore: SparseColumn;
    /** The row of a role, or the number of roles plus the row of an identity. */
    readonly principal: readonly number[];
    readonly reason?: SparseTexts;
    /** Bits in the order of families, read before write; or 1,024 more than a row of `families.sets`. */
    readonly scopes: readonly number[];
  };
  readonly identities: {
    /** How many of the identities belong to each provider. */
    readonly perProvider: readonly number[];
    readonly subject: readonly string[];
  };
  readonly members: {
    /** Absent before format 3, like `notBefore`. */
    readonly expires?: SparseColumn;
    readonly file: readonly number[];
    readonly line: readonly number[];
    /** As `grants.principal`. */
    readonly member: readonly number[];
    readonly notBefore?: SparseColumn;
    /** How many of the members belong to each role. */
    readonly perRole: readonly number[];
  };
  readonly name: string;
  /** In path order, without the root: row 1 stands first. */
  readonly namespaces: {
    readonly segment: readonly number[];
    /** How many rows further up the parent stands. */
    readonly up: readonly number[];
  };
  readonly providers: readonly string[];
  readonly roles: {
    readonly description?: SparseTexts;
    readonly file: readonly number[];
    readonly line: readonly number[];
    readonly name: readonly string[];
  };
  readonly segments: readonly string[];
}

/** The seal is the digest of the canonical text of `snapshot`. */
export interface SnapshotDocument {
  readonly seal: string;
  readonly snapshot: SnapshotBody;
}

/** `counts` are integers from 0 up; `instants` are safe integers. */
export type FieldHolds = 'text' | 'count' | 'texts' | 'counts' | 'instants';

/**
 * Which digests a change of the field can change: `file` is the snapshot digest alone, `sealed` the seal as well,
 * `decided` also the decision digest and the namespace digests.
 */
export type FieldDigests = 'file' | 'sealed' | 'decided';

export interface Field {
  readonly holds: FieldHolds;
  readonly digests: FieldDigests;
}

export interface FieldTable {
  readonly [key: string]: Field | FieldTable;
}

const sealed = (holds: FieldHolds): Field => ({ holds, digests: 'sealed' });
const decided = (holds: FieldHolds): Field => ({ holds, digests: 'decided' });

const CHECK_SUM = { count: sealed('count'), digest: sealed('text') } as const;
const SPARSE_TEXTS = { row: sealed('counts'), text: sealed('texts') } as const;

/** Of a file of the present format that has `families`. */
export const SNAPSHOT_FIELDS = {
  seal: { holds: 'text', digests: 'file' },
  snapshot: {
    checks: {
      delegation: CHECK_SUM,
      exclusive: { count: decided('count'), digest: decided('text') },
      guardrails: CHECK_SUM,
      people: CHECK_SUM,
      tests: CHECK_SUM,
    },
    decisions: sealed('text'),
    exclusive: { first: decided('counts'), second: decided('counts') },
    families: {
      action: decided('texts'),
      description: SPARSE_TEXTS,
      name: decided('texts'),
      perFamily: decided('counts'),
      sets: { own: decided('counts'), perSet: decided('counts'), record: decided('counts') },
    },
    files: sealed('texts'),
    format: sealed('count'),
    grants: {
      exact: decided('counts'),
      expires: { at: decided('instants'), row: decided('counts') },
      file: sealed('counts'),
      id: sealed('texts'),
      line: sealed('counts'),
      namespace: decided('counts'),
      notBefore: { at: decided('instants'), row: decided('counts') },
      principal: decided('counts'),
      reason: SPARSE_TEXTS,
      scopes: decided('counts'),
    },
    identities: { perProvider: decided('counts'), subject: decided('texts') },
    members: {
      expires: { at: decided('instants'), row: decided('counts') },
      file: sealed('counts'),
      line: sealed('counts'),
      member: decided('counts'),
      notBefore: { at: decided('instants'), row: decided('counts') },
      perRole: decided('counts'),
    },
    name: sealed('text'),
    namespaces: { segment: decided('counts'), up: decided('counts') },
    providers: decided('texts'),
    roles: { description: SPARSE_TEXTS, file: sealed('counts'), line: sealed('counts'), name: sealed('texts') },
    segments: decided('texts'),
  },
} as const satisfies FieldTable;

const { families: _families, ...WITHOUT_FAMILIES } = SNAPSHOT_FIELDS.snapshot;
const { exclusive: _exclusive, ...REST } = WITHOUT_FAMILIES;
const { reason: _reason, ...GRANTS } = REST.grants;
const { description: _description, ...ROLES } = REST.roles;
const { expires: _expires, notBefore: _notBefore, ...MEMBERS } = REST.members;
const { delegation: _d, exclusive: _e, ...CHECKS } = REST.checks;
const FORMAT_2 = { ...REST, checks: CHECKS, grants: GRANTS, members: MEMBERS, roles: ROLES };
const { checks: _checks, ...FORMAT_1 } = FORMAT_2;

/** The fields of each format that can be read. No format is ever dropped, since past decisions are replayed on their own snapshots. */
export const FIELDS_OF_FORMAT: ReadonlyMap<number, FieldTable> = new Map<number, FieldTable>([
  [1, { ...SNAPSHOT_FIELDS, snapshot: FORMAT_1 }],
  [2, { ...SNAPSHOT_FIELDS, snapshot: FORMAT_2 }],
  [SNAPSHOT_FORMAT, { ...SNAPSHOT_FIELDS, snapshot: WITHOUT_FAMILIES }],
]);

export function isField(entry: Field | FieldTable): entry is Field {
  return typeof entry.holds === 'string';
}
