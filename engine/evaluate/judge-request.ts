// Judges one request up to the step at which it fails (docs/meaning.md "Decisions"): the six steps in their order, with
// creation and copy on top of them. Grants to cite are looked up afterwards, so that the verdict alone costs nothing
// more.
import type { AccessStep, Step } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import { isWithin, type NamespacePath, parentOf, scanNamespace } from '../model/namespace.js';
import { makeMarks } from '../model/scan-path.js';
import { readsFromBelow, type RecordScope } from '../model/scope.js';
import { recordBitOf } from '../model/scope-set.js';
import { heldBy, type Wanted } from '../table/judge.js';
import { placeOf } from '../table/locate.js';
import { isHeldByAny } from '../table/merge.js';
import { findBit } from '../table/scope-numbers.js';
import { refuseRequest, requireTime } from './caller.js';
import { UNRESTRICTED } from './policy.js';
import { type Asker, carries, passesRestriction } from './resolve-actor.js';

/** A request as somebody typed it. */
export type RawRequest =
  /** The context defaults to the target. */
  | { readonly kind: 'access'; readonly scope: string; readonly context?: string | undefined; readonly target: string }
  | { readonly kind: 'create-namespace'; readonly namespace: string }
  | { readonly kind: 'copy'; readonly source: string; readonly destination: string };

/** Allowed, or the step at which it fails. */
export type Verdict = 'allow' | Step;
export type AccessVerdict = 'allow' | AccessStep;

/** The question to the table of the access that was judged last. `decide` cites grants from it. */
export const ASKED: { -readonly [Key in keyof Wanted]: Wanted[Key] } = { place: 0, scopes: 0, word: 0, at: 0 };

const TARGET = makeMarks();
const OTHER = makeMarks();

export function judgeAccess(
  asker: Asker,
  request: Omit<Extract<RawRequest, { readonly kind: 'access' }>, 'kind'>,
  at: Instant,
): AccessVerdict {
  const { scope, target } = request;
  const path = scanNamespace(target, TARGET);
  const context =
    request.context === undefined || request.context === target ? path : scanNamespace(request.context, OTHER);
  if (path === null || context === null) return 'canonicalize';
  if (!findBit(ASKED, scope, asker.own)) return 'unknown_scope';
  const verdict = judgeTarget(asker, { scope, path }, at);
  if (verdict !== 'allow') return verdict;
  return isRelated(scope, context, path) ? 'allow' : 'target_relationship';
}

/** Steps 2 to 5 at a path that was just scanned, for an actor whose identities may be combined. */
function judgeTarget(
  asker: Asker,
  { scope, path }: { readonly scope: string; readonly path: NamespacePath },
  at: Instant,
): AccessVerdict {
  const { ground } = asker;
  requireTime(at);
  ASKED.at = at;
  if (asker.excluded !== null) return 'exclusive';
  if (!passesRestriction(asker, path)) return 'restriction';
  if (ground !== UNRESTRICTED) {
    ASKED.place = placeOf(ground, path, TARGET);
    if (!isHeld(asker)) return 'no_matching_grant';
  }
  return carries(asker, scope, ASKED) ? 'allow' : 'credential_scope';
}

function isHeld(asker: Asker): boolean {
  const { ground } = asker;
  // A time that is not an instant denies everything.
  return ground !== UNRESTRICTED && ASKED.at < Infinity && isHeldByAny(ground, asker, ASKED);
}

/**
 * Step 6: for records that can be read from namespaces below, the target may be above the context. For process runs and
 * writes, target and context must be the same.
 */
export function isRelated(scope: string, context: NamespacePath, target: NamespacePath): boolean {
  return target === context || (readsFromBelow(scope) && isWithin(context, target));
}

/** The root cannot be created; any other namespace needs `namespace:write` at its parent. */
export function judgeCreation(asker: Asker, namespace: string, at: Instant): AccessVerdict {
  const path = scanNamespace(namespace, OTHER);
  const parent = path === null ? null : parentOf(path);
  return parent === null ? 'canonicalize' : judgeOwn(asker, { scope: NAMESPACE_WRITE, path: parent }, at);
}

const NAMESPACE_WRITE = 'namespace:write';
export const SOURCE_READ = 'resource:read';
export const DESTINATION_WRITE = 'resource:write';

/** Judges an access with the target as its context, so step 6 always passes. */
export function judgeOwn(
  asker: Asker,
  own: { readonly scope: RecordScope; readonly path: string },
  at: Instant,
): AccessVerdict {
  ASKED.scopes = recordBitOf(own.scope);
  ASKED.word = 0;
  const path = scanNamespace(own.path, TARGET);
  return path === null ? 'canonicalize' : judgeTarget(asker, { scope: own.scope, path }, at);
}

/** All scopes that pass steps 2 to 5 at a path, as bits of one word of a set. Bits that stand for no scope say nothing. */
export function judgeScopes(
  asker: Asker,
  namespace: NamespacePath,
  { at, word }: { at: Instant; word: number },
): number {
  const { count, ground, runs } = asker;
  requireTime(at);
  const carried = asker.local ? -1 : word === 0 ? asker.low : asker.high;
  const path = scanNamespace(namespace, TARGET);
  if (path === null || asker.excluded !== null || !passesRestriction(asker, path)) return 0;
  if (ground === UNRESTRICTED) return carried;
  ASKED.at = at;
  ASKED.scopes = carried;
  ASKED.word = word;
  ASKED.place = placeOf(ground, path, TARGET);
  let held = 0;
  // A time that is not an instant denies everything.
  if (at < Infinity) for (let i = 0; i < count; i += 1) held |= heldBy(ground, runs[i] ?? 0, ASKED);
  return held;
}

/** Both sides of a copy must be paths before either is judged. */
export function arePaths(first: string, second: string): boolean {
  return scanNamespace(first, OTHER) !== null && scanNamespace(second, OTHER) !== null;
}

/**
 * Judges the source of a copy first: a permission there is never enough, and a denial there reveals nothing about the
 * destination.
 */
export function judgeRequest(asker: Asker, request: RawRequest, at: Instant): Verdict {
  switch (request.kind) {
    case 'access':
      return judgeAccess(asker, request, at);
    case 'create-namespace':
      return judgeCreation(asker, request.namespace, at);
    case 'copy': {
      if (!arePaths(request.source, request.destination)) return 'canonicalize';
      if (asker.excluded !== null) return 'exclusive';
      if (judgeOwn(asker, { scope: SOURCE_READ, path: request.source }, at) !== 'allow') return 'source_read';
      const destination = judgeOwn(asker, { scope: DESTINATION_WRITE, path: request.destination }, at);
      return destination === 'allow' ? 'allow' : 'destination_write';
    }
    default:
      return refuseRequest(request);
  }
}
