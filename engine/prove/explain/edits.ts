// What would allow a denied access: every edit of one declaration of the policy that gives one of the actor's identities the
// scope, with what else it needs (a provider, the credential) and how much else it opens. No part of an edit can be left out.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { formatIdentity, GROUP_SUFFIX, type Identity, isName } from '../../model/identity.js';
import type { Instant } from '../../model/instant.js';
import type { NamespacePath } from '../../model/namespace.js';
import { compareTexts } from '../../model/order.js';
import { scopeBit, type ScopeName } from '../../model/scope.js';
import { amendments, countsThere, type GrantAmendment } from './amendments.js';
import { countIntervals } from '../cells/count-cells.js';
import { holdingOf, holdingsNear } from '../cells/holdings.js';
import { makeMembership, type Membership, withMembersBelow, withRolesAbove } from '../cells/membership.js';
import { rowsAbove } from '../cells/nodes.js';
import { type Ground, makeGround, openedByPrincipals } from './count-opened.js';
import { combine, during, NOTHING, piecesOf } from '../../model/timeline.js';
import { walkRights } from '../cells/walk.js';
import { principalsOf } from '../cells/identity-groups.js';

/** What the credential would need besides. */
export interface CredentialChange {
  /** Scopes to add. */
  readonly credentialScopes?: readonly ScopeName[];
  /** Restrictions to add. */
  readonly namespaceRestrictions?: readonly NamespacePath[];
}

/** A grant or a member that is new. `provider` has to be declared in `policy.yaml` first. */
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

/** An edit of the policy; `credential` where it alone is not enough. */
export type PolicyChange = { readonly credential?: CredentialChange } & (Addition | GrantAmendment);

export type Change = PolicyChange | ({ readonly kind: 'credential' } & CredentialChange);

export interface Edit {
  /** For people, one line. */
  readonly text: string;
  readonly change: Change;
  /** What `diff` would call gained, less the cell asked for; nothing for a credential. */
  readonly opens: { readonly cells: bigint };
}

export interface Wish {
  /** None twice. */
  readonly identities: readonly Identity[];
  readonly scope: ScopeName;
  readonly target: NamespacePath;
  readonly at: Instant;
}

export type PolicyEdit = Edit & { readonly change: PolicyChange };

/** Ordered by how much else they open. The actor must hold no grant that carries the scope there and then. */
export function policyEdits(policy: PreparedPolicy, wish: Wish): readonly PolicyEdit[] {
  const ground = makeGround(policy, wish.target);
  const { identities, scope, at } = wish;
  const principals = new Set(identities.flatMap((identity) => [...principalsOf(policy, identity)]));
  const membership = makeMembership(policy.tables);
  const roles = rolesThatHold(ground, membership, wish);
  const additions = identities.flatMap((identity): readonly PolicyEdit[] => {
    const missing = missingProvider(policy, identity);
    if (missing === null) return [];
    const newcomer = { identity, missing };
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
  return [...additions, ...amended].sort((a, b) =>
    a.opens.cells < b.opens.cells ? -1 : a.opens.cells > b.opens.cells ? 1 : compareTexts(a.text, b.text),
  );
}

/** Whom the policy would name. */
interface Newcomer {
  readonly identity: Identity;
  readonly missing: { readonly provider?: string };
}

/** Minus one: the cell that was asked for does not count. */
function besides(cells: bigint): { readonly cells: bigint } {
  return { cells: cells - 1n };
}

/** The provider to declare before the policy may name an identity, if any; null if no declaration is enough. */
function missingProvider({ identityRows }: PreparedPolicy, { provider }: Identity): { provider?: string } | null {
  const declared = provider.endsWith(GROUP_SUFFIX) ? provider.slice(0, -GROUP_SUFFIX.length) : provider;
  if (identityRows.has(provider) || identityRows.has(declared)) return {};
  return isName(declared) && !declared.endsWith(GROUP_SUFFIX) ? { provider: declared } : null;
}

function addition(text: string, change: Addition, gained: bigint): PolicyEdit {
  const { provider } = change;
  const before = provider === undefined ? '' : `declare the provider \`${provider}\` in policy.yaml and `;
  return { text: before + text, change, opens: besides(gained) };
}

/** A grant of this scope at this namespace alone. */
function newGrant(
  { policy, rights, space, near, isNode }: Ground,
  { scope, target }: Wish,
  { identity, missing }: Newcomer,
): PolicyEdit {
  const rows = { from: near, until: near + 1 };
  let held = NOTHING;
  walkRights(
    { nodes: space.nodes, rows, sides: [holdingsNear(rights, principalsOf(policy, identity), rows)] },
    (_row, [at], [below]) => {
      held = (isNode ? at : below) ?? NOTHING;
    },
  );
  const gained = combine(during({ from: -Infinity, until: Infinity, value: scopeBit(scope) }), held, (a, b) => a & ~b);
  const intervals = piecesOf(gained).reduce((count, piece) => count + countIntervals(space.instants, piece), 0);
  const text = formatIdentity(identity);
  return addition(
    `grant ${scope} at ${target} alone (\`inherit: false\`) to ${text}`,
    { kind: 'grant', identity: text, namespace: target, scopes: [scope], inherit: false, ...missing },
    BigInt(intervals),
  );
}

/** Every role whose members hold the scope there: the roles of grants that carry it, and the roles nested in those. */
function rolesThatHold(ground: Ground, membership: Membership, { scope, at }: Wish): readonly number[] {
  const { policy, rights, space, near } = ground;
  const roles = policy.tables.roles.name.length;
  const above = new Set([near, ...rowsAbove(space.nodes, near)]);
  const carrying = new Set<number>();
  rights.rowOfGrant.forEach((row, grant) => {
    const principal = policy.tables.grants.principal[grant] ?? 0;
    if (principal >= roles || !above.has(row)) return;
    const holding = holdingOf(rights, grant);
    const carries = (holding.scopes & scopeBit(scope)) !== 0 && holding.from <= at && at < holding.until;
    if (carries && countsThere(ground, holding)) carrying.add(principal);
  });
  return [...withMembersBelow(membership, carrying)].filter((principal) => principal < roles);
}

function newMember(
  ground: Ground,
  { membership, role }: { readonly membership: Membership; readonly role: number },
  { identity, missing }: Newcomer,
): PolicyEdit {
  const { policy } = ground;
  const given = [...withRolesAbove(membership, [role])];
  const name = policy.tables.roles.name[role] ?? '';
  const text = formatIdentity(identity);
  return addition(
    `add ${text} to role \`${name}\``,
    { kind: 'member', role: name, identity: text, ...missing },
    openedByPrincipals(ground, { own: principalsOf(policy, identity), given }),
  );
}
