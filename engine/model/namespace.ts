// Namespace paths: the one function that makes a `NamespacePath`, and the order and ancestry of paths (docs/meaning.md
// "Namespaces"). Policy, credentials, requests and stored records all pass through `canonicalize`; nothing else mints the
// brand.

import { invariant } from './invariant.js';
import { makeMarks, NAMESPACE_LIMITS, type PathMarks, scanPath } from './scan-path.js';

export { NAMESPACE_LIMITS } from './scan-path.js';

declare const brand: unique symbol;

/** A canonical path: `/` is the root, `/labs/optics` a namespace. */
export type NamespacePath = string & { readonly [brand]: 'NamespacePath' };

export type PathFault =
  'not_text' | 'empty' | 'too_long' | 'too_deep' | 'empty_segment' | 'dot_segment' | 'segment_too_long' | 'character';

export type CanonicalizeResult =
  { readonly ok: true; readonly path: NamespacePath } | { readonly ok: false; readonly fault: PathFault };

export const ROOT = '/' as NamespacePath;

const MARKS = makeMarks();

/**
 * Accepts or refuses a path. Adds a missing leading slash and removes one trailing slash, but never folds case,
 * decodes, trims or resolves. Total: every value gets an answer.
 */
export function canonicalize(text: unknown): CanonicalizeResult {
  if (typeof text !== 'string') return { ok: false, fault: 'not_text' };
  const path = scanNamespace(text, MARKS);
  return path === null ? { ok: false, fault: faultOf(text) } : { ok: true, path };
}

/**
 * Like `canonicalize`, without a message, and with the marks of the path for look-ups. Null if it is not a path. Throws
 * if a caller without types passes something other than a string.
 */
export function scanNamespace(text: string, marks: PathMarks): NamespacePath | null {
  if (typeof text !== 'string') throw new TypeError('a namespace must be a string');
  if (!scanPath(text, marks)) return null;
  const { from, to } = marks;
  if (from === 1 && to === text.length) return text as NamespacePath;
  return scanNamespace(`/${text.slice(from, to)}`, marks);
}

/** The first thing that is wrong with a string that is not a path. */
function faultOf(text: string): PathFault {
  if (text === '') return 'empty';
  const body = text.slice(text.startsWith('/') ? 1 : 0, text.endsWith('/') ? -1 : undefined);
  if (body.length + 1 > NAMESPACE_LIMITS.bytes) return 'too_long';
  const segments = body.split('/');
  if (segments.length > NAMESPACE_LIMITS.segments) return 'too_deep';
  const fault = segments.map(segmentFault).find((wrong) => wrong !== null);
  invariant(fault !== undefined, 'a text that is not a path has a fault');
  return fault;
}

function segmentFault(segment: string): PathFault | null {
  if (segment === '') return 'empty_segment';
  if (segment === '.' || segment === '..') return 'dot_segment';
  if (!/^[a-z0-9._~-]+$/.test(segment)) return 'character';
  return segment.length > NAMESPACE_LIMITS.segmentLength ? 'segment_too_long' : null;
}

/** The namespace above, or null for the root. */
export function parentOf(path: NamespacePath): NamespacePath | null {
  if (path === ROOT) return null;
  const cut = path.lastIndexOf('/');
  // Without types a caller can pass a text that has no slash: above it nothing is found, but the search ends.
  return cut <= 0 ? ROOT : (path.slice(0, cut) as NamespacePath);
}

/** The root, every ancestor in order, and the path itself last. */
export function lineageOf(path: NamespacePath): readonly NamespacePath[] {
  const line: NamespacePath[] = [];
  for (let at: NamespacePath | null = path; at !== null; at = parentOf(at)) line.push(at);
  return line.reverse();
}

/**
 * The position of the first path with which these paths and all above them are more than `limit` namespaces, or -1. The root
 * counts too. Paths are only collected if there could be that many.
 */
export function pastNamespaces(paths: readonly NamespacePath[], limit: number): number {
  let most = 1;
  for (const path of paths) most += depthOf(path);
  if (most <= limit) return -1;
  const met = new Set<NamespacePath>([ROOT]);
  return paths.findIndex((path) => {
    for (let at: NamespacePath | null = path; at !== null && !met.has(at); at = parentOf(at)) met.add(at);
    return met.size > limit;
  });
}

/** How many segments the path has. The root has a slash, too: it counts as one. */
export function depthOf(path: NamespacePath): number {
  let slashes = 0;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) slashes += 1;
  return slashes;
}

/** Whether `path` is `ancestor` or below it. `/labs/optics2` is not below `/labs/optics`. */
export function isWithin(path: NamespacePath, ancestor: NamespacePath): boolean {
  if (ancestor === ROOT || path === ancestor) return true;
  // Without types a caller can pass the empty string, which is not the root.
  const { length } = ancestor;
  return length > 0 && path.length > length && path.charCodeAt(length) === 0x2f && path.startsWith(ancestor);
}

/** Path order: a namespace comes before everything below it, and its subtree is one run. */
export function comparePaths(a: NamespacePath, b: NamespacePath): number {
  // With a closing slash on both, code unit order is path order: the slash sorts below every letter that a longer
  // sibling could continue with, except `-` and `.`, and those are compared against a slash too.
  const left = a === ROOT ? a : `${a}/`;
  const right = b === ROOT ? b : `${b}/`;
  return left < right ? -1 : left > right ? 1 : 0;
}

/**
 * Distinct paths in path order. Faster than `comparePaths` for many paths, because that joins texts for every
 * comparison.
 */
export function sortPaths(paths: Iterable<NamespacePath>): NamespacePath[] {
  const closed = Array.from(new Set(paths), (path) => (path === ROOT ? path : `${path}/`)).sort();
  return closed.map((path) => (path === ROOT ? ROOT : (path.slice(0, -1) as NamespacePath)));
}
