// What one identity holds, as a function over all paths and all time that anybody can hash and check (docs/proofs.md "Proofs of access").
// It depends on what is held alone: two policies that give an identity the same rights give the same steps.
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { identitiesByClass } from '../../model/holders.js';
import type { Identity } from '../../model/identity.js';
import { formatInstant, instantOf } from '../../model/instant.js';
import { invariant } from '../../model/invariant.js';
import { type NamespacePath, ROOT } from '../../model/namespace.js';
import { compareTexts } from '../../model/order.js';
import { rowsOf } from '../../model/row-lists.js';
import { type ScopeName, scopeNames } from '../../model/scope.js';
import { NOTHING, sameTimeline, type Timeline } from '../../model/timeline.js';
import { holdingsIn, makeRights, namedPaths, type Rights } from '../cells/holdings.js';
import { principalsOf, principalsOfClass } from '../cells/identities.js';
import { endOf, makeNodes, pathAt } from '../cells/nodes.js';
import { walkRights } from '../cells/walk.js';

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
  const prepared = preparedTables(policy);
  const rights = rightsOf(prepared);
  const members = identitiesByClass(prepared.holders);
  const { providers, identities } = prepared.tables;
  for (let holder = 0; holder < prepared.holders.count; holder += 1) {
    const steps = stepsOf(rights, principalsOfClass(prepared, holder));
    if (steps.length < 2) continue;
    const found = Array.from(rowsOf(members, holder), (row) => ({
      provider: providers[identities.provider[row] ?? 0] ?? '',
      subject: identities.subject[row] ?? '',
    }));
    yield { identities: found, steps };
  }
}

/** One step, with the key `""` and no scopes, for an identity that never holds anything. `policy` must be compiled. */
export function accessOf(policy: Policy, identity: Identity): readonly AccessStep[] {
  const prepared = preparedTables(policy);
  return stepsOf(rightsOf(prepared), principalsOf(prepared, identity));
}

/** The key of a path among those of the steps. */
export function accessKey(path: NamespacePath): string {
  return path === ROOT ? path : `${path}/`;
}

function preparedTables(policy: Policy): PreparedPolicy {
  const prepared = preparedOf(policy);
  invariant(prepared !== null, 'only compiled policies name identities');
  return prepared;
}

/** A key from which on something else may be held. */
interface Turn {
  readonly key: string;
  readonly held: Timeline;
}

function rightsOf(prepared: PreparedPolicy): Rights {
  return makeRights(prepared, makeNodes(namedPaths(prepared)));
}

function stepsOf(rights: Rights, principals: Iterable<number>): readonly AccessStep[] {
  const { nodes } = rights;
  const places = [{ from: 0, until: nodes.paths.length }];
  const holdings = holdingsIn(rights, principals, places);
  const turns: Turn[] = [];
  const around: { readonly end: number; readonly below: Timeline }[] = [];
  walkRights({ nodes, places, sides: [holdings] }, (row, [at = NOTHING], [below = NOTHING]) => {
    for (let top = around.at(-1); top !== undefined && top.end <= row; top = around.at(-1)) around.pop();
    const key = accessKey(pathAt(nodes, row));
    // No letter of a segment is before `!`, and `0` is the one after `/`: so these are all keys below the path, and all after them.
    turns.push({ key, held: at }, { key: `${key}!`, held: below });
    if (row > 0) turns.push({ key: `${key.slice(0, -1)}0`, held: around.at(-1)?.below ?? NOTHING });
    around.push({ end: endOf(nodes, row), below });
  });
  // Paths are in another order than their keys: `/a-b` is after `/a`, and `/a-b/` before `/a/`.
  turns.sort((a, b) => compareTexts(a.key, b.key));
  const steps: Turn[] = [{ key: '', held: NOTHING }];
  for (const turn of turns) if (!sameTimeline(turn.held, steps.at(-1)?.held ?? NOTHING)) steps.push(turn);
  return steps.map(({ key, held: rights }) => [key, toRights(rights)]);
}

function toRights({ starts, values }: Timeline): readonly ScopesSince[] {
  return values.map((scopes, i) => {
    const start = starts[i] ?? -Infinity;
    return [start === -Infinity ? null : formatInstant(instantOf(start)), [...scopeNames(scopes)].sort(compareTexts)];
  });
}
