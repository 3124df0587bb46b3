// Proofs that an identity holds a scope in a namespace at an instant, or does not, against an access root alone (docs/proofs.md "Proofs of
// access"). They show no name but the one that they are about.
import { accessKey, accessOf, type AccessStep } from '../../engine/compiler.js';
import {
  canonicalize,
  formatIdentity,
  formatInstant,
  type Identity,
  type Instant,
  isScopeName,
  type NamespacePath,
  parseIdentity,
  parseInstant,
  type Policy,
  type ScopeName,
} from '../../engine/index.js';
import { isObject } from '../json/strict-json.js';
import { accessRootOf, hashOfIdentity, type HolderLeaf, holderLeaves, leafOf } from './access-tree.js';
import { makePath, rootOfAll, rootOfPath, type TreeHash } from './merkle.js';

/** A leaf, its index, and the hashes beside its way to the root in hex. */
interface Placed<Leaf> {
  readonly index: number;
  readonly leaf: Leaf;
  readonly path: readonly string[];
}

/** The leaf of the identity, and its steps around the namespace: the last one at or before it, and the next if there is one. */
interface HolderProof {
  readonly holder: Placed<HolderLeaf>;
  readonly steps: readonly Placed<AccessStep>[];
}

/** The leaves around the place where the identity would be: two, or one at an end, or none if nobody holds anything. */
interface AbsenceProof {
  readonly neighbours: readonly Placed<HolderLeaf>[];
}

/** The file. Texts are those of the command line; `size` is how many identities hold anything. */
export interface AccessProof {
  readonly root: string;
  readonly size: number;
  readonly identity: string;
  readonly scope: ScopeName;
  readonly namespace: string;
  readonly at: string;
  readonly holds: boolean;
  readonly proof: HolderProof | AbsenceProof;
}

export interface AccessQuestion {
  readonly identity: Identity;
  readonly scope: ScopeName;
  readonly namespace: NamespacePath;
  readonly at: Instant;
}

export function proveAccess(policy: Policy, { identity, scope, namespace, at }: AccessQuestion): AccessProof {
  const leaves = holderLeaves(policy);
  const own = hashOfIdentity(identity);
  const after = leaves.findIndex(([hash]) => hash >= own);
  const index = after < 0 ? leaves.length : after;
  const asked = { scope, at };
  const said = { identity: formatIdentity(identity), scope, namespace, at: formatInstant(at) };
  const head = {
    root: accessRootOf({ outer: rootOfAll(leaves.map(leafOf)), size: leaves.length }),
    size: leaves.length,
    ...said,
  };
  if (leaves[index]?.[0] !== own)
    return { ...head, holds: false, proof: { neighbours: placed(leaves, [index - 1, index]) } };
  const steps = accessOf(policy, identity);
  const step = steps.findLastIndex(([key]) => key <= accessKey(namespace));
  const [holder] = placed(leaves, [index]);
  if (holder === undefined) throw new Error('a leaf that was found is there');
  return {
    ...head,
    holds: holdsAt(steps[step], asked),
    proof: { holder, steps: placed(steps, [step, step + 1]) },
  };
}

/** Those of the indexes that exist. */
function placed<Leaf extends HolderLeaf | AccessStep>(
  leaves: readonly Leaf[],
  indexes: readonly number[],
): readonly Placed<Leaf>[] {
  const builders = indexes.flatMap((index) => {
    const leaf = leaves[index];
    return leaf === undefined ? [] : [{ index, leaf, builder: makePath(index, leaves.length) }];
  });
  for (const leaf of leaves) {
    const hash = leafOf(leaf);
    for (const { builder } of builders) builder.push(hash);
  }
  return builders.map(({ index, leaf, builder }) => ({
    index,
    leaf,
    path: builder.path().map((beside) => beside.toString('hex')),
  }));
}

function holdsAt(
  step: AccessStep | undefined,
  { scope, at }: { readonly scope: string; readonly at: Instant },
): boolean {
  const [, rights = []] = step ?? [];
  const since = rights.findLast(([from]) => from === null || (parseInstant(from) ?? Infinity) <= at);
  return since?.[1].some((held) => held === scope) ?? false;
}

/** The proof if it shows what it says under this root, or why it does not. `value` is parsed JSON of any shape. */
export function readAccessProof(
  value: unknown,
  root: string,
): { readonly proof: AccessProof } | { readonly fault: string } {
  if (!isProof(value)) return { fault: 'it is not a proof of access' };
  const fault = faultOf(value, root);
  return fault === null ? { proof: value } : { fault };
}

function faultOf(value: AccessProof, root: string): string | null {
  const { identity: text, scope, namespace, at: instant, holds, size, proof } = value;
  const identity = parseIdentity(text);
  const at = parseInstant(instant);
  const path = canonicalize(namespace);
  if (!identity.ok || formatIdentity(identity.identity) !== text) return `\`${text}\` is not an identity`;
  if (!path.ok || path.path !== namespace) return `\`${namespace}\` is not a namespace`;
  if (at === null || formatInstant(at) !== instant) return `\`${instant}\` is not an instant`;
  if (value.root !== root) return `it is about the root \`${value.root}\`, and not \`${root}\``;
  const tree = { root, size };
  const own = hashOfIdentity(identity.identity);
  if ('neighbours' in proof)
    return absenceFault(proof, tree, own) ?? (holds ? 'it shows that the identity holds nothing' : null);
  const fault = holderFault(proof, tree, { own, key: accessKey(path.path) });
  if (fault !== null) return fault;
  return holdsAt(proof.steps[0]?.leaf, { scope, at }) === holds
    ? null
    : `it shows that the identity ${holds ? 'does not hold' : 'holds'} it`;
}

interface Rooted {
  readonly root: string;
  readonly size: number;
}

function absenceFault({ neighbours }: AbsenceProof, tree: Rooted, own: string): string | null {
  const [first, second] = neighbours;
  if (first === undefined) {
    const isEmpty = tree.size === 0 && accessRootOf({ outer: rootOfAll([]), size: 0 }) === tree.root;
    return isEmpty ? null : 'it does not show the leaves around the identity';
  }
  if (!neighbours.every((leaf) => leadsToRoot(leaf, tree))) return 'its leaves do not lead to the root';
  const [before, after] = second !== undefined ? [first, second] : first.leaf[0] < own ? [first, null] : [null, first];
  const isBetween = (before === null || before.leaf[0] < own) && (after === null || own < after.leaf[0]);
  const [next, last] = [(before?.index ?? -1) + 1, after?.index ?? tree.size];
  return isBetween && next === last && neighbours.length <= 2 ? null : 'its leaves are not those around the identity';
}

function holderFault(
  { holder, steps }: HolderProof,
  tree: Rooted,
  { own, key }: { readonly own: string; readonly key: string },
): string | null {
  const [identity, root, size] = holder.leaf;
  if (identity !== own) return 'its leaf is that of another identity';
  if (!leadsToRoot(holder, tree)) return 'its leaf does not lead to the root';
  const [here, next] = steps;
  if (here === undefined || steps.length > 2) return 'it does not show the steps around the namespace';
  if (steps.some((step) => rootOf(step, size)?.toString('hex') !== root)) return 'its steps do not lead to the leaf';
  const isLast = here.index === size - 1;
  const isAround =
    here.leaf[0] <= key && (next === undefined ? isLast : next.index === here.index + 1 && key < next.leaf[0]);
  return isAround ? null : 'its steps are not those around the namespace';
}

function leadsToRoot(placed: Placed<HolderLeaf>, { root, size }: Rooted): boolean {
  const outer = rootOf(placed, size);
  return outer !== null && accessRootOf({ outer, size }) === root;
}

function rootOf({ index, leaf, path }: Placed<HolderLeaf | AccessStep>, size: number): TreeHash | null {
  const beside = path.map((text) => Buffer.from(text, 'hex'));
  return rootOfPath(leafOf(leaf), { index, size }, beside);
}

function isProof(value: unknown): value is AccessProof {
  if (!isObject(value)) return false;
  const { root, size, identity, scope, namespace, at, holds, proof } = value;
  const areTexts = [root, identity, scope, namespace, at].every((text) => typeof text === 'string');
  if (!areTexts || !isScopeName(scope) || !isIndex(size) || typeof holds !== 'boolean' || !isObject(proof))
    return false;
  const { holder, steps, neighbours } = proof;
  return neighbours === undefined
    ? isPlaced(holder, isHolderLeaf) && isListOf(steps, (step) => isPlaced(step, isStep))
    : isListOf(neighbours, (leaf) => isPlaced(leaf, isHolderLeaf));
}

function isPlaced(value: unknown, isLeaf: (leaf: unknown) => boolean): boolean {
  if (!isObject(value)) return false;
  return isIndex(value['index']) && isLeaf(value['leaf']) && isListOf(value['path'], isHash);
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

function isHolderLeaf(value: unknown): boolean {
  const [identity, root, size] = itemsOf(value, 3);
  return isHash(identity) && isHash(root) && isIndex(size);
}

function isStep(value: unknown): boolean {
  const [key, rights] = itemsOf(value, 2);
  return typeof key === 'string' && isListOf(rights, isScopesSince);
}

function isScopesSince(value: unknown): boolean {
  const [from, scopes] = itemsOf(value, 2);
  return (from === null || typeof from === 'string') && isListOf(scopes, isScopeName);
}

/** Nothing if it is not a list of this length. */
function itemsOf(value: unknown, length: number): readonly unknown[] {
  return Array.isArray(value) && value.length === length ? value : [];
}

function isIndex(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}
