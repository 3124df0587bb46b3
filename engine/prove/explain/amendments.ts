// Grants that the actor has, directly or through roles, and that would allow a denied access if they were changed. Each lacks a
// scope, a time or inheritance. The edit adds exactly what is missing, so it has no unnecessary parts.
import type { GrantRef } from '../../model/decision.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import type { ScopeName } from '../../model/scope.js';
import { hasScope, scopeBit, scopeNames, unionScopes } from '../../model/scope-set.js';
import { type Vocabulary } from '../../model/vocabulary.js';
import { grantRefs } from '../cells/held-grants.js';
import { grantsOf, type Holding, holdingOf } from '../cells/holdings.js';
import { endOf, pathAt } from '../cells/nodes.js';
import { openOr } from '../cells/regions.js';
import { type AskedGround, openedByGrant } from './count-opened.js';
import type { PolicyTables } from '../../model/tables.js';
import { scopesText } from './removals.js';

/** A change of one grant. The kind is `amend` if the grant lacks more than one of the three. */
export interface GrantAmendment {
  readonly kind: 'scope' | 'window' | 'inherit' | 'amend';
  readonly grant: GrantRef;
  /** The scope to add. `scopes` are all scopes of the changed grant, since naming any replaces those that it has from its role. */
  readonly scope?: ScopeName;
  readonly scopes?: readonly ScopeName[];
  /** Both are present or neither. Null means open. */
  readonly notBefore?: Instant | null;
  readonly expires?: Instant | null;
  readonly inherit?: true;
}

export interface Amended {
  /** For people, one line. */
  readonly text: string;
  readonly change: GrantAmendment;
  /** The number of cells that all holders of the grant gain together, including the requested one. */
  readonly gained: bigint;
}

export interface Lacking {
  /** Rows of the actor's principals. */
  readonly principals: ReadonlySet<number>;
  readonly scope: ScopeName;
  readonly at: Instant;
}

/** In the order of grants. None of the actor's grants may carry the scope there and then. */
export function amendments(ground: AskedGround, { principals, scope, at }: Lacking): readonly Amended[] {
  const grants = [...principals].flatMap((principal) => [...grantsOf(ground.policy, principal)]);
  return (
    grants
      .sort((a, b) => a - b)
      // What an edit of these would open, the windows of members bound as well.
      .filter((grant) => !isNarrowed(ground.policy.tables, grant))
      .map((grant) => holdingOf(ground, grant))
      .filter((holding) => isAtOrAbove(ground, holding))
      .map((holding) => amended(ground, holding, { scope, at }))
  );
}

/** Whether a grant is held by a member with a window, or this row is what such a member holds. */
function isNarrowed({ narrowed }: PolicyTables, grant: number): boolean {
  return narrowed?.edges.has(grant) === true || narrowed?.edges.has(grant + 1) === true;
}

function isAtOrAbove({ nodes, near }: AskedGround, { row }: Holding): boolean {
  return row <= near && near < endOf(nodes, row);
}

/** Whether a grant at or above the target counts there. */
export function countsThere({ near, isNode }: AskedGround, { row, inherit }: Holding): boolean {
  return inherit || (row === near && isNode);
}

function amended(ground: AskedGround, holding: Holding, { scope, at }: { scope: ScopeName; at: Instant }): Amended {
  const [grant = { id: '' }] = grantRefs(ground.policy.tables, [holding.grant]);
  const parts: Part[] = [];
  let wanted = holding;
  if (!hasScope(holding.scopes, scope)) {
    wanted = { ...wanted, scopes: unionScopes(holding.scopes, scopeBit(scope)) };
    parts.push(scopePart(scope, scopeNames(wanted.scopes), ground.policy.tables.vocabulary));
  }
  if (at < holding.from || holding.until <= at) {
    wanted = widened(ground, wanted, at);
    parts.push(windowPart(wanted));
  }
  if (!countsThere(ground, holding)) {
    wanted = { ...wanted, inherit: true };
    const text = `count below ${pathAt(ground.nodes, holding.row)} too (\`inherit: true\`)`;
    parts.push({ kind: 'inherit', text, fields: { inherit: true } });
  }
  const [only, ...more] = parts;
  const kind = only === undefined || more.length > 0 ? 'amend' : only.kind;
  return {
    text: `let grant \`${grant.id}\` ${parts.map(({ text }) => text).join(' and ')}`,
    change: parts.reduce<GrantAmendment>((change, { fields }) => ({ ...change, ...fields }), { kind, grant }),
    gained: openedByGrant(ground, wanted),
  };
}

interface Part {
  readonly kind: GrantAmendment['kind'];
  readonly text: string;
  readonly fields: Omit<GrantAmendment, 'kind' | 'grant'>;
}

function scopePart(scope: ScopeName, scopes: readonly ScopeName[], vocabulary: Vocabulary): Part {
  const text = `carry ${scope} too (\`scopes: ${scopesText(scopes, vocabulary)}\`)`;
  return { kind: 'scope', text, fields: { scope, scopes } };
}

function windowPart({ from, until }: Holding): Part {
  const [notBefore, expires] = [openOr(from), openOr(until)];
  return { kind: 'window', text: `be in force ${windowText(notBefore, expires)}`, fields: { notBefore, expires } };
}

/**
 * The smallest window that contains both the present one and the interval around `at`. It begins and ends at instants that the policy
 * already has.
 */
function widened({ instants }: AskedGround, holding: Holding, at: Instant): Holding {
  const after = instants.find((instant) => instant > at) ?? Infinity;
  const before = instants.findLast((instant) => instant <= at) ?? -Infinity;
  return { ...holding, from: Math.min(holding.from, before), until: Math.max(holding.until, after) };
}

function windowText(notBefore: Instant | null, expires: Instant | null): string {
  if (notBefore === null && expires === null) return 'at all times';
  const from = notBefore === null ? '' : `from ${formatInstant(notBefore)}`;
  return `${from} ${expires === null ? '' : `until ${formatInstant(expires)}`}`.trim();
}
