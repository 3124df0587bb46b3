// The snapshot file as JSON. One table lists every field, with its type and the digests that cover it. Loading checks shapes
// by the same table, so every field is classified.
import type { PolicyChecks } from '../model/checks.js';

/** The format that compiling writes. Any change to the fields or their meaning raises it, so that no file is misread. */
export const SNAPSHOT_FORMAT = 3;

/** `counts` are integers from 0 up; `instants` are safe integers. */
export interface FieldValues {
  readonly text: string;
  readonly count: number;
  readonly texts: readonly string[];
  readonly counts: readonly number[];
  readonly instants: readonly number[];
}

export type FieldHolds = keyof FieldValues;

export interface SnapshotField<Holds extends FieldHolds = FieldHolds> {
  readonly holds: Holds;
  /**
   * Which digests a change of the field can change: `file` is the snapshot digest alone, `sealed` the seal as well, `decided` also the
   * decision digest and the namespace digests.
   */
  readonly digests: 'file' | 'sealed' | 'decided';
}

export interface FieldTable {
  readonly [key: string]: SnapshotField | FieldTable;
}

function sealed<Holds extends FieldHolds>(holds: Holds): SnapshotField<Holds> {
  return { holds, digests: 'sealed' };
}

function decided<Holds extends FieldHolds>(holds: Holds): SnapshotField<Holds> {
  return { holds, digests: 'decided' };
}

const CHECK_SUM = { count: sealed('count'), digest: sealed('text') } as const;
/** A few rows of a long column. `row` has each row as its distance from the one before (the first from 0), `at` has the values. */
const SPARSE_INSTANTS = { at: decided('instants'), row: decided('counts') } as const;
/** The texts of a few rows. `row` as in `SPARSE_INSTANTS`. */
const SPARSE_TEXTS = { row: sealed('counts'), text: sealed('texts') } as const;

/** Of a file of the present format that has `families`. Keys stand in code unit order, as they do in the file. */
export const SNAPSHOT_FIELDS = {
  /** The digest of the canonical text of `snapshot`. */
  seal: { holds: 'text', digests: 'file' },
  snapshot: {
    checks: {
      delegation: CHECK_SUM,
      exclusive: { count: decided('count'), digest: decided('text') },
      guardrails: CHECK_SUM,
      people: CHECK_SUM,
      tests: CHECK_SUM,
    },
    /** The decision digest. */
    decisions: sealed('text'),
    /** Pairs of identity rows of which no actor may have both. */
    exclusive: { first: decided('counts'), second: decided('counts') },
    /** Families that a policy declares, and sets of scopes with some of theirs. */
    families: {
      /** Of each family after the other, sorted; `read` and `write` are not stated. */
      action: decided('texts'),
      description: SPARSE_TEXTS,
      /** Sorted. */
      name: decided('texts'),
      /** How many of the actions belong to each family. */
      perFamily: decided('counts'),
      /**
       * Sets that grants name, sorted by their parts: `record` has the bits of the ten, `own` the places of scopes in the sorted list of
       * those of all families, and `perSet` how many of these belong to each set; at least one.
       */
      sets: { own: decided('counts'), perSet: decided('counts'), record: decided('counts') },
    },
    files: sealed('texts'),
    format: sealed('count'),
    grants: {
      /** Rows of the grants that count at their own namespace only, as distances. */
      exact: decided('counts'),
      expires: SPARSE_INSTANTS,
      /** 0, or one more than a row of `files`. */
      file: sealed('counts'),
      id: sealed('texts'),
      line: sealed('counts'),
      namespace: decided('counts'),
      notBefore: SPARSE_INSTANTS,
      /** The row of a role, or the number of roles plus the row of an identity. */
      principal: decided('counts'),
      reason: SPARSE_TEXTS,
      /** Bits in the order of families, read before write; or 1,024 more than a row of `families.sets`. */
      scopes: decided('counts'),
    },
    /** `perProvider`: how many of the identities belong to each provider. */
    identities: { perProvider: decided('counts'), subject: decided('texts') },
    members: {
      expires: SPARSE_INSTANTS,
      file: sealed('counts'),
      line: sealed('counts'),
      /** As `grants.principal`. */
      member: decided('counts'),
      notBefore: SPARSE_INSTANTS,
      /** How many of the members belong to each role. */
      perRole: decided('counts'),
    },
    name: sealed('text'),
    /** In path order, without the root: row 1 stands first. `up`: how many rows further up the parent stands. */
    namespaces: { segment: decided('counts'), up: decided('counts') },
    providers: decided('texts'),
    roles: { description: SPARSE_TEXTS, file: sealed('counts'), line: sealed('counts'), name: sealed('texts') },
    segments: decided('texts'),
  },
} as const satisfies FieldTable;

type ValuesOf<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends SnapshotField
    ? FieldValues[Table[Key]['holds']]
    : ValuesOf<Table[Key]>;
};
type Full = ValuesOf<typeof SNAPSHOT_FIELDS.snapshot>;
/** Some fields came with a later format, and `families` stands only where there are any. */
type Later<Table, Key extends keyof Table> = Omit<Table, Key> & Partial<Pick<Table, Key>>;

export type FamilyColumns = Full['families'];
export type SparseColumn = Full['grants']['expires'];
export type SparseTexts = Full['grants']['reason'];

export type SnapshotBody = Later<
  Omit<Full, 'checks' | 'grants' | 'members' | 'roles'> & {
    readonly checks: Partial<PolicyChecks>;
    readonly grants: Later<Full['grants'], 'reason'>;
    readonly members: Later<Full['members'], 'expires' | 'notBefore'>;
    readonly roles: Later<Full['roles'], 'description'>;
  },
  'checks' | 'exclusive' | 'families'
>;

export interface SnapshotDocument {
  readonly seal: string;
  readonly snapshot: SnapshotBody;
}

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

export function isField(entry: SnapshotField | FieldTable): entry is SnapshotField {
  return typeof entry.holds === 'string';
}
