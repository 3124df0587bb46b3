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
  /** The points of a shortest way past those that are cut; null if every way is cut. Each is a number of `points`. */
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
  const pointOfRole = new Map(roles.map((one, i) => [one, carrying.length + edges.length + i]));
  const steps: Steps = { granted: new Map(), up: new Map() };
  carrying.forEach((grant, i) => {
    const principal = tables.grants.principal[grant] ?? 0;
    const scopes = isRoleScoped(grant) ? [pointOfRole.get(principal) ?? 0] : [];
    addTo(steps.granted, principal, [i, ...scopes]);
  });
  edges.forEach((edge, i) => {
    addTo(steps.up, member[edge] ?? 0, { point: carrying.length + i, to: role[edge] ?? 0 });
  });
  return { points, find: (cut) => findWay(identities, steps, cut) };
}

/** By principal. */
interface Steps {
  /** The points of each grant to it. */
  readonly granted: Map<number, (readonly number[])[]>;
  /** To the roles that it is in. */
  readonly up: Map<number, { readonly point: number; readonly to: number }[]>;
}

function findWay(
  starts: readonly number[],
  { granted, up }: Steps,
  cut: ReadonlySet<number>,
): readonly number[] | null {
  const reached = new Map<number, readonly number[]>();
  // Grants are looked for as soon as a principal is reached: an actor may be in very many roles.
  const reach = (principal: number, way: readonly number[]): readonly number[] | null => {
    reached.set(principal, way);
    const open = granted.get(principal)?.find((points) => !points.some((point) => cut.has(point)));
    return open === undefined ? null : [...way, ...open];
  };
  for (const start of starts) {
    const found = reach(start, []);
    if (found !== null) return found;
  }
  // Iterating a map also visits what is added meanwhile, so shorter ways come first.
  for (const [principal, way] of reached) {
    for (const { point, to } of up.get(principal) ?? []) {
      if (cut.has(point) || reached.has(to)) continue;
      const found = reach(to, [...way, point]);
      if (found !== null) return found;
    }
  }
  return null;
}

// Every smallest set of points that cuts all ways, and then every larger one of which no point can be spared: by size, as far as the
// bounds allow. A search for each size branches at the points of one way that is still open. It gives up a branch once more ways that
// share no point are open than points are left. A point that an earlier branch has tried is not tried again, so each set is met once.

interface CutBounds {
  /** How many sets. */
  readonly sets: number;
  /** How often a way may be looked for. */
  readonly steps: number;
}

interface Cuts {
  /** Sets of numbers of points, the smallest first. There is at least one. */
  readonly sets: readonly (readonly number[])[];
  /** Whether these are all. */
  readonly isComplete: boolean;
}

export function minimalCuts(ways: Ways, bounds: CutBounds): Cuts {
  const sets: (readonly number[])[] = [];
  let steps = 0;
  const bound = { isMet: false };
  const find = (cut: ReadonlySet<number>): readonly number[] | null => {
    steps += 1;
    return ways.find(cut);
  };
  const isMinimal = (cut: ReadonlySet<number>): boolean =>
    [...cut].every((point) => find(new Set([...cut].filter((other) => other !== point))) !== null);
  /** Adds the sets of exactly `size` points that go on from here. Returns whether larger ones may. */
  const search = (cut: ReadonlySet<number>, tried: ReadonlySet<number>, size: number): boolean => {
    if (steps >= bounds.steps || sets.length > bounds.sets) {
      bound.isMet = true;
      return false;
    }
    const way = find(cut);
    if (way === null) {
      if (cut.size === size && isMinimal(cut)) sets.push([...cut].sort((a, b) => a - b));
      return false;
    }
    if (openAfter(way, cut, size - cut.size)) return true;
    let goesOn = false;
    const passed = new Set(tried);
    for (const point of way) {
      if (passed.has(point)) continue;
      goesOn = search(new Set([...cut, point]), passed, size) || goesOn;
      passed.add(point);
    }
    return goesOn;
  };
  /** Whether more ways are open that share no point than points may still be cut. */
  const openAfter = (first: readonly number[], cut: ReadonlySet<number>, left: number): boolean => {
    const used = new Set(cut);
    let open = 0;
    for (let way: readonly number[] | null = first; way !== null; way = find(used)) {
      open += 1;
      if (open > left) return true;
      for (const point of way) used.add(point);
    }
    return false;
  };
  for (let size = 1; search(new Set(), new Set(), size); size += 1);
  if (sets.length === 0) return { sets: [anyCut(ways)], isComplete: false };
  return { sets: sets.slice(0, bounds.sets), isComplete: !bound.isMet && sets.length <= bounds.sets };
}

/** All grants: each is a way of its own, so none can be spared. */
function anyCut({ points }: Ways): readonly number[] {
  return points.flatMap(({ kind }, i) => (kind === 'grant' ? [i] : []));
}
