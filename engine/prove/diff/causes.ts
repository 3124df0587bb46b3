// Why a cell was gained or lost: the grants, members and roles that one policy has and the other has not. What is lost from
// the old to the new policy is what would be gained on the way back, so there is one search for both.
import { grantRefs } from '../cells/grant-refs.js';
import { changedFields, type GrantChanges, type GrantField } from './changed-grants.js';
import { identityText } from '../cells/identity-groups.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import { edgesOfMember, isMember, makeMembership, type Membership } from '../cells/membership.js';
import { endOf } from '../cells/nodes.js';
import type { PolicyPair, Side } from './policy-pair.js';

export type ChangeKind = 'added' | 'removed' | 'changed';

interface Placed {
  /** Where it stands: in the new policy, or in the old one for what was removed. Absent if it was built in memory. */
  readonly file?: string;
  readonly line?: number;
}

export type Cause = Placed &
  (
    | {
        readonly change: ChangeKind;
        readonly kind: 'grant';
        readonly id: string;
        /** `role <name>` or `provider:subject`. */
        readonly principal: string;
        /** What was changed; absent for what was added or removed. */
        readonly fields?: readonly GrantField[];
      }
    | { readonly change: 'added' | 'removed'; readonly kind: 'member'; readonly role: string; readonly member: string }
    | { readonly change: 'added' | 'removed'; readonly kind: 'role'; readonly role: string }
  );

/** What some identities have on one side alone. */
export interface Difference {
  readonly from: number;
  readonly until: number;
  readonly value: number;
}

/** `gained` is what the new policy has and the old has not, `lost` the other way round. */
export type Direction = 'gained' | 'lost';

/** Where causes are looked for: the grants that carry the difference, of the side that has it. */
export interface Search {
  readonly direction: Direction;
  readonly difference: Difference;
  readonly carriers: readonly Holding[];
}

/**
 * Of identities, by common number, that hold alike: adds the causes of a difference to a set. What is the same cause in one
 * direction is the same object.
 */
export type CauseFinder = (identities: readonly number[]) => (search: Search, causes: Set<Cause>) => void;

interface View {
  readonly having: Side;
  readonly lacking: Side;
  readonly members: Membership;
  readonly lackingMembers: Membership;
  /** For each grant of one side, the row of its version on the other side; -1 if there is none. */
  readonly other: Int32Array;
  readonly differs: Uint8Array;
  readonly change: 'added' | 'removed';
  /** By key. */
  readonly known: Map<string, Cause>;
}

export function makeCauseFinder(pair: PolicyPair, changes: GrantChanges): CauseFinder {
  const [old, after] = [makeMembership(pair.old.policy.tables), makeMembership(pair.new.policy.tables)];
  const views: Readonly<Record<Direction, View>> = {
    gained: {
      having: pair.new,
      lacking: pair.old,
      members: after,
      lackingMembers: old,
      other: changes.oldVersion,
      differs: changes.newDiffers,
      change: 'added',
      known: new Map(),
    },
    lost: {
      having: pair.old,
      lacking: pair.new,
      members: old,
      lackingMembers: after,
      other: changes.newVersion,
      differs: changes.oldDiffers,
      change: 'removed',
      known: new Map(),
    },
  };
  const grantCauses = { gained: new Map<number, Cause>(), lost: new Map<number, Cause>() };
  return (identities) => {
    const joins = { gained: makeJoins(views.gained, identities), lost: makeJoins(views.lost, identities) };
    return ({ direction, difference, carriers }, causes) => {
      const view = views[direction];
      for (const has of carriers) {
        const { grant } = has;
        if (view.differs[grant] === 1 && !wouldCarry(view, pair, { has, difference })) {
          const cause = grantCauses[direction].get(grant) ?? grantCause(view, pair, grant);
          grantCauses[direction].set(grant, cause);
          causes.add(cause);
        }
        for (const cause of joins[direction](principalOf(view.having, grant))) causes.add(cause);
      }
    };
  };
}

/** Why the identities are in a principal on the side that has it; looked for when first asked. */
function makeJoins(view: View, identities: readonly number[]): (principal: number) => readonly Cause[] {
  const known = new Map<number, readonly Cause[]>();
  let climbs: { readonly here: Climb; readonly there: Climb } | null = null;
  return (principal) => {
    const before = known.get(principal);
    if (before !== undefined) return before;
    climbs ??= {
      here: climb(view.members, rowsIn(view.having, identities)),
      there: climb(view.lackingMembers, rowsIn(view.lacking, identities)),
    };
    const causes = membershipCauses(view, climbs, principal);
    known.set(principal, causes);
    return causes;
  };
}

/** The principals that identities are on one side. */
function rowsIn({ policy, identityRow }: Side, identities: readonly number[]): readonly number[] {
  const roles = policy.tables.roles.name.length;
  return identities.flatMap((identity) => {
    const row = identityRow[identity] ?? -1;
    return row < 0 ? [] : [roles + row];
  });
}

/** Everything that some principals are in, and how they came there. */
interface Climb {
  readonly reached: ReadonlySet<number>;
  /** By role that was reached, the member edges that lead into it from what was reached. */
  readonly edges: ReadonlyMap<number, readonly number[]>;
}

function climb(membership: Membership, principals: readonly number[]): Climb {
  const reached = new Set(principals);
  const edges = new Map<number, number[]>();
  // A set is walked in order of insertion, also over what is added meanwhile.
  for (const member of reached) {
    for (const edge of edgesOfMember(membership, member)) {
      const role = membership.tables.members.role[edge] ?? 0;
      reached.add(role);
      const into = edges.get(role);
      if (into === undefined) edges.set(role, [edge]);
      else into.push(edge);
    }
  }
  return { reached, edges };
}

function principalOf({ policy }: Side, grant: number): number {
  return policy.tables.grants.principal[grant] ?? 0;
}

export function causeKey(cause: Cause): string {
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
function wouldCarry(
  view: View,
  pair: PolicyPair,
  { has, difference }: { readonly has: Holding; readonly difference: Difference },
): boolean {
  const other = view.other[has.grant] ?? -1;
  if (other < 0 || commonPrincipal(view.having, has.grant) !== commonPrincipal(view.lacking, other)) return false;
  const had = holdingOf(view.lacking.rights, other);
  const scopes = has.scopes & difference.value;
  return (
    (had.scopes & scopes) === scopes &&
    had.from <= Math.max(has.from, difference.from) &&
    Math.min(has.until, difference.until) <= had.until &&
    covers(pair, had, has)
  );
}

function covers({ space: { nodes } }: PolicyPair, wide: Holding, narrow: Holding): boolean {
  if (wide.row === narrow.row) return wide.inherit || !narrow.inherit;
  return wide.inherit && wide.row < narrow.row && narrow.row < endOf(nodes, wide.row);
}

function commonPrincipal(side: Side, grant: number): number {
  return side.principalOf[principalOf(side, grant)] ?? -1;
}

function grantCause(view: View, pair: PolicyPair, grant: number): Cause {
  const other = view.other[grant] ?? -1;
  const principal = principalText(view.having, principalOf(view.having, grant));
  if (other < 0) {
    const { id, ...place } = refOf(view.having, grant);
    return { change: view.change, kind: 'grant', id, principal, ...place };
  }
  const versions = view.having === pair.new ? { old: other, new: grant } : { old: grant, new: other };
  const { id, ...place } = refOf(pair.new, versions.new);
  return { change: 'changed', kind: 'grant', id, principal, fields: changedFields(pair, versions), ...place };
}

function refOf({ policy }: Side, grant: number): { id: string; file?: string; line?: number } {
  const [ref] = grantRefs(policy.tables, [grant]);
  return ref ?? { id: '' };
}

export function principalText({ policy }: Side, principal: number): string {
  const { name } = policy.tables.roles;
  return principal < name.length ? `role ${name[principal] ?? ''}` : identityText(policy, principal - name.length);
}

/**
 * The edges that lead from the identities to a role and are on this side alone; none if they are in the role on the
 * other side too. A role that is itself on this side alone is reported as the role.
 */
function membershipCauses(
  view: View,
  { here, there }: { readonly here: Climb; readonly there: Climb },
  principal: number,
): readonly Cause[] {
  const { having, lacking, change } = view;
  const { tables } = having.policy;
  const roles = tables.roles.name.length;
  const counterpart = lacking.principalRow[having.principalOf[principal] ?? -1] ?? -1;
  if (principal >= roles || (counterpart >= 0 && there.reached.has(counterpart))) return [];
  const causes: Cause[] = [];
  const leading = new Set([principal]);
  for (const role of leading) {
    const name = tables.roles.name[role] ?? '';
    const alone = isOnThisSideAlone(view, role);
    if (alone) causes.push(once(view, { change, kind: 'role', role: name, ...placeOf(having, tables.roles, role) }));
    for (const edge of here.edges.get(role) ?? []) {
      const member = tables.members.member[edge] ?? 0;
      if (member < roles) leading.add(member);
      if (alone || hasEdge(view, role, member)) continue;
      const place = placeOf(having, tables.members, edge);
      causes.push(once(view, { change, kind: 'member', role: name, member: principalText(having, member), ...place }));
    }
  }
  return causes;
}

/** The same object for what is the same cause, however many groups of identities have it. */
function once({ known }: View, cause: Cause): Cause {
  const key = causeKey(cause);
  const before = known.get(key);
  if (before !== undefined) return before;
  known.set(key, cause);
  return cause;
}

function isOnThisSideAlone({ having, lacking }: View, role: number): boolean {
  return (lacking.principalRow[having.principalOf[role] ?? -1] ?? -1) < 0;
}

/** Whether the other side has the member in the role too. */
function hasEdge({ having, lacking, lackingMembers }: View, role: number, member: number): boolean {
  const otherRole = lacking.principalRow[having.principalOf[role] ?? -1] ?? -1;
  const otherMember = lacking.principalRow[having.principalOf[member] ?? -1] ?? -1;
  if (otherRole < 0 || otherMember < 0) return false;
  return isMember(lackingMembers, otherRole, otherMember);
}

function placeOf(
  { policy }: Side,
  columns: { readonly file: Int32Array; readonly line: Int32Array },
  row: number,
): Placed {
  const file = policy.tables.files[(columns.file[row] ?? 0) - 1];
  return file === undefined ? {} : { file, line: columns.line[row] ?? 0 };
}
