// What the decisions of an audit log needed of a policy, and what of the log could not be judged. Each decision counts as this policy
// makes it, whichever policy made it then.
import type { Needs, Rights } from '../../engine/compiler.js';
import { knownGrants, makeNeeds } from '../../engine/compiler.js';
import { InvariantError, type Instant, parseInstant, type Policy, visibilityAs } from '../../engine/index.js';
import type { StoredEvent } from '../audit/event-schema.js';
import { type LoggedDecision, makeResolver, type Replayed } from '../audit/replay.js';
import { readSnapshot } from '../audit/snapshots.js';

export interface PastUses {
  readonly needs: Needs;
  /** `replayed`: by this policy, as the one that the decisions are compared with. */
  readonly add: (event: StoredEvent, replayed: Replayed) => void;
}

export function makePastUses(policy: Policy, rights: Rights): PastUses {
  const needs = makeNeeds(rights);
  const resolve = makeResolver(policy);
  return {
    needs,
    add: (event, { against }) => {
      const { access, actor, subject, time } = event;
      const [at, resolved] = [parseInstant(time), resolve(event)];
      if (against?.decision !== 'allow' || access === null || at === null || resolved === null) return;
      // It may do everything, by no right of the policy.
      if (actor.kind === 'local' && subject === undefined) return;
      const { identities } = { ...actor, ...subject };
      if ('source' in access) {
        const { source, destination, family } = access;
        needs.addAccess(identities, { scope: `${family}:read`, namespace: source, at });
        needs.addAccess(identities, { scope: `${family}:write`, namespace: destination, at });
        return;
      }
      const { scope, target, context, family, reach } = access;
      if (reach === undefined) {
        needs.addAccess(identities, { scope, namespace: target, at });
        return;
      }
      const action = scope.slice(family.length + 1);
      const visible = visibilityAs(resolved, { request: { family, action, context, reach }, at });
      if (visible.kind === 'none') throw new InvariantError('a query that is allowed sees something');
      needs.addVisible(identities, { scope, context, reach, visible, at });
    },
  };
}

/** Whether nobody could notice that the other policy decided. */
export function isSame(one: LoggedDecision | null | undefined, other: LoggedDecision | null | undefined): boolean {
  return one?.decision === other?.decision && one?.visibility === other?.visibility;
}

/** What was read, and how much of it says nothing about use. */
export interface UseTally {
  readonly add: (event: StoredEvent, replayed: Replayed) => void;
  readonly counts: UseCounts;
}

export interface UseCounts {
  /** Decisions that were made again. */
  readonly decisions: number;
  /** Of these, those that this policy allows. */
  readonly allowed: number;
  /** Of these, those that this policy decides otherwise than was recorded. */
  readonly flips: { readonly denied: number; readonly allowed: number; readonly otherSet: number };
  /** Decisions that no gateway writes so, or that nobody can make again. */
  readonly unreadable: number;
  /** Decisions in local mode, where everything is allowed without a policy. */
  readonly local: number;
  /** Answers about who holds what, which need no right. */
  readonly told: number;
  /** Events that were lost because the log could not be written. */
  readonly lost: number;
  /** Logs that were found missing. */
  readonly missing: number;
  /** Instants of the first and the last decision. */
  readonly first: Instant | null;
  readonly last: Instant | null;
  /** Decisions by the digest of the snapshot that made them. */
  readonly snapshots: ReadonlyMap<string, { readonly count: number; readonly first: Instant }>;
}

export function makeUseTally(): UseTally {
  const flips = { denied: 0, allowed: 0, otherSet: 0 };
  const snapshots = new Map<string, { count: number; first: Instant }>();
  const counts: { -readonly [C in keyof UseCounts]: UseCounts[C] } = {
    ...{ decisions: 0, allowed: 0, flips, unreadable: 0, local: 0, told: 0, lost: 0, missing: 0 },
    ...{ first: null, last: null, snapshots },
  };
  return {
    counts,
    add: ({ operation, items = 0, lost = [], actor, snapshot, time, kind, outcome }, { recorded, against }) => {
      if (operation === 'audit.lost') counts.lost += items;
      if (operation === 'audit.missing') counts.missing += lost.length;
      if (recorded === null) {
        if (kind === 'query' && outcome === 'allowed') counts.told += 1;
        return;
      }
      const at = parseInstant(time);
      if (actor.kind === 'local') counts.local += 1;
      else if (at === null || against === undefined || against === null) counts.unreadable += 1;
      else {
        counts.decisions += 1;
        if (against.decision === 'allow') counts.allowed += 1;
        if (recorded.decision !== against.decision) flips[against.decision === 'allow' ? 'allowed' : 'denied'] += 1;
        else if (recorded.visibility !== against.visibility) flips.otherSet += 1;
        counts.first = counts.first === null || at < counts.first ? at : counts.first;
        counts.last = counts.last === null || at > counts.last ? at : counts.last;
        const known = snapshots.get(snapshot ?? '') ?? { count: 0, first: at };
        snapshots.set(snapshot ?? '', { count: known.count + 1, first: at < known.first ? at : known.first });
      }
    },
  };
}

/** Since when the log has decisions of policies with each grant; and what the snapshots beside it are. */
export interface PastPolicies {
  /** By the id of the grant. */
  readonly since: ReadonlyMap<string, Instant>;
  /** Decisions by the names of policies, sorted. */
  readonly names: readonly (readonly [name: string, decisions: number])[];
  /** Decisions of snapshots that are missing or damaged. */
  readonly unknown: number;
}

export async function readPastPolicies(folder: string, snapshots: UseCounts['snapshots']): Promise<PastPolicies> {
  const since = new Map<string, Instant>();
  const names = new Map<string, number>();
  let unknown = 0;
  for (const [digest, { count, first }] of snapshots) {
    const read = await readSnapshot(folder, digest);
    if (read.kind !== 'read') {
      unknown += count;
      continue;
    }
    names.set(read.policy.name, (names.get(read.policy.name) ?? 0) + count);
    for (const id of knownGrants(read.policy)) {
      const known = since.get(id);
      if (known === undefined || first < known) since.set(id, first);
    }
  }
  return { since, names: [...names].sort(([a], [b]) => (a < b ? -1 : 1)), unknown };
}
