// The map of effective rights: who holds what where, for any namespaces and any identities together, at an instant or at any time. It
// counts cells (docs/meaning.md "Cells"), so a collapsed part of the picture says exactly how much of it is held.
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { Instant } from '../../model/instant.js';
import { invariant } from '../../model/invariant.js';
import { type ScopeName, SCOPES } from '../../model/scope.js';
import { NO_SCOPES, type ScopeSet, unionScopes } from '../../model/scope-set.js';
import { identityText, type PolicyTables, statedTables } from '../../model/tables.js';
import type { Vocabulary } from '../../model/vocabulary.js';
import { instantsOf } from '../cells/count-cells.js';
import { grantsOf, makeRights, namedPaths, type NodeRights } from '../cells/holdings.js';
import { principalsOfClass } from '../cells/identities.js';
import { endOf, makeNodes, type Nodes } from '../cells/nodes.js';
import { type ClassSteps, makeTallier, type Tally } from './tally.js';

/** A role, with what is directly in it. */
export interface MapRole {
  readonly name: string;
  /** Numbers of roles. */
  readonly roles: readonly number[];
  /** Numbers of identities. */
  readonly identities: readonly number[];
}

export interface AccessMap {
  /** Node `row` has the classes from `classesBefore[row]` on: the namespace itself, then what is below it at no other node, if there is room. */
  readonly nodes: Nodes;
  /** `provider:subject`, sorted by provider, then subject. Identities are numbers of this list. */
  readonly identities: readonly string[];
  /** What is counted: the ten of records, then those of declared families. */
  readonly scopes: readonly ScopeName[];
  readonly roles: readonly MapRole[];
  /** The instants at which anything can change, sorted. */
  readonly instants: readonly number[];
  /** Null means at any time. */
  readonly tally: (identities: readonly number[], at: Instant | null) => Tally;
  /** The same, for whoever has other things to do meanwhile. */
  readonly count: (identities: readonly number[], at: Instant | null) => Counting;
}

export interface Counting {
  /** Counts on until the time is up; null if there is more. Once it has answered, it is of no more use. */
  readonly advance: (isTimeUp: () => boolean) => Tally | null;
  /** From 0 to 1. */
  readonly part: () => number;
}

/** The policy must be compiled. */
export function makeAccessMap(policy: Policy): AccessMap {
  const prepared = compiledOf(policy);
  const { tables, holders } = prepared;
  const nodes = makeNodes(namedPaths(prepared));
  const rights = makeRights(prepared, nodes);
  const scopes = shownScopes(tables.vocabulary);
  const identities = tables.identities.subject.map((_, row) => identityText(tables, row));
  const count: AccessMap['count'] = (rows, at) => {
    const counts = new Map<number, number>();
    for (const row of rows) {
      const holder = holders.classOf[row] ?? -1;
      if (holder >= 0) counts.set(holder, (counts.get(holder) ?? 0) + 1);
    }
    const left = counts.entries();
    const tallier = makeTallier(scopes);
    let done = 0;
    return {
      part: () => (counts.size === 0 ? 1 : done / counts.size),
      advance: (isTimeUp) => {
        for (let next = left.next(); next.done !== true; next = left.next()) {
          const [holder, several] = next.value;
          tallier.add({ steps: stepsOf(rights, principalsOfClass(prepared, holder), at), count: several });
          done += 1;
          if (isTimeUp()) return null;
        }
        return tallier.finish();
      },
    };
  };
  return {
    nodes,
    identities,
    scopes,
    roles: rolesOf(tables, identities),
    instants: Array.from(instantsOf([tables])),
    count,
    tally: (rows, at) => {
      const tally = count(rows, at).advance(() => false);
      invariant(tally !== null, 'time was never up');
      return tally;
    },
  };
}

function shownScopes({ families, own }: Pick<Vocabulary, 'families' | 'own'>): readonly ScopeName[] {
  // Reading and writing first, as in the families of records.
  const order = families.flatMap(({ name, actions }) =>
    ['read', 'write', ...actions].map((action) => `${name}:${action}`),
  );
  return [...SCOPES, ...[...own].sort((a, b) => order.indexOf(a) - order.indexOf(b))];
}

/** What principals hold over the classes of the nodes, at an instant or at any time. */
function stepsOf(
  { policy, nodes, rowOfGrant }: NodeRights,
  principals: Iterable<number>,
  at: Instant | null,
): ClassSteps {
  const { inherit, scopes: given, notBefore, expires } = policy.tables.grants;
  const classes: number[] = [];
  const scopes: ScopeSet[] = [];
  const turn = (place: number, now: ScopeSet): void => {
    // Later entries about one class are more exact.
    if (classes.at(-1) === place) {
      classes.pop();
      scopes.pop();
    }
    if (now === (scopes.at(-1) ?? NO_SCOPES)) return;
    classes.push(place);
    scopes.push(now);
  };
  // The subtrees that are entered and not left yet, with what is held in them beside the nodes inside.
  const ends: number[] = [];
  const belows: ScopeSet[] = [];
  const leave = (row: number): void => {
    for (let end = ends.at(-1); end !== undefined && end <= row; end = ends.at(-1)) {
      ends.pop();
      belows.pop();
      turn(nodes.classesBefore[end] ?? 0, belows.at(-1) ?? NO_SCOPES);
    }
  };
  const grants: number[] = [];
  for (const principal of principals)
    for (const grant of grantsOf(policy, principal)) {
      const [from, until] = [notBefore[grant] ?? 0, expires[grant] ?? 0];
      if (at === null ? from < until : from <= at && at < until) grants.push(grant);
    }
  const rowAt = (i: number): number => rowOfGrant[grants[i] ?? -1] ?? -1;
  grants.sort((a, b) => (rowOfGrant[a] ?? 0) - (rowOfGrant[b] ?? 0));
  for (let i = 0; i < grants.length;) {
    const row = rowAt(i);
    leave(row);
    let below: ScopeSet = belows.at(-1) ?? NO_SCOPES;
    let itself: ScopeSet = NO_SCOPES;
    for (; rowAt(i) === row; i += 1) {
      const grant = grants[i] ?? 0;
      const more = given[grant] ?? NO_SCOPES;
      if (inherit[grant] === 1) below = unionScopes(below, more);
      else itself = unionScopes(itself, more);
    }
    turn(nodes.classesBefore[row] ?? 0, unionScopes(below, itself));
    turn((nodes.classesBefore[row] ?? 0) + 1, below);
    ends.push(endOf(nodes, row));
    belows.push(below);
  }
  leave(nodes.paths.length);
  return { classes, scopes };
}

/** As they are declared: a member with a window is a member. */
function rolesOf(tables: PolicyTables, identities: readonly string[]): readonly MapRole[] {
  const stated = statedTables(tables);
  const rowOf = new Map(identities.map((text, row) => [text, row]));
  const roles = stated.roles.name.map(
    (name): MapRole & { readonly roles: number[]; readonly identities: number[] } => ({
      name,
      roles: [],
      identities: [],
    }),
  );
  stated.members.role.forEach((role, edge) => {
    const member = stated.members.member[edge] ?? 0;
    if (member < roles.length) roles[role]?.roles.push(member);
    else {
      const row = rowOf.get(identityText(stated, member - roles.length));
      if (row !== undefined) roles[role]?.identities.push(row);
    }
  });
  return roles;
}
