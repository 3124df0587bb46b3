// The part of what changed that somebody asks about: some identities, scopes, or what is in force in a namespace or below.
import type { DiffRow } from '../../../engine/compiler.js';
import { isWithin, type NamespacePath, type ScopeName } from '../../../engine/index.js';
import type { Changes } from './outcome.js';

/** Null means all. */
interface Selection {
  /** `provider:subject` */
  readonly identities: ReadonlySet<string> | null;
  readonly scopes: ReadonlySet<ScopeName> | null;
  readonly namespace: NamespacePath | null;
}

export const NO_CHANGES: Changes = Object.freeze({ gained: [], lost: [], exclusive: { added: [], removed: [] } });

/** Rows and pairs. */
export function countChanges({ gained, lost, exclusive }: Changes): number {
  return gained.length + lost.length + exclusive.added.length + exclusive.removed.length;
}

/** Rows keep their regions, and only the identities and scopes that are asked about. */
export function selectChanges({ gained, lost, exclusive }: Changes, selection: Selection): Changes {
  const { identities, scopes, namespace } = selection;
  const pairs = (all: Changes['exclusive']['added']): Changes['exclusive']['added'] =>
    // A pair closes or opens every scope everywhere.
    all.filter((pair) => identities === null || pair.some((one) => identities.has(one)));
  const select = (rows: readonly DiffRow[]): readonly DiffRow[] =>
    rows.flatMap((row) => {
      if (namespace !== null && !reaches(row, namespace)) return [];
      const kept = {
        ...row,
        identities: identities === null ? row.identities : row.identities.filter((one) => identities.has(one)),
        scopes: scopes === null ? row.scopes : row.scopes.filter((one) => scopes.has(one)),
      };
      if (kept.identities.length === 0 || kept.scopes.length === 0) return [];
      const concerns = (cause: DiffRow['causes'][number]): boolean => isCauseOf(cause, identities);
      return [{ ...kept, causes: row.causes.filter(concerns) }];
    });
  return {
    gained: select(gained),
    lost: select(lost),
    exclusive: { added: pairs(exclusive.added), removed: pairs(exclusive.removed) },
  };
}

/** Whether the region has a path at or below the namespace. */
function reaches({ namespace, extent, except = [] }: DiffRow, asked: NamespacePath): boolean {
  if (isWithin(namespace, asked)) return true;
  return extent !== 'exact' && isWithin(asked, namespace) && !except.some((left) => isWithin(asked, left));
}

/** A row of several identities has the causes of all of them. Those that name somebody else alone are not theirs. */
export function isCauseOf(cause: DiffRow['causes'][number], identities: Selection['identities']): boolean {
  if (identities === null || cause.kind === 'role') return true;
  const whose = cause.kind === 'member' ? cause.member : cause.principal;
  return whose.startsWith('role ') || identities.has(whose);
}
