// The tree over everybody who holds anything, and over what each holds (docs/proofs.md "Proofs of access"). Its root is in the signed
// statement. A leaf names nobody: it has the hash of an identity.
import { hash } from 'node:crypto';
import { type AccessStep, accessOfAll } from '../../engine/compiler.js';
import type { Identity, Policy } from '../../engine/index.js';
import { leafHash, rootOfAll, type TreeHash } from './merkle.js';

/** The hash of an identity, the root over its steps in hex, and how many steps these are. */
export type HolderLeaf = readonly [identity: string, root: string, size: number];

/** In order of the hashes of the identities. */
export function holderLeaves(policy: Policy): readonly HolderLeaf[] {
  const leaves: HolderLeaf[] = [];
  const hashOf = rememberSteps();
  for (const { identities, steps } of accessOfAll(policy)) {
    const root = rootOfAll(steps.map(hashOf)).toString('hex');
    for (const identity of identities) leaves.push([hashOfIdentity(identity), root, steps.length]);
  }
  return leaves.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Most steps are those of many identities: the same rights, which are then one object, from the same key on. */
function rememberSteps(): (step: AccessStep) => TreeHash {
  const byRights = new Map<AccessStep[1], Map<string, TreeHash>>();
  return (step) => {
    const [key, rights] = step;
    if (rights.length > 1) return leafOf(step);
    const byKey = byRights.get(rights) ?? new Map<string, TreeHash>();
    byRights.set(rights, byKey);
    const known = byKey.get(key) ?? leafOf(step);
    byKey.set(key, known);
    return known;
  };
}

export function hashOfIdentity({ provider, subject }: Identity): string {
  return hash('sha256', JSON.stringify([provider, subject]), 'hex');
}

/** Lists of strings and numbers alone have one spelling, which is canonical JSON. */
export function leafOf(leaf: HolderLeaf | AccessStep): TreeHash {
  return leafHash(JSON.stringify(leaf));
}

/** `sha256:` and the hash that stands for all access: of the root of the tree and how many leaves it has. */
export function accessRootOf({ outer, size }: { readonly outer: TreeHash; readonly size: number }): string {
  return `sha256:${hash('sha256', JSON.stringify(['bailiwick.access', 1, outer.toString('hex'), size]), 'hex')}`;
}

/** The access root of a policy. Takes time in proportion to what everybody holds. */
export function accessRoot(policy: Policy): string {
  const leaves = holderLeaves(policy);
  return accessRootOf({ outer: rootOfAll(leaves.map(leafOf)), size: leaves.length });
}
