// The ways by which an actor comes to an access: from one of its identities through memberships to a grant, all of them in force then.
// The access is denied if every way is cut. Grants, memberships and the scopes of a role are the points at which ways can be cut.
import { addTo } from '../../model/group.js';
import type { Instant } from '../../model/instant.js';
import { listRows, rowsOf } from '../../model/row-lists.js';
import { countPrincipals, memberWindows, type PolicyTables } from '../../model/tables.js';

/** One place in the policy that carries an access. All rows are those of the tables as a file states them. */
export type Point =
  | { readonly kind: 'grant'; readonly grant: number }
  | { readonly kind: 'edge'; readonly edge: number }
  /** The scopes of a role, for the grants that name none. */
  | { readonly kind: 'role'; readonly role: number };

export interface Ways {
  readonly points: readonly Point[];
  /** The points of a shortest way past those that are cut; null if there is none. Each is a number of `points`. */
  readonly find: (cut: ReadonlySet<number>) => readonly number[] | null;
}

export interface Carried {
  /** Principals of the actor's identities. */
  readonly identities: readonly number[];
  /** Rows of the grants that give the scope there and then to anybody in them. */
  readonly grants: readonly number[];
  /** Whether a grant takes its scopes from its role. */
  readonly isRoleScoped: (grant: number) => boolean;
  readonly at: Instant;
}

/** `tables` must be as a file states them, with the windows of members. */
export function findWays(tables: PolicyTables, { identities, grants, isRoleScoped, at }: Carried): Ways {
  const { role, member } = tables.members;
  const windows = memberWindows(tables);
  const isThen = (edge: number): boolean => {
    const { from = -Infinity, until = Infinity } = windows.get(edge) ?? {};
    return from <= at && at < until;
  };
  const byMember = listRows(member, countPrincipals(tables));
  const byRole = listRows(role, tables.roles.name.length);
  const above = new Set(identities);
  for (const one of above) for (const edge of rowsOf(byMember, one)) if (isThen(edge)) above.add(role[edge] ?? 0);
  const carrying = grants.filter((grant) => above.has(tables.grants.principal[grant] ?? -1));
  // What leads to a grant, and is led to.
  const below = new Set(carrying.map((grant) => tables.grants.principal[grant] ?? 0));
  const edges: number[] = [];
  for (const one of below) {
    if (one >= tables.roles.name.length) continue;
    for (const edge of rowsOf(byRole, one)) {
      if (!isThen(edge) || !above.has(member[edge] ?? -1)) continue;
      edges.push(edge);
      below.add(member[edge] ?? 0);
    }
  }
  const roles = [...new Set(carrying.filter(isRoleScoped).map((grant) => tables.grants.principal[grant] ?? 0))];
  const points: readonly Point[] = [
    ...carrying.map((grant): Point => ({ kind: 'grant', grant })),
    ...edges.map((edge): Point => ({ kind: 'edge', edge })),
    ...roles.map((one): Point => ({ kind: 'role', role: one })),
  ];
  const out = new Map<number, Step[]>();
  carrying.forEach((grant, i) => {
    const principal = tables.grants.principal[grant] ?? 0;
    const scopes = isRoleScoped(grant) ? [carrying.length + edges.length + roles.indexOf(principal)] : [];
    addTo(out, principal, { points: [i, ...scopes], to: null });
  });
  edges.forEach((edge, i) => {
    addTo(out, member[edge] ?? 0, { points: [carrying.length + i], to: role[edge] ?? 0 });
  });
  return { points, find: (cut) => findWay(identities, out, cut) };
}

/** From a principal to a role that it is in, or to a grant (null). */
interface Step {
  readonly points: readonly number[];
  readonly to: number | null;
}

function findWay(
  starts: readonly number[],
  out: ReadonlyMap<number, readonly Step[]>,
  cut: ReadonlySet<number>,
): readonly number[] | null {
  const reached = new Map<number, readonly number[]>(starts.map((start) => [start, []]));
  // Iterating a map also visits what is added meanwhile, so shorter ways come first.
  for (const [principal, way] of reached) {
    for (const { points, to } of out.get(principal) ?? []) {
      if (points.some((point) => cut.has(point))) continue;
      if (to === null) return [...way, ...points];
      if (!reached.has(to)) reached.set(to, [...way, ...points]);
    }
  }
  return null;
}
