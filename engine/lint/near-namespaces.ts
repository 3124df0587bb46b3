// A namespace that looks like a typo of its neighbour: grants at it give access to a place that does not exist, and the
// place that was meant silently gets none. Names that differ on purpose differ in digits, or are used alike.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { NamespacePath } from '../model/namespace.js';
import { pathOfRow } from '../model/namespace-tree.js';
import type { PolicySet } from '../model/policy-set.js';
import type { LintWorld } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

/** Grants at or below a name that may be a slip. */
const RARE = 2;
/** How many times as many there are at or below the name that was meant. */
const MORE = 2;
/** Of the longer name; shorter ones are one edit apart by chance. */
const LETTERS = 5;
/** With more children a namespace is made by a program, which makes no slips. */
const CHILDREN = 10_000;

export function findNearNamespaces(world: LintWorld, context: LintContext): void {
  const { tables, nodes, set } = world;
  const uses = usesOf(world);
  let named: ReadonlySet<string> | null = null;
  for (const children of childrenOf(tables.namespaces.parent)) {
    if (children.length < 2 || children.length > CHILDREN) continue;
    const nameOf = (row: number): string => tables.segments[tables.namespaces.segment[row] ?? 0] ?? '';
    const rare = children.filter((row) => (uses[row] ?? 0) <= RARE);
    const common = new Map<string, number[]>();
    for (const row of rare.length === 0 ? [] : children) {
      if ((uses[row] ?? 0) < MORE) continue;
      for (const key of shortened(nameOf(row))) append(common, key, row);
    }
    for (const row of rare) {
      const meant = shortened(nameOf(row))
        .flatMap((key) => common.get(key) ?? [])
        .filter((other) => (uses[other] ?? 0) >= MORE * (uses[row] ?? 0) && isSlip(nameOf(row), nameOf(other)))
        .sort((a, b) => (uses[b] ?? 0) - (uses[a] ?? 0) || a - b)[0];
      if (meant === undefined) continue;
      const path = pathOfRow(tables, row);
      named ??= namedOutsideGrants(set);
      if (named.has(path)) continue;
      const grantIn = (at: number): number => nodes.findIndex((node) => at <= node && node < (world.tree.end[at] ?? 0));
      const right = pathOfRow(tables, meant);
      context.report({
        code: 'LINT_NAMESPACE_LOOKALIKE',
        place: context.namespacePlace(placed(set.grants[grantIn(row)]?.place ?? null)),
        message: `\`${path}\` is one letter away from \`${right}\`, which has ${groupDigits(uses[meant] ?? 0)} grants at or below it`,
        help: `did you mean \`${right}\`? if both are right, name \`${path}\` in a test, or say so in an ignore comment`,
        related: relatedTo(set.grants[grantIn(meant)]?.place ?? null, `a grant at or below \`${right}\``),
      });
    }
  }
}

/** By row: the grants at it and below it. */
function usesOf({ tables, nodes }: LintWorld): Int32Array {
  const { parent } = tables.namespaces;
  const uses = new Int32Array(parent.length);
  for (const node of nodes) uses[node] = (uses[node] ?? 0) + 1;
  // A parent stands before its children.
  for (let row = parent.length - 1; row > 0; row -= 1) {
    const above = parent[row] ?? 0;
    uses[above] = (uses[above] ?? 0) + (uses[row] ?? 0);
  }
  return uses;
}

function childrenOf(parent: Int32Array): Iterable<readonly number[]> {
  const children = new Map<number, number[]>();
  parent.forEach((above, row) => {
    if (row > 0) append(children, above, row);
  });
  return children.values();
}

function append<K>(lists: Map<K, number[]>, key: K, row: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [row]);
  else list.push(row);
}

/** The name, and all that it becomes without one character: names one edit apart have one of these in common. */
function shortened(name: string): readonly string[] {
  return [name, ...new Set(Array.from(name, (_, i) => name.slice(0, i) + name.slice(i + 1)))];
}

const SEPARATOR = /^[._~-]?$/;

/** One character more, less or another, or two neighbours swapped; but digits, and words of one letter, differ on purpose. */
function isSlip(name: string, other: string): boolean {
  if (Math.max(name.length, other.length) < LETTERS) return false;
  let start = 0;
  while (start < name.length && name[start] === other[start]) start += 1;
  let [end, otherEnd] = [name.length, other.length];
  while (end > start && otherEnd > start && name[end - 1] === other[otherEnd - 1])
    [end, otherEnd] = [end - 1, otherEnd - 1];
  const [here, there] = [name.slice(start, end), other.slice(start, otherEnd)];
  if (/[0-9]/.test(here + there)) return false;
  const isSwap = here.length === 2 && there.length === 2 && here[0] === there[1] && here[1] === there[0];
  if (isSwap) return true;
  if (here.length > 1 || there.length > 1 || here === there) return false;
  return !(SEPARATOR.test(name.slice(0, start).slice(-1)) && SEPARATOR.test(name.slice(end, end + 1)));
}

/** What tests and guardrails name is meant, and so is all above it. */
function namedOutsideGrants({ tests, guardrails }: PolicySet): ReadonlySet<string> {
  const named = new Set<string>();
  const add = (path: NamespacePath): void => {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) named.add(path.slice(0, end));
  };
  for (const { allow, deny, sees } of tests) {
    for (const { namespace } of [...allow, ...deny]) add(namespace);
    for (const { context, namespaces } of sees) [context, ...namespaces].forEach(add);
  }
  for (const { rule } of guardrails) {
    if ('under' in rule) add(rule.under);
    if ('at' in rule && rule.at.kind === 'path') add(rule.at.path);
  }
  return named;
}
