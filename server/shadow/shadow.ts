// A candidate beside the policy in force: exactly which cells differ, and how the two answer the incoming requests. It
// lasts as long as the gateway, or until somebody ends it or puts it in force. When another policy comes into force,
// both comparisons start again.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Instant, Policy } from '../../engine/index.js';
import type { ActorResolver } from '../auth/resolved-actors.js';
import { storeFailure } from '../db/failures.js';
import { SHADOW_LIMITS } from '../limits/policy.js';
import type { Active, ActivePolicy, Labels } from '../policy/active/active-policy.js';
import { openStored } from '../policy/open/open-stored.js';
import type { ComparedSnapshot } from '../policy/open/compare-snapshots.js';
import type { Difference } from '../policy/open/compare-snapshots.js';
import { oneLine, type PolicyFault, PolicyRefused, refusal, snapshotRefused } from '../policy/policy-fault.js';
import { compareInThread, type TableFinder } from '../policy/open/snapshot-thread.js';
import type { Snapshots } from '../policy/store/stored-snapshots.js';
import type { PublicationRule } from '../policy/open/verify-offer.js';
import type { Clock, Logger } from '../lib/ports.js';
import {
  type Counts,
  type Example,
  type Findings,
  type LiveComparison,
  makeLiveComparison,
  makeTally,
} from './live-comparison.js';

export interface ShadowState {
  readonly policy: Pick<Policy, 'name' | 'digest' | 'decisions'>;
  readonly since: Instant;
  /** Who asked for it. */
  readonly askedBy: string;
  /** The policy that it is compared with. */
  readonly against: Pick<Active, 'generation'> & { readonly snapshot: string };
  /** Null while it is being computed, and if it cannot be computed. */
  readonly difference: Difference | null;
  /** Why it cannot be computed. */
  readonly fault: PolicyFault | null;
  readonly counts: Counts;
  readonly examples: readonly Example[];
}

/** What workers follow. */
export interface ToFollow {
  readonly era: string;
  readonly snapshot: string;
}

export interface BeginOptions {
  readonly askedBy: string;
  /** Runs once the candidate is known to be usable, and before it begins. If this rejects, nothing has changed. */
  readonly before: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface Shadow extends Pick<LiveComparison, 'note' | 'take'> {
  /** Begins a candidate in place of any other. Throws `PolicyRefused`; rejects if the store fails. */
  readonly begin: (snapshot: string, options: BeginOptions) => Promise<ShadowState>;
  readonly end: () => void;
  /** Null if there is no candidate. */
  readonly state: () => ShadowState | null;
  /** The counts of all candidates since the process started. */
  readonly totals: () => Counts;
  readonly toFollow: () => ToFollow | null;
  /** Calls `listener` whenever a different candidate is to be followed, or none. */
  readonly subscribe: (listener: (toFollow: ToFollow | null) => void) => void;
  /** Adds what another process has found. */
  readonly add: (findings: Findings) => void;
  /** Follows what another process has begun. */
  readonly join: (toFollow: ToFollow | null) => Promise<void>;
  readonly close: () => void;
}

export interface ShadowOptions {
  readonly policies: ActivePolicy;
  readonly snapshots: Pick<Snapshots, 'find' | 'read' | 'noteLabels'>;
  readonly tables: TableFinder | null;
  readonly rule: PublicationRule | null;
  readonly resolveActor: ActorResolver;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Candidate extends Pick<ShadowState, 'since' | 'askedBy'> {
  readonly era: string;
  readonly policy: Policy;
  readonly labels: Labels;
  against: ShadowState['against'];
  difference: Difference | null;
  fault: PolicyFault | null;
}

interface Patience {
  readonly isWanted: () => boolean;
  /** Told of the first failure. */
  readonly onFailure: (error: unknown) => void;
}

export function makeShadow(options: ShadowOptions): Shadow {
  const { policies, snapshots, tables, rule, clock, log } = options;
  const live = makeLiveComparison(options);
  const listeners = new Set<(toFollow: ToFollow | null) => void>();
  const stopped = new AbortController();
  const totals = makeTally();
  let candidate: Candidate | null = null;
  let found = makeTally();
  let joined: { readonly era: string; readonly policy: Policy | null } | null = null;

  const open = async (snapshot: string, signal: AbortSignal): Promise<Pick<Candidate, 'policy' | 'labels'>> => {
    const inForce = policies.current().policy;
    const opened = await openStored(snapshot, { snapshots, rule, clock, envelope: null, inForce, tables, signal });
    if (opened.labels === 'false') throw refusal('snapshot.label', 'it carries a false label');
    return opened;
  };
  /** Repeats an attempt that the store failed, for as long as its result is wanted. */
  const untilAnswered = async <T>(attempt: () => Promise<T>, { isWanted, onFailure }: Patience): Promise<T> => {
    for (let times = 0; ; times += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (storeFailure(error) === null || !isWanted()) throw error;
        if (times === 0) onFailure(error);
      }
      const pause = Math.min(SHADOW_LIMITS.pause * 2 ** times, SHADOW_LIMITS.longestPause);
      await sleep(pause, undefined, { signal: stopped.signal, ref: false });
    }
  };
  const noteLabels = async (snapshot: string, labels: Labels): Promise<void> => {
    await snapshots.noteLabels(snapshot, labels).catch((error: unknown) => {
      log.warn({ snapshot, error }, 'the labels of a snapshot could not be recorded in the store');
    });
  };
  const sideOf = async (digest: string, labels: Labels): Promise<ComparedSnapshot> => {
    const stored = await snapshots.find(digest);
    const parts = stored === null ? null : await snapshots.read(stored);
    if (parts === null) throw refusal('snapshot.not_found', `the store does not have the bytes of ${digest} intact`);
    return { parts, digest, isVerified: labels === 'verified' };
  };
  const differ = async (
    live: Active,
    changed: Pick<Candidate, 'policy' | 'labels'>,
    signal: AbortSignal,
  ): Promise<Difference> => {
    const old = await sideOf(live.policy.digest, live.labels);
    const next = await sideOf(changed.policy.digest, changed.labels);
    const compared = await compareInThread({ old, changed: next }, signal);
    if (compared.kind === 'compared') return compared.difference;
    await noteLabels(compared.digest, 'false');
    throw snapshotRefused(compared.fault, compared.digest);
  };
  const differAgain = async (one: Candidate, active: Active): Promise<void> => {
    const isWanted = (): boolean =>
      !stopped.signal.aborted && candidate === one && one.against.snapshot === active.policy.digest;
    const onFailure = (error: unknown): void => {
      log.warn({ error }, 'a candidate cannot be compared with the policy in force yet');
    };
    try {
      const compare = (): Promise<Difference> => differ(active, one, stopped.signal);
      const difference = await untilAnswered(compare, { isWanted, onFailure });
      if (isWanted()) one.difference = difference;
    } catch (error) {
      if (!isWanted()) return;
      if (error instanceof PolicyRefused) {
        one.fault = error.fault;
        return;
      }
      one.fault = oneLine('shadow.difference', 'what differs could not be worked out: begin the shadow again');
      log.error({ error }, 'a candidate could not be compared with the policy in force');
    }
  };
  const follow = (): void => {
    const { digest: against } = policies.current().policy;
    if (joined !== null) live.follow({ ...joined, against });
    else live.follow(candidate === null ? null : { era: candidate.era, policy: candidate.policy, against });
  };
  const install = (next: Candidate | null): void => {
    collect();
    candidate = next;
    found = makeTally();
    follow();
    const toFollow = next === null ? null : { era: next.era, snapshot: next.policy.digest };
    for (const listener of listeners) listener(toFollow);
  };
  const add = ({ era, against, counts, examples }: Findings): void => {
    for (const what of ['compared', 'gained', 'lost', 'both', 'skipped'] as const) totals.count(what, counts[what]);
    // These findings are about another candidate, or from before another policy came into force.
    if (candidate?.era !== era || candidate.against.snapshot !== against) return;
    for (const what of ['compared', 'gained', 'lost', 'both', 'skipped'] as const) found.count(what, counts[what]);
    for (const example of examples) found.keep(example);
  };
  const collect = (): void => {
    // If this process follows another one, that process takes the findings.
    if (joined !== null) return;
    const findings = live.take();
    if (findings !== null) add(findings);
  };
  const unsubscribe = policies.subscribe(({ from, to }) => {
    if (from.policy.digest === to.policy.digest) {
      if (candidate !== null) candidate.against = againstOf(to);
      return;
    }
    collect();
    follow();
    if (candidate === null) return;
    const { policy } = candidate;
    if (policy.digest === to.policy.digest) {
      log.info({ snapshot: policy.digest }, 'the shadow ends: its candidate is in force');
      install(null);
      return;
    }
    candidate.against = againstOf(to);
    candidate.difference = null;
    candidate.fault = null;
    found = makeTally();
    void differAgain(candidate, to);
  });
  return {
    note: live.note,
    take: live.take,
    begin: async (snapshot, { askedBy, before, signal }) => {
      const opened = await open(snapshot, signal);
      const active = policies.current();
      const difference = await differ(active, opened, signal);
      await before();
      const { policy, labels } = opened;
      const next: Candidate = {
        era: randomUUID(),
        policy,
        labels,
        askedBy,
        since: clock.now(),
        against: againstOf(active),
        difference,
        fault: null,
      };
      const now = policies.current();
      if (now.policy.digest !== active.policy.digest) {
        next.against = againstOf(now);
        next.difference = null;
        void differAgain(next, now);
      }
      install(next);
      log.info({ snapshot: policy.digest, cells: difference.cells, askedBy }, 'a shadow begins');
      // The comparison computed the labels, so they are known to be true.
      if (labels === 'unverified') await noteLabels(policy.digest, 'verified');
      return stateOf(next, found);
    },
    end: () => {
      if (candidate !== null) log.info({ snapshot: candidate.policy.digest }, 'the shadow ends');
      install(null);
    },
    state: () => {
      collect();
      return candidate === null ? null : stateOf(candidate, found);
    },
    totals: () => {
      collect();
      return totals.counts;
    },
    toFollow: () => (candidate === null ? null : { era: candidate.era, snapshot: candidate.policy.digest }),
    subscribe: (listener) => {
      listeners.add(listener);
    },
    add,
    join: async (toFollow) => {
      const mine = toFollow === null ? null : { era: toFollow.era, policy: null };
      joined = mine;
      follow();
      if (toFollow === null) return;
      const { era, snapshot } = toFollow;
      const isWanted = (): boolean => !stopped.signal.aborted && joined === mine;
      const onFailure = (error: unknown): void => {
        log.error({ snapshot, error }, 'the candidate of the shadow could not be opened');
      };
      const attempt = (): ReturnType<typeof open> => open(snapshot, stopped.signal);
      const opened = await untilAnswered(attempt, { isWanted, onFailure }).catch((error: unknown) => {
        if (!isWanted()) return null;
        if (!(error instanceof PolicyRefused)) onFailure(error);
        else log.error({ snapshot, ...error.fault }, 'the candidate of the shadow cannot be used by this process');
        return null;
      });
      if (opened === null || !isWanted()) return;
      joined = { era, policy: opened.policy };
      follow();
    },
    close: () => {
      unsubscribe();
      stopped.abort();
      live.close();
    },
  };
}

function againstOf({ policy, generation }: Active): ShadowState['against'] {
  return { snapshot: policy.digest, generation };
}

function stateOf(
  { policy, since, askedBy, against, difference, fault }: Candidate,
  { counts, examples }: Pick<ReturnType<typeof makeTally>, 'counts' | 'examples'>,
): ShadowState {
  return { policy, since, askedBy, against, difference, fault, counts, examples: examples() };
}
