// A namespace that looks like a typing mistake for its neighbour. A grant there gives access to a place that does not exist, and the
// intended place gets none. A guardrail there guards nothing. Names that differ on purpose usually differ in digits, or both are
// used about as often.
import { groupDigits } from '../diagnostics/fault-words.js';
import { addTo, remember } from '../model/group.js';
import type { NamespacePath } from '../model/namespace.js';
import { childrenOf, pathOfRow } from '../model/namespace-tree.js';
import type { GuardrailRule, PolicyGrant, PolicySet } from '../model/policy-set.js';
import type { LintWorld } from './lint-world.js';
import { type LintContext, type LintFinding, placed, relatedTo } from './rule.js';

/** At most this many grants are at or below a name that may be a slip. */
const RARE = 2;
/** The intended name has at least this many times as many grants at or below it. */
const MORE = 2;
/** Least length of the longer name. Shorter names are often one edit apart by chance. */
const LETTERS = 5;
/** A namespace with more children was made by a program, and programs make no slips. */
const CHILDREN = 10_000;

export function findNearNamespaces(world: LintWorld, context: LintContext): void {
  const scene = makeScene(world);
  findSlipsOfGrants(scene, context);
  findSlipsOfGuardrails(scene, context);
}

interface Scene {
  readonly world: LintWorld;
  /** By row, the number of grants at it and below it. */
  readonly uses: Int32Array;
  readonly nameOf: (row: number) => string;
  /** The digits in the name of a row. */
  readonly digitsOf: (row: number) => string;
  /** A grant at a row or below it, as a place to show. */
  readonly grantIn: (row: number) => PolicyGrant | undefined;
}

function makeScene(world: LintWorld): Scene {
  const { tables, set } = world;
  const { segment } = tables.namespaces;
  const digits = tables.segments.map((name) => name.replace(/[^0-9]/g, ''));
  const first = firstGrants(world);
  return {
    world,
    uses: usesOf(world),
    nameOf: (row) => tables.segments[segment[row] ?? 0] ?? '',
    digitsOf: (row) => digits[segment[row] ?? 0] ?? '',
    grantIn: (row) => set.grants[first[row] ?? -1],
  };
}

function findSlipsOfGrants(scene: Scene, context: LintContext): void {
  const { world, uses, nameOf } = scene;
  let meantSo: ReadonlySet<string> | null = null;
  for (const above of world.tree.parent.keys()) {
    const siblings = childrenOf(world.tree, above);
    if (siblings.length < 2 || siblings.length > CHILDREN) continue;
    const children = withSameDigits(scene, siblings);
    const rare = children.filter((row) => (uses[row] ?? 0) <= RARE);
    if (rare.length === 0) continue;
    const common = commonNames(scene, children);
    for (const row of rare) {
      const meant = meantBy(nameOf(row), { scene, common, least: MORE * (uses[row] ?? 0) });
      if (meant === null) continue;
      const path = pathOfRow(world.tables, row);
      meantSo ??= new Set([...namedByTests(world.set), ...namedByGuardrails(world.set)]);
      if (meantSo.has(path)) continue;
      const found = wordsOf(scene, path, meant);
      context.report({
        ...found,
        place: placed(context.namespacePlace(scene.grantIn(row)?.place ?? null)),
        message: `\`${path}\` is ${found.message}`,
      });
    }
  }
}

/** A guardrail at an unintended place guards nothing, so it always holds and nobody notices. */
function findSlipsOfGuardrails(scene: Scene, context: LintContext): void {
  const { world, nameOf } = scene;
  const childrenAt = remember(
    (row: number) => new Map(childrenOf(world.tree, row).map((child) => [nameOf(child), child])),
  );
  const commonOf = remember((row: number) => commonNames(scene, [...childrenAt(row).values()]));
  let tested: ReadonlySet<string> | null = null;
  for (const { id, rule, place } of world.set.guardrails) {
    let row = 0;
    let path = '';
    for (const name of pathOfRule(rule)?.slice(1).split('/') ?? []) {
      const children = childrenAt(row);
      path += `/${name}`;
      const next = children.get(name);
      if (next !== undefined) {
        row = next;
        continue;
      }
      if (children.size > CHILDREN) break;
      const meant = meantBy(name, { scene, common: commonOf(row), least: MORE });
      tested ??= namedByTests(world.set);
      if (meant === null || tested.has(path)) break;
      const found = wordsOf(scene, path, meant);
      context.report({
        ...found,
        place: placed(place),
        message: `the guardrail \`${id}\` is about \`${path}\`, which no grant names; it is ${found.message}`,
      });
      break;
    }
  }
}

function wordsOf(
  { world, uses, grantIn }: Scene,
  path: string,
  meant: number,
): Pick<LintFinding, 'code' | 'message' | 'help' | 'related'> & { readonly code: 'LINT_NAMESPACE_LOOKALIKE' } {
  const right = pathOfRow(world.tables, meant);
  return {
    code: 'LINT_NAMESPACE_LOOKALIKE',
    message: `one letter away from \`${right}\`, which has ${groupDigits(uses[meant] ?? 0)} grants at or below it`,
    help: `did you mean \`${right}\`? if both are right, name \`${path}\` in a test, or say so in an ignore comment`,
    related: relatedTo(grantIn(meant)?.place ?? null, `a grant at or below \`${right}\``),
  };
}

/** The children whose digits occur in another child's name too: a slip never changes digits (`isSlip`). */
function withSameDigits({ digitsOf }: Scene, children: readonly number[]): readonly number[] {
  const first = new Map<string, number>();
  const isAlike = new Set<number>();
  for (const row of children) {
    const other = first.get(digitsOf(row));
    if (other === undefined) first.set(digitsOf(row), row);
    else isAlike.add(other).add(row);
  }
  return children.filter((row) => isAlike.has(row));
}

/** Rows that enough grants use. Keys are their names, and their names without one character. */
type CommonNames = ReadonlyMap<string, readonly number[]>;

function commonNames({ uses, nameOf }: Scene, children: readonly number[]): CommonNames {
  const common = new Map<string, number[]>();
  for (const row of children) {
    if ((uses[row] ?? 0) < MORE) continue;
    for (const key of shortened(nameOf(row))) addTo(common, key, row);
  }
  return common;
}

/** The neighbour that was probably meant. If there are several, the one with the most grants. */
function meantBy(
  name: string,
  { scene, common, least }: { readonly scene: Scene; readonly common: CommonNames; readonly least: number },
): number | null {
  const { uses, nameOf } = scene;
  const near = shortened(name)
    .flatMap((key) => common.get(key) ?? [])
    .filter((row) => (uses[row] ?? 0) >= least && isSlip(name, nameOf(row)));
  return near.sort((a, b) => (uses[b] ?? 0) - (uses[a] ?? 0) || a - b)[0] ?? null;
}

/** By row, the first grant of the policy at it or below it. */
function firstGrants({ tables, nodes }: LintWorld): Int32Array {
  const { parent } = tables.namespaces;
  const first = new Int32Array(parent.length).fill(nodes.length);
  const lower = (row: number, grant: number): void => {
    first[row] = Math.min(first[row] ?? 0, grant);
  };
  for (let grant = 0; grant < nodes.length; grant += 1) lower(nodes[grant] ?? 0, grant);
  for (let row = parent.length - 1; row > 0; row -= 1) lower(parent[row] ?? 0, first[row] ?? 0);
  return first;
}

function usesOf({ tables, nodes }: LintWorld): Int32Array {
  const { parent } = tables.namespaces;
  const uses = new Int32Array(parent.length);
  for (const node of nodes) uses[node] = (uses[node] ?? 0) + 1;
  // A parent comes before its children.
  for (let row = parent.length - 1; row > 0; row -= 1) {
    const above = parent[row] ?? 0;
    uses[above] = (uses[above] ?? 0) + (uses[row] ?? 0);
  }
  return uses;
}

/** The name, and each result of dropping one character. Names one edit apart have at least one of these in common. */
function shortened(name: string): readonly string[] {
  return [name, ...new Set(Array.from(name, (_, i) => name.slice(0, i) + name.slice(i + 1)))];
}

const SEPARATOR = /^[._~-]?$/;

/**
 * One character is added, missing or different, or two neighbouring characters are swapped. Differences in digits and in words of one
 * letter are on purpose.
 */
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

/** Namespaces that tests name, and all above them. They are no slips; neither are those that guardrails name. */
function namedByTests({ tests }: PolicySet): ReadonlySet<string> {
  const named = new Set<string>();
  for (const { allow, deny, sees } of tests) {
    for (const { namespace } of [...allow, ...deny]) addLineage(named, namespace);
    for (const { context, namespaces } of sees) for (const path of [context, ...namespaces]) addLineage(named, path);
  }
  return named;
}

function namedByGuardrails({ guardrails }: PolicySet): ReadonlySet<string> {
  const named = new Set<string>();
  for (const { rule } of guardrails) addLineage(named, pathOfRule(rule) ?? '');
  return named;
}

function addLineage(named: Set<string>, path: string): void {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) named.add(path.slice(0, end));
}

/** Null if the guardrail is not about a single place. */
function pathOfRule(rule: GuardrailRule): NamespacePath | null {
  if ('under' in rule) return rule.under;
  return 'at' in rule && rule.at.kind === 'path' ? rule.at.path : null;
}
