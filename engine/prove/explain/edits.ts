// What would allow a denied access: every edit of one declaration that gives one of the actor's identities the scope. An edit says what
// else it needs (a provider, a change of the credential) and how much else it opens. It has no unnecessary parts.
import { findGrants } from '../../evaluate/find-grants.js';
import type { Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import {
  baseProvider,
  formatIdentity,
  type Identity,
  isProviderOf,
  joinedIdentities,
  mayBeProvider,
} from '../../model/identity.js';
import type { Instant } from '../../model/instant.js';
import type { NamespacePath } from '../../model/namespace.js';
import { compareNumbers, compareTexts } from '../../model/order.js';
import type { ScopeName } from '../../model/scope.js';
import { scopeBit } from '../../model/scope-set.js';
import { during, piecesOf, unite, without } from '../../model/timeline.js';
import { countCells } from '../cells/count-cells.js';
import { holdingsIn } from '../cells/holdings.js';
import { identityRow, principalsOf } from '../cells/identities.js';
import {
  edgesOfMember,
  makeMembership,
  type Membership,
  withMembersBelow,
  withRolesAbove,
} from '../cells/membership.js';
import { scopesOf } from '../cells/walk.js';
import { memberWindows, statedTables } from '../../model/tables.js';
import { amendments, countsThere, type GrantAmendment } from './amendments.js';
import { type AskedGround, makeGround, makeOpening } from './count-opened.js';

/** What the credential would also need. */
export interface CredentialChange {
  /** Scopes to add. */
  readonly credentialScopes?: readonly ScopeName[];
  /** Restrictions to add. */
  readonly namespaceRestrictions?: readonly NamespacePath[];
}

/** A new grant or a new member. If `provider` is present, it must first be declared in `policy.yaml`. */
type Addition = { readonly provider?: string } & (
  | {
      readonly kind: 'grant';
      readonly identity: string;
      readonly namespace: NamespacePath;
      readonly scopes: readonly ScopeName[];
      readonly inherit: false;
    }
  | { readonly kind: 'member'; readonly role: string; readonly identity: string }
);

/** An edit of the policy. `credential` is present if the edit alone is not enough. */
export type PolicyChange = { readonly credential?: CredentialChange } & (Addition | GrantAmendment);

export type Change = PolicyChange | ({ readonly kind: 'credential' } & CredentialChange);

export interface Edit {
  /** For people, one line. */
  readonly text: string;
  readonly change: Change;
  /** The cells that `diff` would list as gained, without the requested one. 0 for a change of the credential. */
  readonly opens: { readonly cells: bigint };
}

export interface Wish {
  /** Without repetitions. */
  readonly identities: readonly Identity[];
  readonly scope: ScopeName;
  readonly target: NamespacePath;
  readonly at: Instant;
}

export type PolicyEdit = Edit & { readonly change: PolicyChange };

/** Ordered by how much else they open. The actor must hold no grant that carries the scope there and then. */
export function policyEdits(handle: Policy, policy: PreparedPolicy, wish: Wish): readonly PolicyEdit[] {
  const ground = makeGround(handle, policy, wish.target);
  const { identities, scope, at } = wish;
  const principals = new Set(identities.flatMap((identity) => [...principalsOf(policy, identity)]));
  const membership = makeMembership(policy.tables);
  const roles = rolesThatHold(ground, membership, wish);
  const rolesForATime = makeRolesForATime(policy);
  const additions = identities.flatMap((identity): readonly PolicyEdit[] => {
    const missing = missingProvider(policy, identity);
    if (missing === null) return [];
    const opened = makeOpening(ground, principalsOf(policy, identity));
    const newcomer = { identity, missing, forATime: rolesForATime(identity), opened };
    return [
      newGrant(ground, wish, newcomer),
      ...roles.map((role) => newMember(ground, { membership, role }, newcomer)),
    ];
  });
  const amended = amendments(ground, { principals, scope, at }).map(({ text, change, gained }) => ({
    text,
    change,
    opens: besides(gained),
  }));
  return [...additions, ...amended].sort(
    (a, b) => compareNumbers(a.opens.cells, b.opens.cells) || compareTexts(a.text, b.text),
  );
}

/** The identity that the policy would name. */
interface Newcomer {
  readonly identity: Identity;
  readonly missing: { readonly provider?: string };
  /** The roles that have the identity as a member with a window. */
  readonly forATime: ReadonlySet<number>;
  readonly opened: ReturnType<typeof makeOpening>;
}

/** One less: the requested cell does not count. */
function besides(cells: bigint): { readonly cells: bigint } {
  return { cells: cells - 1n };
}

/** The provider, if any, that must be declared before the policy may name an identity. Null if no declaration is enough. */
function missingProvider({ identityRows }: PreparedPolicy, identity: Identity): { provider?: string } | null {
  const declared = baseProvider(identity.provider);
  const isDeclared = isProviderOf(identityRows, identity.provider);
  if (!isDeclared && !mayBeProvider(declared)) return null;
  const known = { has: (name: string) => name === declared || identityRows.has(name) };
  if (joinedIdentities(identity, known) !== null) return null;
  return isDeclared ? {} : { provider: declared };
}

function addition(text: string, change: Addition, gained: bigint): PolicyEdit {
  const { provider } = change;
  const before = provider === undefined ? '' : `declare the provider \`${provider}\` in policy.yaml and `;
  return { text: before + text, change, opens: besides(gained) };
}

/** A grant of this scope at this namespace alone. */
function newGrant(ground: AskedGround, { scope, target }: Wish, { identity, missing }: Newcomer): PolicyEdit {
  const { policy, near } = ground;
  const holdings = holdingsIn(ground, principalsOf(policy, identity), [{ from: near, until: near + 1 }]);
  const held = unite(holdings.filter((holding) => countsThere(ground, holding)).map(scopesOf));
  const gained = without(during({ from: -Infinity, until: Infinity, value: scopeBit(scope) }), held);
  const region = { row: near, extent: 'exact', except: [] } as const;
  const patches = piecesOf(gained).map(({ from, until, value }) => ({ region, from, until, scopes: value }));
  const text = formatIdentity(identity);
  return addition(
    `grant ${scope} at ${target} alone (\`inherit: false\`) to ${text}`,
    { kind: 'grant', identity: text, namespace: target, scopes: [scope], inherit: false, ...missing },
    countCells(ground, patches),
  );
}

/** Every role whose members hold the scope there: the roles of grants that carry it, and the roles nested in those. */
function rolesThatHold({ handle, policy }: AskedGround, membership: Membership, wish: Wish): readonly number[] {
  const roles = Int32Array.from(policy.tables.roles.name.keys());
  const carrying = findGrants(handle, roles, { target: wish.target, scope: wish.scope, at: wish.at });
  const holding = carrying.map((grant) => policy.tables.grants.principal[grant] ?? 0);
  return [...withMembersBelow(membership, holding)].filter((principal) => principal < roles.length);
}

/** The roles that have an identity as a member with a window. */
function makeRolesForATime({ tables, identityRows }: PreparedPolicy): (identity: Identity) => ReadonlySet<number> {
  const stated = statedTables(tables);
  const windows = memberWindows(stated);
  const membership = makeMembership(stated);
  return (identity) => {
    const row = identityRow({ identityRows }, identity);
    const edges = row === undefined ? [] : edgesOfMember(membership, stated.roles.name.length + row);
    return new Set(Array.from(edges).flatMap((edge) => (windows.has(edge) ? (stated.members.role[edge] ?? []) : [])));
  };
}

function newMember(
  ground: AskedGround,
  { membership, role }: { readonly membership: Membership; readonly role: number },
  { identity, missing, forATime, opened }: Newcomer,
): PolicyEdit {
  const { policy } = ground;
  const given = [...withRolesAbove(membership, [role])];
  const name = policy.tables.roles.name[role] ?? '';
  const text = formatIdentity(identity);
  return addition(
    forATime.has(role) ? `let ${text} be in role \`${name}\` without a window` : `add ${text} to role \`${name}\``,
    { kind: 'member', role: name, identity: text, ...missing },
    opened(given),
  );
}
