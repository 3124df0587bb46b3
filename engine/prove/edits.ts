// What would allow a denied access: every single edit of the policy that gives one of the actor's identities the scope, each
// with how much else it opens, and what the credential would need (design 5, `explain`; interfaces.md).
import { grantRefs } from '../evaluate/find-grants.js';
import type { PreparedPolicy } from '../evaluate/prepare.js';
import type { GrantRef } from '../model/decision.js';
import { formatIdentity, type Identity } from '../model/identity.js';
import { formatInstant, type Instant } from '../model/instant.js';
import type { NamespacePath } from '../model/namespace.js';
import { compareTexts } from '../model/order.js';
import { scopeBit, type ScopeName, SCOPES } from '../model/scope.js';
import { outermost } from './affected.js';
import { type CellSpace, countCells, countIntervals, instantsOf } from './cells.js';
import { makeFold } from './fold.js';
import { groupsNear, makeReach } from './holders-near.js';
import {
  grantsOf,
  type Holding,
  holdingOf,
  holdingsNear,
  makeRights,
  namedPaths,
  type Rights,
  type Rows,
  subtreeRows,
} from './holdings.js';
import { makeMembership, type Membership, withMembersBelow, withRolesAbove } from './membership.js';
import { endOf, makeNodes, nearestRow, rowsAbove } from './nodes.js';
import { combine, during, NOTHING, piecesOf } from './timeline.js';
import { principalsOf } from './what-can.js';
import { walkRights } from './walk.js';
import { openOr } from './witness.js';

/** What the credential would need besides. */
export interface CredentialChange {
  /** Scopes to add. */
  readonly credentialScopes?: readonly ScopeName[];
  /** Restrictions to add. */
  readonly namespaceRestrictions?: readonly NamespacePath[];
}

/** An edit of the policy; `credential` where it alone is not enough. */
export type PolicyChange = { readonly credential?: CredentialChange } & (
  | {
      readonly kind: 'grant';
      readonly identity: string;
      readonly namespace: NamespacePath;
      readonly scopes: readonly ScopeName[];
      readonly inherit: false;
    }
  | { readonly kind: 'scope'; readonly grant: GrantRef; readonly scope: ScopeName }
  | { readonly kind: 'member'; readonly role: string; readonly identity: string }
  | {
      readonly kind: 'window';
      readonly grant: GrantRef;
      readonly notBefore: Instant | null;
      readonly expires: Instant | null;
    }
);

export type Change = PolicyChange | ({ readonly kind: 'credential' } & CredentialChange);

export interface Edit {
  /** For people, one line. */
  readonly text: string;
  readonly change: Change;
  /** What `diff` would call gained, less the cell asked for; nothing for a credential. */
  readonly opens: { readonly cells: bigint };
}

export interface Wish {
  readonly identities: readonly Identity[];
  readonly scope: ScopeName;
  readonly target: NamespacePath;
  readonly at: Instant;
}

interface Bench extends Wish {
  readonly policy: PreparedPolicy;
  readonly rights: Rights;
  readonly space: CellSpace;
  readonly membership: Membership;
  readonly bit: number;
  /** The node that the target is, or is below. */
  readonly near: number;
  readonly isNode: boolean;
}

/** Ordered by how much else they open. The actor must hold no grant that carries the scope there and then. */
export function policyEdits(policy: PreparedPolicy, wish: Wish): readonly (Edit & { readonly change: PolicyChange })[] {
  const nodes = makeNodes(namedPaths(policy));
  const bench: Bench = {
    ...wish,
    policy,
    rights: makeRights(policy, nodes),
    space: { nodes, instants: instantsOf([policy.tables]) },
    membership: makeMembership(policy.tables),
    bit: scopeBit(wish.scope),
    near: nearestRow(nodes, wish.target),
    isNode: nodes.rowOf.has(wish.target),
  };
  return [...newGrants(bench), ...changedGrants(bench), ...memberships(bench)].sort((a, b) =>
    a.opens.cells < b.opens.cells ? -1 : a.opens.cells > b.opens.cells ? 1 : compareTexts(a.text, b.text),
  );
}

type PolicyEdit = Edit & { readonly change: PolicyChange };

/** One cell of these was asked for. */
function besides(cells: bigint): { readonly cells: bigint } {
  return { cells: cells - 1n };
}

/** For each identity a grant of this scope at this namespace alone. */
function newGrants({
  policy,
  rights,
  space,
  identities,
  scope,
  target,
  bit,
  near,
  isNode,
}: Bench): readonly PolicyEdit[] {
  return identities.map((identity) => {
    const rows = { from: near, until: near + 1 };
    let held = NOTHING;
    walkRights(
      { nodes: space.nodes, rows, sides: [holdingsNear(rights, principalsOf(policy, identity), rows)] },
      (_row, [at], [below]) => {
        held = (isNode ? at : below) ?? NOTHING;
      },
    );
    const gained = combine(during({ from: -Infinity, until: Infinity, value: bit }), held, (a, b) => a & ~b);
    const intervals = piecesOf(gained).reduce((count, piece) => count + countIntervals(space.instants, piece), 0);
    const text = formatIdentity(identity);
    return {
      text: `grant ${scope} at ${target} alone (\`inherit: false\`) to ${text}`,
      change: { kind: 'grant', identity: text, namespace: target, scopes: [scope], inherit: false },
      opens: besides(BigInt(intervals)),
    };
  });
}

/** Grants of the actor that cover the target: with the scope added, or with their window widened. */
function changedGrants(bench: Bench): readonly PolicyEdit[] {
  const { policy, rights, identities, scope, bit, at } = bench;
  const held = new Set(
    identities.flatMap((identity) =>
      [...principalsOf(policy, identity)].flatMap((principal) => [...grantsOf(rights, principal)]),
    ),
  );
  const edits: PolicyEdit[] = [];
  for (const grant of [...held].sort((a, b) => a - b)) {
    const holding = holdingOf(rights, grant);
    if (!covers(bench, holding)) continue;
    const [ref = { id: '' }] = grantRefs(policy.tables, [grant]);
    const inForce = holding.from <= at && at < holding.until;
    if (inForce) {
      const opens = besides(openedByGrant(bench, { ...holding, scopes: bit }));
      edits.push({ text: `add ${scope} to grant \`${ref.id}\``, change: { kind: 'scope', grant: ref, scope }, opens });
    } else if ((holding.scopes & bit) !== 0) {
      const wider = widened(bench, holding);
      const [notBefore, expires] = [openOr(wider.from), openOr(wider.until)];
      edits.push({
        text: `let grant \`${ref.id}\` be in force ${windowText(notBefore, expires)}`,
        change: { kind: 'window', grant: ref, notBefore, expires },
        opens: besides(openedByGrant(bench, wider)),
      });
    }
  }
  return edits;
}

function covers({ space: { nodes }, near, isNode }: Bench, { row, inherit }: Holding): boolean {
  if (row === near) return inherit || isNode;
  return inherit && row < near && near < endOf(nodes, row);
}

/** The least window with the one there is and the whole interval that was asked about: no new instant comes up. */
function widened({ space: { instants }, at }: Bench, holding: Holding): Holding {
  const after = instants.find((instant) => instant > at) ?? Infinity;
  const before = instants.findLast((instant) => instant <= at) ?? -Infinity;
  return { ...holding, from: Math.min(holding.from, before), until: Math.max(holding.until, after) };
}

function windowText(notBefore: Instant | null, expires: Instant | null): string {
  if (notBefore === null && expires === null) return 'at all times';
  const from = notBefore === null ? '' : `from ${formatInstant(notBefore)}`;
  return `${from} ${expires === null ? '' : `until ${formatInstant(expires)}`}`.trim();
}

/** Cells that everyone who holds a grant gains if it gives this. */
function openedByGrant({ policy, rights, space }: Bench, given: Holding): bigint {
  const { nodes } = space;
  const rows = given.inherit ? subtreeRows(nodes, given.row) : { from: given.row, until: given.row + 1 };
  const reached = new Set(makeReach(policy)(policy.tables.grants.principal[given.grant] ?? 0));
  const groups = groupsNear(policy, {
    principals: principalsNear(rights, rows),
    counts: (identity) => reached.has(identity),
  });
  return groups.reduce(
    (cells, group) =>
      cells +
      BigInt(group.identities.length) *
        openedIn(space, rows, { gives: [given], held: holdingsNear(rights, group.principals, rows) }),
    0n,
  );
}

/** 1 for the principals with a grant that counts at some of these rows. */
function principalsNear(rights: Rights, rows: Rows): Uint8Array {
  const { grants, roles, identities } = rights.policy.tables;
  const above = new Set(rowsAbove(rights.nodes, rows.from));
  const near = new Uint8Array(roles.name.length + identities.subject.length);
  rights.rowOfGrant.forEach((row, grant) => {
    if ((rows.from <= row && row < rows.until) || (above.has(row) && grants.inherit[grant] === 1))
      near[grants.principal[grant] ?? 0] = 1;
  });
  return near;
}

/** Cells of one identity that are given and were not held. */
function openedIn(
  space: CellSpace,
  rows: Rows,
  { gives, held }: { gives: readonly Holding[]; held: readonly Holding[] },
): bigint {
  const { nodes } = space;
  const fold = makeFold(
    nodes,
    SCOPES.map((_, bit) => 1 << bit),
  );
  const minus = (a: number, b: number): number => a & ~b;
  walkRights({ nodes, rows, sides: [gives, held] }, (row, [givenAt, heldAt], [givenBelow, heldBelow]) => {
    fold.visit(
      row,
      combine(givenAt ?? NOTHING, heldAt ?? NOTHING, minus),
      combine(givenBelow ?? NOTHING, heldBelow ?? NOTHING, minus),
    );
  });
  return fold.finish().reduce((cells, patch) => cells + countCells(space, patch), 0n);
}

/** Each role whose members hold the scope there: those of the grants that carry it, and those inside them. */
function memberships(bench: Bench): readonly PolicyEdit[] {
  const { policy, rights, space, membership, identities, bit, at } = bench;
  const { grants, roles } = policy.tables;
  const carrying = new Set<number>();
  rights.rowOfGrant.forEach((_, grant) => {
    const principal = grants.principal[grant] ?? 0;
    const holding = holdingOf(rights, grant);
    const carries =
      principal < roles.name.length && (holding.scopes & bit) !== 0 && holding.from <= at && at < holding.until;
    if (carries && covers(bench, holding)) carrying.add(principal);
  });
  const open = [...withMembersBelow(membership, carrying)].filter((principal) => principal < roles.name.length);
  return open.flatMap((role) =>
    identities.map((identity) => {
      const given = [...withRolesAbove(membership, [role])];
      const own = principalsOf(policy, identity);
      const changes = given.flatMap((principal) =>
        Array.from(grantsOf(rights, principal), (grant) => holdingOf(rights, grant)),
      );
      const cells = outermost(space.nodes, changes).reduce((sum, rows) => {
        const sides = { gives: holdingsNear(rights, given, rows), held: holdingsNear(rights, own, rows) };
        return sum + openedIn(space, rows, sides);
      }, 0n);
      const name = roles.name[role] ?? '';
      const text = formatIdentity(identity);
      return {
        text: `add ${text} to role \`${name}\``,
        change: { kind: 'member', role: name, identity: text },
        opens: besides(cells),
      };
    }),
  );
}
