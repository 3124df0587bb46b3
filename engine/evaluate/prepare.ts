// Tables in the form that proofs read: identities and paths by text, and the grants of each principal. Built on first
// use, never changed, never handed out. Decisions read the decision table instead.
import { ROOT, type NamespacePath } from '../model/namespace.js';
import type { HolderClasses } from '../model/holders.js';
import { listRows, type RowLists } from '../model/row-lists.js';
import { countPrincipals, type PolicyTables } from '../model/tables.js';

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
  const { namespace, principal } = tables.grants;
  const byNamespace = listRows(namespace, tables.namespaces.parent.length);
  return {
    tables,
    holders,
    identityRows: indexIdentities(tables),
    paths: pathsOf(tables),
    byPrincipal: listRows(principal, countPrincipals(tables), byNamespace.rows),
  };
}

function indexIdentities(tables: PolicyTables): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const bySubject = tables.providers.map(() => new Map<string, number>());
  tables.identities.subject.forEach((subject, row) => {
    bySubject[tables.identities.provider[row] ?? 0]?.set(subject, row);
  });
  return new Map(tables.providers.map((provider, row) => [provider, bySubject[row] ?? new Map<string, number>()]));
}

function pathsOf(tables: PolicyTables): readonly NamespacePath[] {
  const paths: NamespacePath[] = [];
  tables.namespaces.parent.forEach((parent, row) => {
    if (row === 0) {
      paths.push(ROOT);
      return;
    }
    const above = parent === 0 ? '' : (paths[parent] ?? '');
    // The segments were checked when the tables were made, so joined they are canonical.
    paths.push(`${above}/${tables.segments[tables.namespaces.segment[row] ?? 0] ?? ''}` as NamespacePath);
  });
  return paths;
}
