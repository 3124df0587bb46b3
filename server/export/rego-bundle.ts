// A policy as a bundle of Open Policy Agent: its rows as data, and rules that never change. They decide as `decide` does for an access at
// the record's own namespace (docs/exporting.md).
import type { GrantRow, PolicyRows } from '../../engine/compiler.js';
import { type Exported, listed } from './exported.js';

/** The ends of what an instant can be, in milliseconds: JSON has no infinity. */
const EVER = 8_640_000_000_000_000;

export const REGO_RULES = String.raw`# Whether an access is allowed, by the rows in data.json. The input is
# {"identities": ["provider:subject"], "scope", "namespace", "scopes"?, "restrictions"?, "at"?}.
package bailiwick

import rego.v1

default allow := false

allow if {
	identified
	not excluded
	carried
	reached
	some principal in graph.reachable(data.bailiwick.roles, {who | some who in input.identities})
	some key in subtrees(input.namespace) | {concat("", ["=", input.namespace])}
	some window in data.bailiwick.grants[principal][input.scope][key]
	window[0] <= at
	at < window[1]
}

# Roles and identities have their grants in one table, and only a role has a name without a colon. Nobody becomes a role by its name: one
# entry that is no identity closes everything.
identified if {
	every who in input.identities { contains(who, ":") }
}

# Two identities that no actor may have together.
excluded if {
	some first in input.identities
	some second in data.bailiwick.exclusive[first]
	second in input.identities
}

# The credential carries the scope. Without a list it carries all, and an empty list carries nothing.
carried if object.get(input, "scopes", null) == null

carried if input.scope in input.scopes

# The credential reaches the namespace. One restriction that is not a canonical path closes everything.
reached if object.get(input, "restrictions", null) == null

reached if {
	every path in input.restrictions { count(subtrees(path)) > 0 }
	some path in input.restrictions
	trim_right(path, "/") in {trim_right(key, "/") | some key in subtrees(input.namespace)}
}

# Milliseconds since 1970. Text that is not an instant leaves it undefined, and then nothing is allowed.
at := time.now_ns() / 1000000 if object.get(input, "at", null) == null

at := time.parse_rfc3339_ns(input.at) / 1000000 if input.at != null

# Every subtree that a path is in, as a key with a slash at its end; none for text that is not a canonical path.
subtrees(path) := {key |
	regex.match("^(/|(/[a-z0-9._~-]{1,63})+)$", path)
	count(path) <= 1024
	parts := split(path, "/")
	count(parts) <= 33
	not "." in parts
	not ".." in parts
	some n in numbers.range(1, count(parts))
	key := concat("", [concat("/", array.slice(parts, 0, n)), "/"])
}
`;

export function regoBundle(rows: PolicyRows, about: { readonly digest: string }): Exported {
  const manifest = { revision: about.digest, rego_version: 1, roots: ['bailiwick'] };
  return {
    files: new Map<string, Iterable<string>>([
      ['.manifest', [`${JSON.stringify(manifest)}\n`]],
      ['data.json', dataOf(rows)],
      ['policy.rego', [REGO_RULES]],
    ]),
    unsaid: [
      'The target is the context: what is seen from a namespace below another one is for `visible` to say.',
      'The caller names the identities: Open Policy Agent does not authenticate anybody.',
    ],
  };
}

function* dataOf(rows: PolicyRows): Generator<string> {
  yield '{"bailiwick": {\n';
  yield* listed('"roles": {', rolesOf(rows), '},\n');
  yield* listed('"exclusive": {', exclusiveOf(rows), '},\n');
  yield* listed('"grants": {', grantsOf(rows), '}}}\n');
}

/** The roles that have each principal as a member. Every principal has an entry, since only those can be reached. */
function* rolesOf({ principals, members }: PolicyRows): Generator<string> {
  const roles = principals.map((): string[] => []);
  for (const [role, member] of members) roles[member]?.push(principals[role]?.name ?? '');
  for (const [row, { name }] of principals.entries()) yield entry(name, roles[row]);
}

function* exclusiveOf({ exclusive }: PolicyRows): Generator<string> {
  const others = new Map<string, string[]>();
  for (const [first, second] of exclusive) {
    const known = others.get(first);
    if (known === undefined) others.set(first, [second]);
    else known.push(second);
  }
  for (const [first, seconds] of others) yield entry(first, seconds);
}

function* grantsOf({ principals, grants }: PolicyRows): Generator<string> {
  const held = principals.map((): GrantRow[] => []);
  for (const grant of grants) if (grant.from < grant.until) held[grant.principal]?.push(grant);
  for (const [row, { name }] of principals.entries()) {
    const own = held[row] ?? [];
    if (own.length > 0) yield entry(name, windowsOf(own));
  }
}

/** By scope and key, windows of milliseconds. */
function windowsOf(grants: readonly GrantRow[]): object {
  const byScope = new Map<string, Map<string, [number, number][]>>();
  for (const { namespace, inherit, scopes, from, until } of grants) {
    const key = inherit ? `${namespace === '/' ? '' : namespace}/` : `=${namespace}`;
    const window: [number, number] = [Math.max(from, -EVER), Math.min(until, EVER)];
    for (const scope of scopes) {
      const byKey = byScope.get(scope) ?? new Map<string, [number, number][]>();
      const windows = byKey.get(key);
      if (windows === undefined) byKey.set(key, [window]);
      else windows.push(window);
      byScope.set(scope, byKey);
    }
  }
  return Object.fromEntries([...byScope].map(([scope, byKey]) => [scope, Object.fromEntries(byKey)]));
}

function entry(key: string, value: unknown): string {
  return `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
}
