// Grants without which everybody could do the same. Grants are looked at from the last to the first, and one that is found
// covers no other, so all that are found can be removed at once: whoever obeys every finding changes no decision.
import { groupDigits } from '../model/group-digits.js';
import type { PolicyGrant } from '../model/policy-set.js';
import { combine, during, isNothing, type Piece, unionOf } from '../prove/timeline.js';
import { isReachable, type LintWorld, withRoles } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

/** The rule reads well up to so many covering grants; a cover of more is not made smaller. */
const MAX_SPARED = 64;

/** Grants at one namespace by principal, in the order of the policy. */
type AtNode = Map<number, number[]>;

export function findRedundantGrants(world: LintWorld, context: LintContext): void {
  const { grants } = world.set;
  const atNode = new Map<number, AtNode>();
  grants.forEach((_, index) => {
    if (!isReachable(world, world.principals[index] ?? 0)) return;
    const node = world.nodes[index] ?? 0;
    let lists = atNode.get(node);
    if (lists === undefined) atNode.set(node, (lists = new Map<number, number[]>()));
    const principal = world.principals[index] ?? 0;
    const list = lists.get(principal);
    if (list === undefined) lists.set(principal, [index]);
    else list.push(index);
  });
  const search: Search = { world, atNode, gone: new Uint8Array(grants.length), pairs: context.maxPairs };
  for (let index = grants.length - 1; index >= 0; index -= 1) {
    const grant = grants[index];
    if (grant === undefined || !isReachable(world, world.principals[index] ?? 0)) continue;
    const cover = findCover(search, index, grant);
    if (search.pairs < 0) {
      context.onLimit(placed(grant.place));
      return;
    }
    if (cover === null) continue;
    search.gone[index] = 1;
    const names = cover.map((covering) => `\`${covering.id}\``);
    context.report({
      code: 'LINT_GRANT_REDUNDANT',
      place: placed(grant.place),
      message: `the grant \`${grant.id}\` adds nothing to ${names.length > 3 ? `${groupDigits(names.length)} other grants` : names.join(' and ')}`,
      help: 'remove it, or what makes it needless',
      related: cover.flatMap((covering) => relatedTo(covering.place, `\`${covering.id}\` covers it`)),
    });
  }
}

interface Search {
  readonly world: LintWorld;
  readonly atNode: ReadonlyMap<number, AtNode>;
  /** Found redundant already. */
  readonly gone: Uint8Array;
  pairs: number;
}

/** One grant that covers all of this one, else several that do together, else null. */
function findCover(search: Search, index: number, grant: PolicyGrant): readonly PolicyGrant[] | null {
  const { world, atNode, gone } = search;
  const principals = withRoles(world, world.principals[index] ?? 0);
  const among = new Set(principals);
  const own = world.nodes[index] ?? 0;
  const partly: PolicyGrant[] = [];
  let scopes = 0;
  for (let node = own; node >= 0; node = world.parents[node] ?? -1) {
    const lists = atNode.get(node);
    if (lists === undefined) continue;
    // Whichever are fewer: the principals that count, or those that have grants here.
    const near =
      principals.length <= lists.size ? principals : [...lists.keys()].filter((principal) => among.has(principal));
    search.pairs -= near.length;
    let whole = Infinity;
    for (const principal of near) {
      for (const other of lists.get(principal) ?? []) {
        const candidate = world.set.grants[other];
        search.pairs -= 1;
        if (search.pairs < 0) return null;
        if (other === index || gone[other] === 1 || candidate === undefined) continue;
        if (!candidate.inherit && (grant.inherit || node !== own)) continue;
        if ((candidate.scopes & grant.scopes) === 0 || !overlap(candidate, grant)) continue;
        if (isWhole(candidate, grant)) {
          whole = Math.min(whole, other);
          break;
        }
        partly.push(candidate);
        scopes |= candidate.scopes;
      }
    }
    const covering = world.set.grants[whole];
    if (covering !== undefined) return [covering];
  }
  if ((grant.scopes & ~scopes) !== 0 || !coversAll(partly, grant)) return null;
  return withoutSpared(partly, grant);
}

function isWhole(candidate: PolicyGrant, grant: PolicyGrant): boolean {
  return (
    (grant.scopes & ~candidate.scopes) === 0 &&
    (candidate.notBefore ?? -Infinity) <= (grant.notBefore ?? -Infinity) &&
    (candidate.expires ?? Infinity) >= (grant.expires ?? Infinity)
  );
}

function overlap(a: PolicyGrant, b: PolicyGrant): boolean {
  return (a.notBefore ?? -Infinity) < (b.expires ?? Infinity) && (b.notBefore ?? -Infinity) < (a.expires ?? Infinity);
}

function pieceOf({ scopes, notBefore, expires }: PolicyGrant): Piece {
  return { from: notBefore ?? -Infinity, until: expires ?? Infinity, value: scopes };
}

function coversAll(candidates: readonly PolicyGrant[], grant: PolicyGrant): boolean {
  return isNothing(combine(during(pieceOf(grant)), unionOf(candidates.map(pieceOf)), (a, b) => a & ~b));
}

/** None of what is left can be spared. */
function withoutSpared(cover: readonly PolicyGrant[], grant: PolicyGrant): readonly PolicyGrant[] {
  if (cover.length > MAX_SPARED) return cover;
  return cover.reduce((left, candidate) => {
    const others = left.filter((other) => other !== candidate);
    return coversAll(others, grant) ? others : left;
  }, cover);
}
