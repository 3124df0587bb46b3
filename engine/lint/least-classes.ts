// Where a grant is hardest to replace. Grants only add, so what counts below a namespace counts at it and in everything
// under it as well. To learn what a grant gives in *all* of its namespace classes, it is enough to look at these.
import type { NamespaceTree } from '../model/namespace-tree.js';

/** A namespace class (docs/meaning.md "Cells"): a node alone, or all that is below it and nearest to it. */
export interface NamespaceClass {
  readonly node: number;
  readonly extent: 'exact' | 'below';
}

/**
 * One class, but where no path can be below the node other than nodes (`NamespaceTree.hasBelow`): then that of each of
 * them.
 */
export function leastClasses(
  tree: NamespaceTree,
  { node, inherit }: { readonly node: number; readonly inherit: boolean },
): readonly NamespaceClass[] {
  if (!inherit) return [{ node, extent: 'exact' }];
  if (tree.hasBelow[node] === 1) return [{ node, extent: 'below' }];
  const classes: NamespaceClass[] = [{ node, extent: 'exact' }];
  for (let child = node + 1; child < (tree.end[node] ?? 0); child = tree.end[child] ?? Infinity)
    classes.push(...leastClasses(tree, { node: child, inherit: true }));
  return classes;
}
