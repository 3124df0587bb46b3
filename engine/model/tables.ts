// The decision tables: a policy as sorted columns. Compiling makes them, the snapshot file carries them, evaluation and
// the digests read them. Rows are numbers, so everything that refers to a row is an integer.  A principal is one
// number: the row of a role, or the number of roles plus the row of an identity. INVARIANT: every list is sorted and
// free of repetition, nothing dangles, roles have no cycle; the files that make tables (compile-tables.ts, decode.ts)
// guarantee it, and nobody checks again. The arrays never leave the engine.

import type { RowPairs } from './exclusions.js';
import { formatIdentity, type Identity } from './identity.js';
import type { Window } from './instant.js';
import { makeScopeColumn, NO_SCOPES, type ScopeColumn } from './scope-set.js';
import type { Vocabulary } from './vocabulary.js';

export interface PlaceColumns {
  /** The row of its file plus one; 0 for a row that was built in memory. */
  readonly file: Int32Array;
  /** Counts from 1; 0 for a row that was built in memory. */
  readonly line: Int32Array;
}

export interface IdentityColumns {
  readonly provider: Int32Array;
  readonly subject: readonly string[];
}

/** Texts of some rows, in the order of the rows. No decision reads them. */
export interface TextColumn {
  readonly row: Int32Array;
  readonly text: readonly string[];
}

export interface RoleColumns extends PlaceColumns {
  readonly name: readonly string[];
  readonly description: TextColumn;
}

/** Who is in which role, sorted by role, then member. */
export interface MemberColumns extends PlaceColumns {
  readonly role: Int32Array;
  /** A principal. */
  readonly member: Int32Array;
  /** Null where no member has a window: so it is in all tables but those that a file states (`narrowMembers`). */
  readonly windows: WindowColumns | null;
}

/** Windows of some rows, in the order of the rows: `from <= t < until`, infinite where open. None is empty. */
export interface WindowColumns {
  readonly row: Int32Array;
  readonly from: Float64Array;
  readonly until: Float64Array;
}

/**
 * The trie of the namespaces that grants name, in path order: row 0 is the root, a parent stands before its children and
 * a subtree is one run of rows. Namespaces that merely lie between are rows too.
 */
export interface NamespaceColumns {
  /** The root's is -1. */
  readonly parent: Int32Array;
  /** Row of `segments`; the root's is -1. */
  readonly segment: Int32Array;
}

/** Sorted by id. Of a row that was narrowed for a member, `statedId` has the id of its grant. */
export interface GrantColumns extends PlaceColumns {
  readonly id: readonly string[];
  readonly principal: Int32Array;
  readonly namespace: Int32Array;
  readonly scopes: ScopeColumn;
  /** 1, or 0 for a grant that counts at its own namespace only. */
  readonly inherit: Uint8Array;
  /** Milliseconds since 1970; -Infinity where open. */
  readonly notBefore: Float64Array;
  /** Milliseconds since 1970; Infinity where open, -Infinity where the grant is never in force (`windowOf`). */
  readonly expires: Float64Array;
  readonly reason: TextColumn;
}

export interface PolicyTables {
  readonly name: string;
  readonly providers: readonly string[];
  readonly files: readonly string[];
  readonly segments: readonly string[];
  /** Sorted by provider, then subject. */
  readonly identities: IdentityColumns;
  readonly roles: RoleColumns;
  readonly members: MemberColumns;
  readonly namespaces: NamespaceColumns;
  readonly grants: GrantColumns;
  /** Identity rows of which no actor may have both. */
  readonly exclusive: RowPairs;
  readonly vocabulary: Vocabulary;
  /** Absent where no member has a window. */
  readonly narrowed?: Narrowed;
}

/** How the tables were narrowed. */
export interface Narrowed {
  /** The tables as they were stated: members with their windows, and no more grants than there are ids. */
  readonly stated: PolicyTables;
  /** By row of a stated grant, its row in the narrowed tables. */
  readonly rows: Int32Array;
  /**
   * By row of a narrowed grant: the stated member edges through which its principal holds the grant, the principal's own first.
   */
  readonly edges: ReadonlyMap<number, readonly number[]>;
}

/** How many principals there are: roles, then identities. */
export function countPrincipals({ roles, identities }: Pick<PolicyTables, 'roles' | 'identities'>): number {
  return roles.name.length + identities.subject.length;
}

type Identities = Pick<PolicyTables, 'providers' | 'identities'>;

export function identityAt({ providers, identities }: Identities, row: number): Identity {
  return { provider: providers[identities.provider[row] ?? 0] ?? '', subject: identities.subject[row] ?? '' };
}

/** `provider:subject` */
export function identityText(tables: Identities, row: number): string {
  return formatIdentity(identityAt(tables, row));
}

/** A member of a role, as reports name it: `role <name>` or `provider:subject` */
export function memberText(tables: PolicyTables, principal: number): string {
  const { name } = tables.roles;
  return principal < name.length ? `role ${name[principal] ?? ''}` : identityText(tables, principal - name.length);
}

export function windowColumns(windows: readonly (Window & { readonly row: number })[]): WindowColumns | null {
  if (windows.length === 0) return null;
  return {
    row: Int32Array.from(windows, ({ row }) => row),
    from: Float64Array.from(windows, ({ from }) => from),
    until: Float64Array.from(windows, ({ until }) => until),
  };
}

/** The windows of the member edges that have one. */
export function memberWindows({ members: { windows } }: PolicyTables): ReadonlyMap<number, Window> {
  return new Map(
    Array.from(windows?.row ?? [], (edge, i) => [
      edge,
      { from: windows?.from[i] ?? -Infinity, until: windows?.until[i] ?? Infinity },
    ]),
  );
}

/** Some rows of the grants, in this order; a row may be picked more than once. */
export function pickGrants(grants: GrantColumns, rows: Int32Array): GrantColumns {
  return {
    id: Array.from(rows, (row) => grants.id[row] ?? ''),
    principal: pick(grants.principal, rows),
    namespace: pick(grants.namespace, rows),
    scopes: makeScopeColumn(Array.from(rows, (row) => grants.scopes[row] ?? NO_SCOPES)),
    inherit: Uint8Array.from(rows, (row) => grants.inherit[row] ?? 0),
    notBefore: Float64Array.from(rows, (row) => grants.notBefore[row] ?? 0),
    expires: Float64Array.from(rows, (row) => grants.expires[row] ?? 0),
    file: pick(grants.file, rows),
    line: pick(grants.line, rows),
    reason: pickTexts(grants.reason, rows),
  };
}

/** Some rows of the memberships, as if none had a window. */
export function pickMembers({ role, member, file, line }: MemberColumns, rows: Int32Array): MemberColumns {
  return {
    role: pick(role, rows),
    member: pick(member, rows),
    file: pick(file, rows),
    line: pick(line, rows),
    windows: null,
  };
}

function pick(column: Int32Array, rows: Int32Array): Int32Array {
  return rows.map((row) => column[row] ?? 0);
}

function pickTexts({ row: known, text }: TextColumn, rows: Int32Array): TextColumn {
  const texts = new Map(text.map((one, i) => [known[i] ?? 0, one]));
  const row = Int32Array.from(rows.keys()).filter((i) => texts.has(rows[i] ?? -1));
  return { row, text: Array.from(row, (i) => texts.get(rows[i] ?? -1) ?? '') };
}

/** The tables as a file states them. */
export function statedTables(tables: PolicyTables): PolicyTables {
  return tables.narrowed?.stated ?? tables;
}

export interface SnapshotCounts {
  /** All that the policy names, in a role, a grant or a list of `exclusive`. */
  readonly identities: number;
  readonly roles: number;
  readonly grants: number;
  /** The root, every namespace that a grant names, and those between. */
  readonly namespaces: number;
}

export function countsOf(tables: PolicyTables): SnapshotCounts {
  return Object.freeze({
    identities: tables.identities.subject.length,
    roles: tables.roles.name.length,
    grants: statedTables(tables).grants.id.length,
    namespaces: tables.namespaces.parent.length,
  });
}
