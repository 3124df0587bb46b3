// The grants that several accesses of one actor rely on together. However many there are, the time that this takes is
// bounded: only the first ones have references, and a grant that many of the accesses rely on is met once.
import type { Access, CreateNamespace } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import { addGrantsBeyond, type FirstGrants, firstRefs } from '../table/cite.js';
import { ASKED, judgeRequest } from './judge-request.js';
import { UNRESTRICTED } from './policy.js';
import { askerOf, type ResolvedActor } from './resolve-actor.js';
import { beginTurn, endTurn } from './turn.js';

export interface CiteInput {
  readonly accesses: readonly (Access | CreateNamespace)[];
  readonly at: Instant;
  /** How many grants are cited. The others are counted. */
  readonly most: number;
  /**
   * Ends the search: each principal of the actor takes one for each access, and each grant takes one. What is left then is
   * neither cited nor counted.
   */
  readonly steps: number;
}

/** In the order of ids, each once. An access that is not allowed has none. */
export function citeAs(actor: ResolvedActor, { accesses, at, most, steps }: CiteInput): FirstGrants {
  const turn = beginTurn();
  const asker = askerOf(actor);
  const { ground, runs, count } = asker;
  const rows: number[] = [];
  let left = steps;
  let last = { scopes: 0, word: 0, place: -1 };
  for (const access of accesses) {
    if (left <= 0) break;
    if (judgeRequest(asker, access, at) !== 'allow' || ground === UNRESTRICTED) continue;
    const { scopes, word, place } = ASKED;
    const before = scopes === last.scopes && word === last.word ? last.place : -1;
    for (let i = 0; i < count && left > 0; i += 1) {
      const found = rows.length;
      addGrantsBeyond(ground, runs[i] ?? 0, { wanted: ASKED, rows, before, most: found + left });
      left -= 1 + rows.length - found;
    }
    last = { scopes, word, place };
  }
  return endTurn(turn, ground === UNRESTRICTED ? NOTHING : firstRefs(ground, rows, most));
}

const NOTHING: FirstGrants = Object.freeze({ grants: Object.freeze([]), omitted: 0 });
