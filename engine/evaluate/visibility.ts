// Where an actor may read a family, as ranges of namespaces that a store can filter by (design 2.4). The list is minimal,
// in path order, and never empty.
import type { Actor } from '../model/actor.js';
import type { Visibility, VisibilityRequest } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import { comparePaths, isWithin, lineageOf, type NamespacePath, ROOT } from '../model/namespace.js';
import { scopeBit, type ScopeName, type ScopeSet } from '../model/scope.js';
import { judge } from './decide.js';
import { findGrants, isInForce, lowerBound } from './find-grants.js';
import type { Policy } from './policy.js';
import { childRow, type PreparedPolicy } from './prepare.js';
import { type Resolved, resolve, type ResolvedActor } from './resolve-actor.js';

export interface VisibilityInput {
  readonly actor: Actor;
  readonly request: VisibilityRequest;
  readonly at: Instant;
}

/** A record is visible exactly if an access to it would be allowed. `none` says the step that failed at the context. */
export function visibility(policy: Policy, input: VisibilityInput): Visibility {
  return visibilityResolved(resolve(policy, input.actor), input);
}

/** As `visibility`, under the policy that the actor was resolved against. */
export function visibilityAs(
  actor: ResolvedActor,
  input: { readonly request: VisibilityRequest; readonly at: Instant },
): Visibility {
  return visibilityResolved(actor as Resolved, input);
}

type Asked = Omit<VisibilityInput, 'actor'>;

interface Found {
  readonly exact: NamespacePath[];
  readonly subtrees: NamespacePath[];
}

function visibilityResolved(actor: Resolved, { request, at }: Asked): Visibility {
  const { family, context } = request;
  const scope: ScopeName = `${family}:read`;
  const atContext = judge(actor, { kind: 'access', scope, context, target: context }, at);
  // The credential's scope is the same everywhere, so a reach that a grant opens elsewhere stays closed too. Which step
  // the denial names is that of the context.
  const carries = actor.local || (actor.credentialScopes & scopeBit(scope)) !== 0;
  const found: Found = { exact: [], subtrees: [] };
  // Process runs are only ever seen from their own namespace, whatever the reach.
  const reach = family === 'process-run' ? 'exact' : request.reach;
  if (reach === 'exact') {
    if (typeof atContext !== 'string') found.exact.push(context);
  } else if (carries && reach === 'lineage') {
    addLineage(actor, { scope, context, at }, found);
  } else if (carries) {
    for (const root of restrictedRoots(actor, context)) addSubtree(actor, { scopes: scopeBit(scope), root, at }, found);
  }
  if (found.exact.length + found.subtrees.length > 0) {
    return found.subtrees[0] === ROOT ? { kind: 'all' } : { kind: 'some', ...found };
  }
  return { kind: 'none', step: typeof atContext === 'string' ? atContext : 'no_matching_grant' };
}

function addLineage(
  actor: Resolved,
  asked: { scope: ScopeName; context: NamespacePath; at: Instant },
  found: Found,
): void {
  const { scope, context, at } = asked;
  for (const target of lineageOf(context)) {
    const judged = judge(actor, { kind: 'access', scope, context, target }, at);
    if (typeof judged !== 'string') found.exact.push(target);
  }
}

/** What the credential's restrictions leave of the subtree at `context`, as disjoint subtree roots in path order. */
function restrictedRoots(actor: Resolved, context: NamespacePath): readonly NamespacePath[] {
  if (actor.local || actor.restrictions === null) return [context];
  if (actor.restrictions.some((restriction) => isWithin(context, restriction))) return [context];
  const roots: NamespacePath[] = [];
  for (const root of actor.restrictions.filter((restriction) => isWithin(restriction, context)).sort(comparePaths)) {
    const last = roots.at(-1);
    if (last === undefined || !isWithin(root, last)) roots.push(root);
  }
  return roots;
}

interface Subtree {
  readonly scopes: ScopeSet;
  readonly root: NamespacePath;
  readonly at: Instant;
}

/** All of the subtree where an inherited grant reaches its root, otherwise what the grants within it open. */
function addSubtree(actor: Resolved, { scopes, root, at }: Subtree, found: Found): void {
  const { policy } = actor;
  if (policy === null) {
    found.subtrees.push(root);
    return;
  }
  const above = findGrants(policy, actor.principals, { target: root, scopes, at });
  if (above.some((grant) => policy.tables.grants.inherit[grant] === 1)) {
    found.subtrees.push(root);
    return;
  }
  const row = rowOf(policy, root);
  // A grant at the root itself that is not inherited is among those of its row.
  if (row >= 0) addGrantsWithin(policy, actor.principals, { row, scopes, at }, found);
}

/** Of a namespace that has one, otherwise -1. */
function rowOf(policy: PreparedPolicy, path: NamespacePath): number {
  const segment = { path, start: 1, end: 1 };
  let row = 0;
  for (; segment.start < path.length && row >= 0; segment.start = segment.end + 1) {
    const slash = path.indexOf('/', segment.start);
    segment.end = slash < 0 ? path.length : slash;
    row = childRow(policy, row, segment);
  }
  return row;
}

interface Run {
  readonly row: number;
  readonly scopes: ScopeSet;
  readonly at: Instant;
}

/** Rows of a subtree are one run, so the grants of a principal in it are one run of its list too. */
function addGrantsWithin(policy: PreparedPolicy, principals: Int32Array, run: Run, found: Found): void {
  const { grants } = policy.tables;
  const { start, rows } = policy.byPrincipal;
  const column = policy.namespaceAt;
  const end = policy.subtreeEnd[run.row] ?? 0;
  // Each opening is the namespace's row doubled, plus one if it counts there only: sorted, what is inherited comes first.
  const openings: number[] = [];
  for (const principal of principals) {
    const to = start[principal + 1] ?? 0;
    let i = lowerBound(column, run.row, { from: start[principal] ?? 0, to });
    for (; i < to; i += 1) {
      const namespace = column[i] ?? 0;
      if (namespace >= end) break;
      const grant = rows[i] ?? 0;
      if (((grants.scopes[grant] ?? 0) & run.scopes) === 0 || !isInForce(policy.tables, grant, run.at)) continue;
      openings.push(namespace * 2 + (grants.inherit[grant] === 1 ? 0 : 1));
    }
  }
  addOpenings(policy, Int32Array.from(openings).sort(), found);
}

function addOpenings(policy: PreparedPolicy, openings: Int32Array, found: Found): void {
  let covered = 0;
  let last = -1;
  for (const opening of openings) {
    const namespace = opening >> 1;
    const path = policy.paths[namespace];
    if (namespace < covered || namespace === last || path === undefined) continue;
    last = namespace;
    if ((opening & 1) === 0) {
      found.subtrees.push(path);
      covered = policy.subtreeEnd[namespace] ?? 0;
    } else {
      found.exact.push(path);
    }
  }
}
