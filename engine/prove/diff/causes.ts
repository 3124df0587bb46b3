// Why a cell was gained or lost: the grants, members and roles that one policy has and the other does not. What is lost from the old to
// the new policy would be gained on the way back, so one search serves both.
import { commonScopes, NO_SCOPES, scopesWithout } from '../../model/scope-set.js';
import { remember } from '../../model/group.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import {
  type CitedGrant,
  type CitedRole,
  citeHolder,
  citeMember,
  citeRole,
  placeOf,
  reasonOf,
} from '../cells/held-grants.js';
import { edgesAbove, isMember } from '../cells/membership.js';
import { endOf } from '../cells/nodes.js';
import type { CellPatch } from '../cells/regions.js';
import type { KeyedCause } from '../cells/rows.js';
import { changedFields, type GrantField, type PolicyPair, type Side, type SideName } from './policy-pair.js';
import { statedId, statedRow } from '../../model/narrow-members.js';
import { memberText, statedTables } from '../../model/tables.js';

export type ChangeKind = 'added' | 'removed' | 'changed';

/** Descriptions are those of the role that is named. */
interface Placed extends Pick<CitedRole, 'description'> {
  /** The file of the new policy, or of the old one for what was removed. Absent if the policy was built in memory. */
  readonly file?: string;
  readonly line?: number;
}

export type Cause<Change = ChangeKind> = Placed &
  (
    | (Pick<CitedGrant, 'id' | 'reason'> & {
        readonly change: Change;
        readonly kind: 'grant';
        /** `role <name>` or `provider:subject`. */
        readonly principal: string;
        /** What was changed; absent for what was added or removed. */
        readonly fields?: readonly GrantField[];
      })
    /** `changed`: the window of the membership. */
    | { readonly change: Change; readonly kind: 'member'; readonly role: string; readonly member: string }
    | { readonly change: 'added' | 'removed'; readonly kind: 'role'; readonly role: string }
  );

/** A question for causes: the side that has the difference, and the grants that carry it there. */
interface Search {
  readonly having: SideName;
  readonly difference: CellPatch;
  readonly carriers: readonly Holding[];
}

export interface CauseFinder {
  /** All causes that were found, each once for each side that has it. */
  readonly causes: readonly KeyedCause<Cause>[];
  /** For identities (common numbers) with equal rights: a function that adds the numbers of the causes of a difference to a set. */
  readonly of: (identities: readonly number[]) => (search: Search, found: Set<number>) => void;
}

/** What one side has and the other lacks. */
interface View {
  readonly pair: PolicyPair;
  readonly name: SideName;
  readonly having: Side;
  readonly lacking: Side;
  readonly change: 'added' | 'removed';
  /** Whether the side that lacks the difference has the member too, whatever the window. Both are texts. */
  readonly hasMember: (role: string, member: string) => boolean;
}

/** By role: the member edges that lead some identities to it. */
type Edges = ReadonlyMap<number, readonly number[]>;

export function makeCauseFinder(pair: PolicyPair): CauseFinder {
  const causes: KeyedCause<Cause>[] = [];
  const finders = {
    old: makeSideFinder(makeView(pair, 'old'), causes),
    new: makeSideFinder(makeView(pair, 'new'), causes),
  };
  return {
    causes,
    of: (identities) => {
      const principals = identities.map((identity) => pair.roles + identity);
      const edges = remember((side: SideName) => edgesAbove(pair[side].membership, principals));
      const sides = { old: finders.old(edges), new: finders.new(edges) };
      return (search, found) => {
        sides[search.having](search, found);
      };
    },
  };
}

function makeView(pair: PolicyPair, name: SideName): View {
  const [having, lacking] = name === 'old' ? [pair.old, pair.new] : [pair.new, pair.old];
  let stated: ReadonlySet<string> | null = null;
  return {
    ...{ pair, name, having, lacking, change: name === 'old' ? 'removed' : 'added' },
    hasMember: (role, member) => (stated ??= statedMembers(lacking)).has(`${role} ${member}`),
  };
}

/** The members of all roles as they are declared, each behind the name of its role. */
function statedMembers({ policy }: Side): ReadonlySet<string> {
  const tables = statedTables(policy.tables);
  const { role, member } = tables.members;
  return new Set(
    Array.from(role, (row, edge) => `${tables.roles.name[row] ?? ''} ${memberText(tables, member[edge] ?? 0)}`),
  );
}

function makeSideFinder(
  view: View,
  causes: KeyedCause<Cause>[],
): (edges: (side: SideName) => Edges) => (search: Search, found: Set<number>) => void {
  const { having } = view;
  const numberOf = (cause: Cause): number => causes.push({ cause, key: keyOf(cause) }) - 1;
  const grantCause = remember((grant: number) => numberOf(causeOfGrant(view, grant)));
  const edgeCause = remember((edge: number) => numberOf(causeOfEdge(view, edge)));
  const roleCause = remember((role: number) => numberOf(causeOfRole(view, role)));
  return (edges) => {
    /** Why the identities are in a principal on the side that has it. */
    const joins = remember((principal: number) => {
      const { roles, added } = membershipsAlone(view, principal, edges);
      return [...roles.map(roleCause), ...added.map(edgeCause)];
    });
    return ({ difference, carriers }, found) => {
      for (const has of carriers) {
        if (having.differs[has.grant] === 1 && !wouldCarry(view, has, difference)) found.add(grantCause(has.grant));
        for (const cause of joins(principalOf(having, has.grant))) found.add(cause);
      }
    };
  };
}

function principalOf({ policy }: Side, grant: number): number {
  return policy.tables.grants.principal[grant] ?? 0;
}

export function keyOf(cause: Cause<unknown>): string {
  switch (cause.kind) {
    case 'grant':
      return `grant ${cause.id}`;
    case 'member':
      return `member ${cause.role} ${cause.member}`;
    case 'role':
      return `role ${cause.role}`;
  }
}

/** Whether the other version of the grant gives the same part of the difference, so that the grant is not the cause. */
function wouldCarry({ having, lacking, pair }: View, has: Holding, difference: CellPatch): boolean {
  const other = having.other[has.grant] ?? -1;
  if (other < 0 || principalOf(having, has.grant) !== principalOf(lacking, other)) return false;
  const had = holdingOf(lacking, other);
  const scopes = commonScopes(has.scopes, difference.scopes);
  return (
    scopesWithout(scopes, had.scopes) === NO_SCOPES &&
    had.from <= Math.max(has.from, difference.from) &&
    Math.min(has.until, difference.until) <= had.until &&
    covers(pair, had, has)
  );
}

function covers({ nodes }: PolicyPair, wide: Holding, narrow: Holding): boolean {
  if (wide.row === narrow.row) return wide.inherit || !narrow.inherit;
  return wide.inherit && wide.row < narrow.row && narrow.row < endOf(nodes, wide.row);
}

/** For a row that was narrowed for a member: the membership, unless the grant itself is another. */
function causeOfNarrowed(view: View, grant: number): Cause | null {
  const { narrowed } = view.having.policy.tables;
  const [edge] = narrowed?.edges.get(grant) ?? [];
  if (narrowed === undefined || edge === undefined) return null;
  const row = statedRow({ narrowed }, grant);
  if (view.having.differs[row] === 1) return causeOfGrant(view, row);
  const cited = citeMember(narrowed.stated, edge);
  const change = view.hasMember(cited.role, cited.member) ? 'changed' : view.change;
  return { change, kind: 'member', ...cited };
}

function causeOfGrant(view: View, grant: number): Cause {
  const narrowed = causeOfNarrowed(view, grant);
  if (narrowed !== null) return narrowed;
  const { pair, name, having, change } = view;
  const other = having.other[grant] ?? -1;
  const principal = memberText(having.policy.tables, principalOf(having, grant));
  const id = statedId(having.policy.tables.grants.id[grant] ?? '');
  const { tables } = other < 0 ? having.policy : pair.new.policy;
  const versions = name === 'new' ? { old: other, new: grant } : { old: grant, new: other };
  const cited = other < 0 ? grant : versions.new;
  const { description } = citeHolder(having.policy.tables, principalOf(having, grant));
  const why = { ...reasonOf(tables, cited), ...(description === undefined ? {} : { description }) };
  const place = { ...placeOf(tables, tables.grants, cited), ...why };
  if (other < 0) return { change, kind: 'grant', id, principal, ...place };
  return { change: 'changed', kind: 'grant', id, principal, fields: changedFields(pair, versions), ...place };
}

function causeOfRole({ having, change }: View, role: number): Cause {
  const { tables } = having.policy;
  return { change, kind: 'role', ...citeRole(tables, role), ...placeOf(tables, tables.roles, role) };
}

function causeOfEdge({ having, lacking, change, hasMember }: View, edge: number): Cause {
  const { tables } = having.policy;
  const cited = citeMember(tables, edge);
  // Without a window on the other side it would be a member there, too.
  const hadWindow = lacking.policy.tables.narrowed !== undefined && hasMember(cited.role, cited.member);
  return { change: hadWindow ? 'changed' : change, kind: 'member', ...cited };
}

/**
 * What leads the identities to a role and exists only on this side: roles, and new edges to roles that exist on both sides. Nothing if
 * they are in the role on the other side too.
 */
function membershipsAlone(
  { having, lacking, name }: View,
  principal: number,
  edges: (side: SideName) => Edges,
): { readonly roles: readonly number[]; readonly added: readonly number[] } {
  const { members, roles: declared } = having.policy.tables;
  const roles: number[] = [];
  const added: number[] = [];
  if (principal >= declared.name.length || edges(name === 'new' ? 'old' : 'new').has(principal))
    return { roles, added };
  const leading = new Set([principal]);
  for (const role of leading) {
    const isAlone = lacking.hasRole[role] !== 1;
    if (isAlone) roles.push(role);
    for (const edge of edges(name).get(role) ?? []) {
      const member = members.member[edge] ?? 0;
      if (member < declared.name.length) leading.add(member);
      if (!isAlone && !isMember(lacking.membership, role, member)) added.push(edge);
    }
  }
  return { roles, added };
}
