// The single changes that cut a way to an access (docs/meaning.md "Taking away"). Each takes away rights and gives none. A change is made
// in the tables here, and in declarations and files by those who read the same words.
import type { GrantRef } from '../../model/decision.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import type { ScopeName } from '../../model/scope.js';
import { NO_SCOPES, scopeBit, scopeNames, scopeSetOf, scopesWithout } from '../../model/scope-set.js';
import { scopePatterns, type Vocabulary } from '../../model/vocabulary.js';
import type { PolicyTables } from '../../model/tables.js';
import { citeMember, grantRefs } from '../cells/held-grants.js';
import type { GrantVersion, MemberVersion } from './edit-tables.js';
import type { Point } from './ways.js';

/** A membership. Its place is absent if the policy was built in memory. */
export interface MemberRef {
  readonly role: string;
  /** `role <name>` or `provider:subject`. */
  readonly member: string;
  readonly file?: string;
  readonly line?: number;
}

export type Removal =
  | { readonly kind: 'drop-grant'; readonly grant: GrantRef }
  /** `scopes` are all that the grant then names. */
  | {
      readonly kind: 'drop-scope';
      readonly grant: GrantRef;
      readonly scope: ScopeName;
      readonly scopes: readonly ScopeName[];
    }
  | { readonly kind: 'end-grant'; readonly grant: GrantRef; readonly expires: Instant }
  | { readonly kind: 'narrow'; readonly grant: GrantRef; readonly inherit: false }
  | ({ readonly kind: 'drop-member' } & MemberRef)
  | ({ readonly kind: 'end-member'; readonly expires: Instant } & MemberRef)
  /** Of the scopes that the role states for grants that name none. */
  | {
      readonly kind: 'drop-role-scope';
      readonly role: string;
      readonly scope: ScopeName;
      readonly scopes: readonly ScopeName[];
    };

/** One change, for people and in the tables. */
export interface SingleRemoval {
  /** One line. */
  readonly text: string;
  readonly change: Removal;
  /** By row. A grant of a role whose scopes change is among them. */
  readonly grants: readonly (readonly [number, GrantVersion | null])[];
  readonly edges: readonly (readonly [number, MemberVersion | null])[];
}

/** The access to deny. */
export interface Unwanted {
  readonly scope: ScopeName;
  readonly at: Instant;
  /** Whether the target is below the namespace of a grant. */
  readonly isBelow: (grant: number) => boolean;
  /** The instant from which a membership counts. */
  readonly beginOf: (edge: number) => number;
  /** Grants that take their scopes from the role. */
  readonly grantsOfRole: (role: number) => readonly number[];
}

/** The changes at one point, the plainest first. `tables` must be as a file states them. */
export function removalsAt(tables: PolicyTables, point: Point, unwanted: Unwanted): readonly SingleRemoval[] {
  switch (point.kind) {
    case 'grant':
      return grantRemovals(tables, point.grant, unwanted);
    case 'edge':
      return memberRemovals(tables, point.edge, unwanted);
    case 'role':
      return roleRemovals(tables, point.role, unwanted);
  }
}

function grantRemovals(tables: PolicyTables, row: number, { scope, at, isBelow }: Unwanted): readonly SingleRemoval[] {
  const [{ reason: _, ...grant } = { id: '' }] = grantRefs(tables, [row]);
  const name = `grant \`${grant.id}\``;
  const make = (text: string, change: Removal, version: GrantVersion | null): SingleRemoval => ({
    ...{ text, change },
    grants: [[row, version]],
    edges: [],
  });
  const left = scopesWithout(tables.grants.scopes[row] ?? NO_SCOPES, scopeBit(scope));
  const scopes = scopeNames(left);
  return [
    make(`drop ${name}`, { kind: 'drop-grant', grant }, null),
    ...(left === NO_SCOPES
      ? []
      : [
          make(
            `take ${scope} from ${name} (\`scopes: ${scopesText(scopes, tables.vocabulary)}\`)`,
            { kind: 'drop-scope', grant, scope, scopes },
            { scopes: left },
          ),
        ]),
    ...((tables.grants.notBefore[row] ?? 0) < at
      ? [make(`end ${name} at ${formatInstant(at)}`, { kind: 'end-grant', grant, expires: at }, { expires: at })]
      : []),
    ...(isBelow(row)
      ? [
          make(
            `let ${name} count at its namespace alone (\`inherit: false\`)`,
            { kind: 'narrow', grant, inherit: false },
            { inherit: false },
          ),
        ]
      : []),
  ];
}

function memberRemovals(tables: PolicyTables, edge: number, { at, beginOf }: Unwanted): readonly SingleRemoval[] {
  const { description: _, ...ref } = citeMember(tables, edge);
  const { role, member } = ref;
  const drop: SingleRemoval = {
    text: `remove ${member} from role \`${role}\``,
    change: { kind: 'drop-member', ...ref },
    grants: [],
    edges: [[edge, null]],
  };
  if (beginOf(edge) >= at) return [drop];
  return [
    drop,
    {
      text: `end the membership of ${member} in role \`${role}\` at ${formatInstant(at)}`,
      change: { kind: 'end-member', ...ref, expires: at },
      grants: [],
      edges: [[edge, { expires: at }]],
    },
  ];
}

function roleRemovals(tables: PolicyTables, row: number, { scope, grantsOfRole }: Unwanted): readonly SingleRemoval[] {
  const role = tables.roles.name[row] ?? '';
  const grants = grantsOfRole(row);
  const left = scopesWithout(tables.grants.scopes[grants[0] ?? -1] ?? NO_SCOPES, scopeBit(scope));
  // A role that states no scopes is not one that states none of them.
  if (left === NO_SCOPES) return [];
  const scopes = scopeNames(left);
  return [
    {
      text: `take ${scope} from role \`${role}\` (\`scopes: ${scopesText(scopes, tables.vocabulary)}\`)`,
      change: { kind: 'drop-role-scope', role, scope, scopes },
      grants: grants.map((grant) => [grant, { scopes: left }] as const),
      edges: [],
    },
  ];
}

/** As an author writes a list of scopes. */
export function scopesText(scopes: readonly ScopeName[], vocabulary: Vocabulary): string {
  const written = scopePatterns(scopeSetOf(scopes), vocabulary).map((pattern) =>
    pattern.startsWith('*') ? `"${pattern}"` : pattern,
  );
  return `[${written.join(', ')}]`;
}
