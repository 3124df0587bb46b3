// Decision tables with some grants and memberships changed or left out, as if the policy had been compiled again. Rows keep their order,
// and texts that nothing names any more stay: they hold nothing.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { preparePolicy } from '../../evaluate/prepare.js';
import { groupHolders } from '../../model/holders.js';
import { windowOf } from '../../model/instant.js';
import { narrowMembers } from '../../model/narrow-members.js';
import { makeScopeColumn, NO_SCOPES, type ScopeSet } from '../../model/scope-set.js';
import {
  type GrantColumns,
  type MemberColumns,
  memberWindows,
  pickGrants,
  pickMembers,
  type PolicyTables,
  windowColumns,
} from '../../model/tables.js';

/** What a grant is to be; what is absent stays. Null means open. */
export interface GrantVersion {
  readonly scopes?: ScopeSet;
  readonly inherit?: boolean;
  readonly notBefore?: number | null;
  readonly expires?: number | null;
}

export type MemberVersion = Pick<GrantVersion, 'notBefore' | 'expires'>;

/** Null leaves something out. Rows are those of the tables as a file states them. */
export interface TableEdit {
  readonly grants: ReadonlyMap<number, GrantVersion | null>;
  readonly edges: ReadonlyMap<number, MemberVersion | null>;
}

interface Bounds {
  readonly grants: number;
  readonly expandedRows: number;
}

/** `stated` are tables as a file states them. Null if the result would be past the limits. */
export function editTables(stated: PolicyTables, edit: TableEdit, limits: Bounds): PreparedPolicy | null {
  const members = editMembers(stated, edit.edges);
  const grants = editGrants(stated.grants, edit.grants);
  const tables = narrowMembers({ ...stated, members, grants }, limits.grants);
  if (tables === null) return null;
  const holders = groupHolders(tables, limits.expandedRows);
  return holders === null ? null : preparePolicy({ tables, holders });
}

function editGrants(grants: GrantColumns, edit: TableEdit['grants']): GrantColumns {
  if (edit.size === 0) return grants;
  const kept = Int32Array.from(grants.id.keys()).filter((row) => edit.get(row) !== null);
  const scopes = Array.from(kept, (row) => edit.get(row)?.scopes ?? grants.scopes[row] ?? NO_SCOPES);
  const columns = { ...pickGrants(grants, kept), scopes: makeScopeColumn(scopes) };
  kept.forEach((row, i) => {
    const version = edit.get(row);
    if (version === undefined || version === null) return;
    if (version.inherit !== undefined) columns.inherit[i] = version.inherit ? 1 : 0;
    const { from, until } = windowOf(bounds(columns.notBefore[i] ?? 0, columns.expires[i] ?? 0, version));
    columns.notBefore[i] = from;
    columns.expires[i] = until;
  });
  return columns;
}

function editMembers(tables: PolicyTables, edit: TableEdit['edges']): MemberColumns {
  const { members } = tables;
  if (edit.size === 0) return members;
  const kept = Int32Array.from(members.role.keys()).filter((edge) => edit.get(edge) !== null);
  const known = memberWindows(tables);
  const windows: { readonly row: number; readonly from: number; readonly until: number }[] = [];
  kept.forEach((edge, row) => {
    const { from = -Infinity, until = Infinity } = known.get(edge) ?? {};
    const window = windowOf(bounds(from, until, edit.get(edge) ?? {}));
    if (window.from !== -Infinity || window.until !== Infinity) windows.push({ row, ...window });
  });
  return { ...pickMembers(members, kept), windows: windowColumns(windows) };
}

function bounds(
  from: number,
  until: number,
  { notBefore, expires }: MemberVersion,
): { readonly notBefore: number | null; readonly expires: number | null } {
  return {
    notBefore: notBefore === undefined ? (from === -Infinity ? null : from) : notBefore,
    expires: expires === undefined ? (until === Infinity ? null : until) : expires,
  };
}
