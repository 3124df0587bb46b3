// The map of effective rights: who holds what where, for any namespaces and any identities together, at an instant or at any time. It
// counts cells (docs/meaning.md "Cells"), so a collapsed part of the picture says exactly how much of it is held.
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { Instant } from '../../model/instant.js';
import { invariant } from '../../model/invariant.js';
import { type ScopeName, SCOPES } from '../../model/scope.js';
import { NO_SCOPES, type ScopeSet } from '../../model/scope-set.js';
import { identityText, type PolicyTables, statedTables } from '../../model/tables.js';
import type { Vocabulary } from '../../model/vocabulary.js';
import { scopesIn, type Timeline } from '../../model/timeline.js';
import { instantsOf } from '../cells/count-cells.js';
import { heldAt, type Holding, holdingsIn, makeRights, namedPaths } from '../cells/holdings.js';
import { principalsOfClass } from '../cells/identities.js';
import { endOf, makeNodes, type Nodes } from '../cells/nodes.js';
import { walkClasses } from '../cells/walk.js';
import { makeTallier, type Steps, type Tally } from './tally.js';

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
  const places = [{ from: 0, until: nodes.paths.length }];
  const scopes = shownScopes(tables.vocabulary);
  const identities = tables.identities.subject.map((_, row) => identityText(tables, row));
  const stepsAt = (holder: number, at: Instant | null): Steps => {
    const held = holdingsIn(rights, principalsOfClass(prepared, holder), places);
    return stepsOf(nodes, at === null ? held : heldAt(held, at));
  };
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
          tallier.add({ steps: stepsAt(holder, at), count: several });
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

/** What sorted holdings give over the classes of the nodes, at any of their times. */
export function stepsOf(nodes: Nodes, holdings: readonly Holding[]): Steps {
  const classes: number[] = [];
  const scopes: ScopeSet[] = [];
  const turn = (at: number, held: Timeline): void => {
    const now = scopesIn(held);
    // What is said of one class later is more exact.
    if (classes.at(-1) === at) {
      classes.pop();
      scopes.pop();
    }
    if (now === (scopes.at(-1) ?? NO_SCOPES)) return;
    classes.push(at);
    scopes.push(now);
  };
  const { classesBefore } = nodes;
  walkClasses(nodes, holdings, (row, place, held) => {
    const before = classesBefore[place === 'after' ? endOf(nodes, row) : row] ?? 0;
    turn(place === 'below' ? before + 1 : before, held);
  });
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
