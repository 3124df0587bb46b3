// The namespace classes of a grant that the fewest other grants reach. An inherited grant that counts below a namespace also counts
// in everything under it. So to learn whether something holds in *all* classes of a grant, it is enough to look at these.
import { childrenOf, type NamespaceTree } from '../model/namespace-tree.js';

/** A namespace class (docs/meaning.md "Cells"): a node alone, or all paths below it that have it as their nearest node. */
export interface NamespaceClass {
  readonly node: number;
  readonly extent: 'exact' | 'below';
}

/**
 * One class in most cases. If only nodes can be below the node (`NamespaceTree.belowOf`), the result has the node itself and the
 * classes of each of its children.
 */
export function leastClasses(
  tree: NamespaceTree,
  { node, inherit }: { readonly node: number; readonly inherit: boolean },
): readonly NamespaceClass[] {
  if (!inherit) return [{ node, extent: 'exact' }];
  if (tree.belowOf(node) === 'open') return [{ node, extent: 'below' }];
  const inside = childrenOf(tree, node).flatMap((child) => leastClasses(tree, { node: child, inherit: true }));
  return [{ node, extent: 'exact' }, ...inside];
}
