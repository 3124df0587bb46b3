// Where an actor may read a family, as ranges of namespaces that a store can filter by (docs/meaning.md "Visibility"). The
// list is minimal, in path order, and never empty.
import type { Actor } from '../model/actor.js';
import type { AccessStep, Visibility, VisibilityRequest } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import { invariant } from '../model/invariant.js';
import { comparePaths, isWithin, lineageOf, type NamespacePath, ROOT, scanNamespace } from '../model/namespace.js';
import { firstFrom } from '../model/row-lists.js';
import { makeMarks } from '../model/scan-path.js';
import { scopeOf } from '../model/scope.js';
import { type DecisionTable, GRANT, INHERITED, ROW } from '../table/columns.js';
import { firstEntry, isInForce, isInheritedAt, listEnd } from '../table/judge.js';
import { pathOf, placeOfRow, rowOf } from '../table/locate.js';
import { bitOf, type ScopeBit } from '../table/scope-numbers.js';
import { bitsAt, SET_BITS } from '../table/steps.js';
import { refuseReach } from './caller.js';
import { type AccessVerdict, judgeAccess } from './judge-request.js';
import { type Policy, UNRESTRICTED } from './policy.js';
import { beginTurn, endTurn } from './turn.js';
import { type Asker, askerOf, askFor, carries, type ResolvedActor } from './resolve-actor.js';

export interface VisibilityInput {
  readonly actor: Actor;
  readonly request: VisibilityRequest;
  readonly at: Instant;
}

/**
 * A record is visible if and only if an access to it would be allowed. `none` states the step that failed at the
 * context.
 */
export function visibility(policy: Policy, input: VisibilityInput): Visibility {
  const turn = beginTurn();
  return endTurn(turn, visibilityFor(askFor(policy, input.actor), input));
}

/** Like `visibility`, under the policy that the actor was resolved against. */
export function visibilityAs(
  actor: ResolvedActor,
  input: { readonly request: VisibilityRequest; readonly at: Instant },
): Visibility {
  const turn = beginTurn();
  return endTurn(turn, visibilityFor(askerOf(actor), input));
}

type Asked = Omit<VisibilityInput, 'actor'>;

interface Found {
  readonly exact: NamespacePath[];
  readonly subtrees: NamespacePath[];
}

function visibilityFor(asker: Asker, { request, at }: Asked): Visibility {
  const { family, context } = request;
  const scope = scopeOf(family, request.action ?? 'read');
  const atContext = judgeAccess(asker, { scope, context, target: context }, at);
  // Without types a caller can pass any text as a family or a context.
  if (atContext === 'unknown_scope' || atContext === 'canonicalize' || atContext === 'exclusive')
    return { kind: 'none', step: atContext };
  const found: Found = { exact: [], subtrees: [] };
  const { reach } = request;
  switch (reach) {
    case 'exact':
      if (atContext === 'allow') found.exact.push(context);
      break;
    case 'lineage':
      for (const target of lineageOf(context)) {
        // Process runs need their exact context. A reach beyond it names each namespace of the reach as the context of its
        // own runs.
        const from = family === 'process-run' ? target : context;
        if (judgeAccess(asker, { scope, context: from, target }, at) === 'allow') found.exact.push(target);
      }
      break;
    case 'subtree': {
      const bit = bitOf(scope, asker.own);
      if (!carries(asker, scope, bit)) break;
      for (const root of restrictedRoots(asker, context)) addSubtree(asker, { root, ...bit, at }, found);
      break;
    }
    default:
      refuseReach(reach);
  }
  if (found.exact.length + found.subtrees.length > 0) {
    return found.subtrees[0] === ROOT ? { kind: 'all' } : { kind: 'some', ...found };
  }
  return { kind: 'none', step: stepOf(atContext) };
}

/** If the context is allowed, every reach includes at least the context. */
function stepOf(atContext: AccessVerdict): AccessStep {
  invariant(atContext !== 'allow', 'who may read the context sees it');
  return atContext;
}

/** What the credential's restrictions leave of the subtree at `context`, as disjoint subtree roots in path order. */
function restrictedRoots(actor: Asker, context: NamespacePath): readonly NamespacePath[] {
  if (actor.local || actor.restrictions === null) return [context];
  if (actor.restrictions.some((restriction) => isWithin(context, restriction))) return [context];
  const roots: NamespacePath[] = [];
  for (const root of actor.restrictions.filter((restriction) => isWithin(restriction, context)).sort(comparePaths)) {
    const last = roots.at(-1);
    if (last === undefined || !isWithin(root, last)) roots.push(root);
  }
  return roots;
}

interface Subtree extends ScopeBit {
  readonly root: NamespacePath;
  readonly at: Instant;
}

const MARKS = makeMarks();

/** Adds the subtree if an inherited grant reaches its root, otherwise what the grants within it open. */
function addSubtree({ ground, runs, count }: Asker, { root, scopes, word, at }: Subtree, found: Found): void {
  // Without types, a restriction need not be a path either.
  if (scanNamespace(root, MARKS) === null) return;
  if (ground === UNRESTRICTED) {
    found.subtrees.push(root);
    return;
  }
  const row = rowOf(ground, root, MARKS);
  const place = placeOfRow(ground, row);
  const held = runs.subarray(0, count);
  const isOpen = held.some((run) => isInheritedAt(ground, run, { place, scopes, word, at }));
  if (isOpen) found.subtrees.push(root);
  // A grant at the root itself that is not inherited is among those of its row.
  else if (row >= 0) addGrantsWithin(ground, held, { row, scopes, word, at }, found);
}

interface Within extends ScopeBit {
  readonly row: number;
  readonly at: Instant;
}

/** The rows of a subtree are consecutive, and so are a principal's entries for grants in that subtree. */
function addGrantsWithin(
  table: DecisionTable,
  held: Int32Array,
  { row, scopes, word, at }: Within,
  found: Found,
): void {
  const { list, listNode, listSets, nodeRow, rows, runs } = table;
  const end = rows[ROW.words * row + ROW.end] ?? 0;
  const first = firstFrom(nodeRow.length, (node) => (nodeRow[node] ?? 0) >= row);
  // An opening is encoded as twice the row of its namespace, plus one if it counts only there. Sorting thus puts inherited openings
  // first.
  const openings: number[] = [];
  for (const run of held) {
    const to = listEnd(runs, run);
    for (let entry = firstEntry(table, run, first); entry < to; entry += 1) {
      const namespace = nodeRow[(listNode[entry] ?? 0) >>> SET_BITS] ?? 0;
      if (namespace >= end) break;
      if ((bitsAt(listSets, entry, word) & scopes) === 0 || !isInForce(table, entry, at)) continue;
      openings.push(namespace * 2 + (((list[GRANT.words * entry + GRANT.end] ?? 0) & INHERITED) === 0 ? 1 : 0));
    }
  }
  addOpenings(table, Int32Array.from(openings).sort(), found);
}

function addOpenings(table: DecisionTable, openings: Int32Array, found: Found): void {
  let covered = 0;
  let last = -1;
  for (const opening of openings) {
    const namespace = opening >> 1;
    if (namespace < covered || namespace === last) continue;
    last = namespace;
    if ((opening & 1) === 0) {
      found.subtrees.push(pathOf(table, namespace));
      covered = table.rows[ROW.words * namespace + ROW.end] ?? 0;
    } else {
      found.exact.push(pathOf(table, namespace));
    }
  }
}
