// What one identity holds, as a function over all paths and all time that anybody can hash and check (docs/proofs.md "Proofs of access").
// It depends on what is held alone: two policies that give an identity the same rights give the same steps.
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { identitiesByClass } from '../../model/holders.js';
import type { Identity } from '../../model/identity.js';
import { formatInstant, instantOf } from '../../model/instant.js';
import { type NamespacePath, ROOT } from '../../model/namespace.js';
import { compareTexts } from '../../model/order.js';
import { rowsOf } from '../../model/row-lists.js';
import type { ScopeName } from '../../model/scope.js';
import { NO_SCOPES, scopeNames, type ScopeSet } from '../../model/scope-set.js';
import { NOTHING, sameTimeline, type Timeline } from '../../model/timeline.js';
import { holdingsIn, makeRights, namedPaths } from '../cells/holdings.js';
import { principalsOf, principalsOfClass } from '../cells/identities.js';
import { makeNodes, type Nodes } from '../cells/nodes.js';
import { type ClassTurn, walkClasses } from '../cells/walk.js';
import { identityAt } from '../../model/tables.js';

/** Scopes from an instant on (RFC 3339 in UTC); null: ever since. */
export type ScopesSince = readonly [from: string | null, scopes: readonly ScopeName[]];

/**
 * What is held from a key on, up to the next step's key. The key of a path is the path with a slash at its end (`/` for the root); keys
 * are compared byte by byte. The list of scopes is in order of time, and neighbours differ.
 */
export type AccessStep = readonly [key: string, rights: readonly ScopesSince[]];

/** Identities with the same rights, and their steps: the first has the key `""`, and neighbours differ. */
export interface Access {
  readonly identities: readonly Identity[];
  readonly steps: readonly AccessStep[];
}

/** Who holds anything at any time, each once. Identities of one entry hold the same; several entries may. `policy` must be compiled. */
export function* accessOfAll(policy: Policy): Iterable<Access> {
  const prepared = compiledOf(policy);
  const { holders, tables } = prepared;
  const stepsOf = makeSteps(prepared);
  const members = identitiesByClass(holders);
  for (let holder = 0; holder < holders.count; holder += 1) {
    const steps = stepsOf(principalsOfClass(prepared, holder));
    if (steps.length < 2) continue;
    yield { identities: Array.from(rowsOf(members, holder), (row) => identityAt(tables, row)), steps };
  }
}

/** One step, with the key `""` and no scopes, for an identity that never holds anything. `policy` must be compiled. */
export function accessOf(policy: Policy, identity: Identity): readonly AccessStep[] {
  const prepared = compiledOf(policy);
  return makeSteps(prepared)(principalsOf(prepared, identity));
}

/** The key of a path among those of the steps. */
export function accessKey(path: NamespacePath): string {
  return path === ROOT ? path : `${path}/`;
}

/** The keys at which rights can change, and the order of each: three for a node (at it, below it, after it). */
interface Keys {
  readonly sorted: readonly string[];
  readonly rankOf: Int32Array;
}

const TURNS: readonly ClassTurn[] = ['at', 'below', 'after'];
const KEYS_OF_NODE = TURNS.length;

/** No letter of a segment is before `!`, and `0` is the one after `/`: so these begin all keys below a path, and all after it. */
function keysOf({ paths }: Nodes): Keys {
  const keys = paths.flatMap((path) => {
    const key = accessKey(path);
    return [key, `${key}!`, `${key.slice(0, -1)}0`];
  });
  // Paths are in another order than their keys: `/a-b` is after `/a`, and `/a-b/` before `/a/`. Keys are ASCII.
  const order = Array.from(keys.keys()).sort((a, b) => ((keys[a] ?? '') < (keys[b] ?? '') ? -1 : 1));
  const rankOf = new Int32Array(keys.length);
  order.forEach((number, rank) => (rankOf[number] = rank));
  return { sorted: order.map((number) => keys[number] ?? ''), rankOf };
}

/** The steps of whoever is or is in some principals. What most steps have in common is one object. */
function makeSteps(prepared: PreparedPolicy): (principals: Iterable<number>) => readonly AccessStep[] {
  const nodes = makeNodes(namedPaths(prepared));
  const rights = makeRights(prepared, nodes);
  const { sorted, rankOf } = keysOf(nodes);
  const places = [{ from: 0, until: nodes.paths.length }];
  const constants = new Map<ScopeSet, readonly ScopesSince[]>();
  const shown = (held: Timeline): readonly ScopesSince[] => {
    const [scopes = NO_SCOPES] = held.values;
    const known = held.values.length === 1 ? constants.get(scopes) : undefined;
    const made = known ?? toRights(held);
    if (held.values.length === 1) constants.set(scopes, made);
    return made;
  };
  return (principals) => {
    // By the rank of its key, what is held from there on.
    const turns = new Map<number, Timeline>();
    walkClasses(nodes, holdingsIn(rights, principals, places), (row, turn, held) => {
      // After the root there is nothing.
      if (row > 0 || turn !== 'after') turns.set(rankOf[KEYS_OF_NODE * row + TURNS.indexOf(turn)] ?? 0, held);
    });
    const steps: AccessStep[] = [['', shown(NOTHING)]];
    let before: Timeline = NOTHING;
    for (const rank of Int32Array.from(turns.keys()).sort()) {
      const held = turns.get(rank) ?? NOTHING;
      if (!sameTimeline(held, before)) steps.push([sorted[rank] ?? '', shown(held)]);
      before = held;
    }
    return steps;
  };
}

function toRights({ starts, values }: Timeline): readonly ScopesSince[] {
  return values.map((scopes, i) => {
    const start = starts[i] ?? -Infinity;
    return [start === -Infinity ? null : formatInstant(instantOf(start)), [...scopeNames(scopes)].sort(compareTexts)];
  });
}
