// Tables in the form that proofs read: identities and paths by text, and the grants of each principal. Built on first
// use, never changed, never handed out. Decisions read the decision table instead.
import { rememberLast } from '../model/group.js';
import { ROOT, type NamespacePath } from '../model/namespace.js';
import type { HolderClasses } from '../model/holders.js';
import { listRows, type RowLists } from '../model/row-lists.js';
import { countPrincipals, type IdentityColumns, type NamespaceColumns, type PolicyTables } from '../model/tables.js';

/** The results of loading, verified. */
export interface LoadedTables {
  readonly tables: PolicyTables;
  readonly holders: HolderClasses;
}

export interface PreparedPolicy extends LoadedTables {
  /** Identity rows by provider, then by subject: exact pairs, never a joined text. */
  readonly identityRows: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly paths: readonly NamespacePath[];
  /** Grants by principal, and by namespace within a principal. */
  readonly byPrincipal: RowLists;
}

export function preparePolicy({ tables, holders }: LoadedTables): PreparedPolicy {
  const { grants, identities, namespaces, providers, segments } = tables;
  return {
    tables,
    holders,
    identityRows: indexIdentities(identities, providers),
    paths: pathsOf(namespaces, segments),
    byPrincipal: listGrants(grants.principal, grants.namespace, countPrincipals(tables), namespaces.parent.length),
  };
}

const listGrants = rememberLast(
  (principal: Int32Array, namespace: Int32Array, principals: number, namespaces: number): RowLists =>
    listRows(principal, principals, listRows(namespace, namespaces).rows),
);

const indexIdentities = rememberLast(
  (identities: IdentityColumns, providers: readonly string[]): PreparedPolicy['identityRows'] => {
    const bySubject = providers.map(() => new Map<string, number>());
    identities.subject.forEach((subject, row) => {
      bySubject[identities.provider[row] ?? 0]?.set(subject, row);
    });
    return new Map(providers.map((provider, row) => [provider, bySubject[row] ?? new Map<string, number>()]));
  },
);

const pathsOf = rememberLast((namespaces: NamespaceColumns, segments: readonly string[]): readonly NamespacePath[] => {
  const paths: NamespacePath[] = [];
  namespaces.parent.forEach((parent, row) => {
    if (row === 0) {
      paths.push(ROOT);
      return;
    }
    const above = parent === 0 ? '' : (paths[parent] ?? '');
    // The segments were checked when the tables were made, so joined they are canonical.
    paths.push(`${above}/${segments[namespaces.segment[row] ?? 0] ?? ''}` as NamespacePath);
  });
  return paths;
});
