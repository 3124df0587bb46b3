// Members with a window. A role's grants are narrowed for such a member, so for each of them there is one more row that names the
// member itself: whatever reads the tables then needs to know nothing about windows of members (docs/meaning.md "Identities and roles").
import { remember } from './group.js';
import type { Window } from './instant.js';
import { compareTexts } from './order.js';
import { firstFrom, listRows, type RowLists, rowsOf } from './row-lists.js';
import {
  countPrincipals,
  identityText,
  type MemberColumns,
  memberWindows,
  pickGrants,
  pickMembers,
  type PolicyTables,
} from './tables.js';

/** Between the id of a grant and what tells apart the rows that were narrowed from it. No id has it. */
const MARK = '\0';

/** The id of the grant that a row is, or was narrowed from. */
export function statedId(id: string): string {
  const end = id.indexOf(MARK);
  return end < 0 ? id : id.slice(0, end);
}

/** The row of the grant that a row is, or was narrowed from. Those stand behind it. */
export function statedRow({ narrowed }: Pick<PolicyTables, 'narrowed'>, row: number): number {
  if (narrowed === undefined) return row;
  const { rows } = narrowed;
  const after = firstFrom(rows.length, (stated) => (rows[stated] ?? Infinity) > row);
  return rows[after - 1] ?? row;
}

/** Rows of member edges, each of which has the role of the one before as a member. */
type Way = readonly number[];

const EVER: Window = { from: -Infinity, until: Infinity };

/** One more row of a grant. */
interface Derived {
  readonly id: string;
  readonly grant: number;
  readonly principal: number;
  readonly from: number;
  readonly until: number;
  readonly edges: readonly number[];
}

/** The tables without windows of members, that decide alike. Null if they would have more than `limit` grants. */
export function narrowMembers(stated: PolicyTables, limit: number): PolicyTables | null {
  const { grants, members } = stated;
  if (members.windows === null) return stated;
  const derive = makeDerivation(stated, limit - grants.id.length);
  const rows = new Int32Array(grants.id.length);
  const all: { readonly grant: number; readonly derived: Derived | null }[] = [];
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const derived = derive(grant);
    if (derived === null) return null;
    rows[grant] = all.length;
    all.push({ grant, derived: null });
    for (const one of derived) all.push({ grant, derived: one });
  }
  const edges = new Map(all.flatMap(({ derived }, row) => (derived === null ? [] : [[row, derived.edges] as const])));
  return {
    ...stated,
    members: withoutWindows(members),
    grants: {
      ...pickGrants(
        grants,
        Int32Array.from(all, ({ grant }) => grant),
      ),
      id: all.map(({ grant, derived }) => derived?.id ?? grants.id[grant] ?? ''),
      principal: Int32Array.from(all, ({ grant, derived }) => derived?.principal ?? grants.principal[grant] ?? 0),
      notBefore: Float64Array.from(all, ({ grant, derived }) => derived?.from ?? grants.notBefore[grant] ?? 0),
      expires: Float64Array.from(all, ({ grant, derived }) => derived?.until ?? grants.expires[grant] ?? 0),
    },
    narrowed: { stated, rows, edges },
  };
}

function withoutWindows(members: MemberColumns): MemberColumns {
  const windowed = new Set(members.windows?.row);
  return pickMembers(
    members,
    Int32Array.from(members.role.keys()).filter((edge) => !windowed.has(edge)),
  );
}

/** The rows of a grant, sorted by id; null once there are more than `most` of all grants together. */
function makeDerivation(tables: PolicyTables, most: number): (grant: number) => readonly Derived[] | null {
  const { grants, members, roles } = tables;
  const edgesBelow = listRows(members.role, roles.name.length);
  const windows = memberWindows(tables);
  const hasBelow = rolesAbove(tables, edgesBelow, windows);
  let count = 0;

  /** The edges with a window that lead out of a role and the roles in it. Any way to a nested role is as good as another. */
  const edgesOut = remember((role: number): readonly Way[] => {
    const ways: Way[] = [];
    const reached = new Map<number, readonly number[]>([[role, []]]);
    for (const [nested, way] of reached) {
      if (hasBelow[nested] !== 1) continue;
      for (const edge of rowsOf(edgesBelow, nested)) {
        const member = members.member[edge] ?? 0;
        if (windows.has(edge)) ways.push([edge, ...way]);
        else if (member < roles.name.length && !reached.has(member)) reached.set(member, [edge, ...way]);
      }
    }
    return ways;
  });

  /** Adds what the members of a role hold of a grant, within the bounds in which the role itself holds it. */
  const addBelow = (held: Derived, found: Map<string, Derived>): boolean => {
    for (const way of edgesOut(held.principal)) {
      if ((count += 1) > most) return false;
      const [edge = 0] = way;
      const [role = 0, member = 0] = [members.role[edge], members.member[edge]];
      const window = windows.get(edge) ?? EVER;
      const [from, until] = [Math.max(held.from, window.from), Math.min(held.until, window.until)];
      const id = [held.id, roles.name[role], memberName(tables, member)].join(MARK);
      if (from >= until || found.has(id)) continue;
      const derived = { id, grant: held.grant, principal: member, from, until, edges: [...way, ...held.edges] };
      found.set(id, derived);
      if (hasBelow[member] === 1 && !addBelow(derived, found)) return false;
    }
    return true;
  };
  return (grant) => {
    const principal = grants.principal[grant] ?? 0;
    if (hasBelow[principal] !== 1) return [];
    const [from, until] = [grants.notBefore[grant] ?? -Infinity, grants.expires[grant] ?? Infinity];
    const found = new Map<string, Derived>();
    if (!addBelow({ id: grants.id[grant] ?? '', grant, principal, from, until, edges: [] }, found)) return null;
    return [...found.values()].sort((a, b) => compareTexts(a.id, b.id));
  };
}

/** 1 for each role below which there is a member with a window, however deep. Identities have none. */
function rolesAbove(tables: PolicyTables, edgesBelow: RowLists, windows: ReadonlyMap<number, unknown>): Uint8Array {
  const { members, roles } = tables;
  const has = new Uint8Array(roles.name.length);
  const edgesOf = listRows(members.member, countPrincipals(tables));
  const found: number[] = [];
  const add = (role: number): void => {
    if (has[role] === 1) return;
    has[role] = 1;
    found.push(role);
  };
  for (let role = 0; role < roles.name.length; role += 1)
    if (rowsOf(edgesBelow, role).some((edge) => windows.has(edge))) add(role);
  for (let role = found.pop(); role !== undefined; role = found.pop())
    for (const edge of rowsOf(edgesOf, role)) add(members.role[edge] ?? 0);
  return has;
}

/** As texts of a policy name it: a role has no colon, an identity has one. */
function memberName(tables: PolicyTables, principal: number): string {
  return tables.roles.name[principal] ?? identityText(tables, principal - tables.roles.name.length);
}
