// Two loaded policies with common numbers, so that they can be compared by integers: equal nodes, identities, roles and principals have
// the same number on both sides. All columns are sorted, so each pair of columns is merged in one pass.

import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { type Both, type MergedRows, mergeIdentities, mergeTexts, type SideName } from '../../model/merge-rows.js';
import { listRows } from '../../model/row-lists.js';
import type { PolicyTables } from '../../model/tables.js';
import { type CellSpace, instantsOf, scopesOfAny } from '../cells/count-cells.js';
import { makeRights, namedPaths, type NodeRights, type UnindexedPolicy } from '../cells/holdings.js';
import { makeMembership, type Membership } from '../cells/membership.js';
import { makeNodes } from '../cells/nodes.js';

export type { SideName } from '../../model/merge-rows.js';

/** One of the two policies. Identities, roles and principals are common numbers. Grants and member edges are its own rows. */
export interface Side extends NodeRights {
  readonly membership: Membership;
  /** 1 for the roles that it has. */
  readonly hasRole: Uint8Array;
  /** By grant, the row of the grant with the same id in the other policy; -1 if it has no such grant. */
  readonly other: Int32Array;
  /** 1 for grants that the other policy does not have, or has with other content. */
  readonly differs: Uint8Array;
}

export interface PolicyPair extends CellSpace, Both<Side> {
  /** The number of identities that either policy names. */
  readonly identities: number;
  /** The number of roles. Common principals are the roles, then the identities. */
  readonly roles: number;
}

/** `also` are policies whose nodes and instants count, too. */
export function makePair(
  old: PreparedPolicy,
  changed: PreparedPolicy,
  also: readonly PreparedPolicy[] = [],
): PolicyPair {
  const all = [old, changed, ...also];
  const nodes = makeNodes(...all.map(namedPaths));
  const common = commonOf(old.tables, changed.tables);
  const grants = mergeTexts(old.tables.grants.id, changed.tables.grants.id);
  const rights = {
    old: makeRights(renumbered(old, 'old', common), nodes),
    new: makeRights(renumbered(changed, 'new', common), nodes),
  };
  const sideOf = (here: SideName, there: SideName): Side => {
    const other = grants.numbers[here].map((number) => grants.rows[there][number] ?? -1);
    const isSame = (row: number, grant: number): boolean =>
      row >= 0 && FIELDS.every(([, read]) => read(rights[here])[grant] === read(rights[there])[row]);
    return {
      ...rights[here],
      membership: makeMembership(rights[here].policy.tables),
      hasRole: Uint8Array.from(common.roles.rows[here], (row) => (row < 0 ? 0 : 1)),
      other,
      differs: Uint8Array.from(other, (row, grant) => (isSame(row, grant) ? 0 : 1)),
    };
  };
  return {
    nodes,
    instants: instantsOf(all.map(({ tables }) => tables)),
    scopes: scopesOfAny(all.map(({ tables }) => tables)),
    old: sideOf('old', 'new'),
    new: sideOf('new', 'old'),
    identities: common.identities.count,
    roles: common.roles.count,
  };
}

/** What can differ between two versions of a grant. */
export type GrantField = 'principal' | 'namespace' | 'scopes' | 'inherit' | 'notBefore' | 'expires';

const FIELDS: readonly (readonly [GrantField, (rights: NodeRights) => ArrayLike<number | string>])[] = [
  ['principal', ({ policy }) => policy.tables.grants.principal],
  ['namespace', ({ rowOfGrant }) => rowOfGrant],
  ['scopes', ({ policy }) => policy.tables.grants.scopes],
  ['inherit', ({ policy }) => policy.tables.grants.inherit],
  ['notBefore', ({ policy }) => policy.tables.grants.notBefore],
  ['expires', ({ policy }) => policy.tables.grants.expires],
];

export function changedFields(pair: PolicyPair, versions: Both<number>): readonly GrantField[] {
  return FIELDS.filter(([, read]) => read(pair.old)[versions.old] !== read(pair.new)[versions.new]).map(
    ([name]) => name,
  );
}

interface Common {
  readonly roles: MergedRows;
  readonly identities: MergedRows;
  readonly roleNames: readonly string[];
  readonly providers: readonly string[];
  /** Columns of the identities. */
  readonly provider: Int32Array;
  readonly subject: readonly string[];
}

function commonOf(old: PolicyTables, changed: PolicyTables): Common {
  const roles = mergeTexts(old.roles.name, changed.roles.name);
  const subjects = { old: old.identities.subject, new: changed.identities.subject };
  const identities = mergeIdentities(old, changed);
  const either = ({ rows, count }: MergedRows, texts: Both<readonly string[]>): readonly string[] =>
    Array.from({ length: count }, (_, n) => texts.old[rows.old[n] ?? -1] ?? texts.new[rows.new[n] ?? -1] ?? '');
  return {
    roles,
    identities,
    roleNames: either(roles, { old: old.roles.name, new: changed.roles.name }),
    providers: [...old.providers, ...changed.providers],
    provider: identities.rows.old.map((row, n) =>
      row < 0
        ? old.providers.length + (changed.identities.provider[identities.rows.new[n] ?? 0] ?? 0)
        : (old.identities.provider[row] ?? 0),
    ),
    subject: either(identities, subjects),
  };
}

/** The policy with common numbers for its identities, roles and principals. The columns also cover those of the other policy. */
function renumbered(
  { tables, holders, byPrincipal, paths }: PreparedPolicy,
  side: SideName,
  common: Common,
): UnindexedPolicy {
  const { roles, identities, roleNames, providers, provider, subject } = common;
  const ownRoles = tables.roles.name.length;
  const roleOf = (row: number): number => roles.numbers[side][row] ?? 0;
  const principalOf = (row: number): number =>
    row < ownRoles ? roleOf(row) : roles.count + (identities.numbers[side][row - ownRoles] ?? 0);
  const ofRole = (column: Int32Array): Int32Array => roles.rows[side].map((row) => column[row] ?? 0);
  const principal = tables.grants.principal.map(principalOf);
  return {
    paths,
    tables: {
      ...tables,
      providers,
      identities: { provider, subject },
      roles: {
        name: roleNames,
        file: ofRole(tables.roles.file),
        line: ofRole(tables.roles.line),
        description: { ...tables.roles.description, row: tables.roles.description.row.map(roleOf) },
      },
      members: {
        ...tables.members,
        role: tables.members.role.map(roleOf),
        member: tables.members.member.map(principalOf),
      },
      grants: { ...tables.grants, principal },
    },
    holders: {
      ...holders,
      classOf: identities.rows[side].map((row) => holders.classOf[row] ?? -1),
      principals: holders.principals.map(principalOf),
    },
    byPrincipal: listRows(principal, roles.count + identities.count, byPrincipal.rows),
  };
}
