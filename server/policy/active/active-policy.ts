// The policy in force: one reference that is replaced as a whole. A request takes it once and keeps it, so a request in
// progress never sees two policies. This file knows neither where policies come from nor who may change them.
import { castDraft, freeze, produce } from 'immer';
import { type Instant, instantOf, type Policy, type PublicationStatement } from '../../../engine/index.js';
import { elapsedBetween, type Moment, momentNow } from '../../lib/moment.js';
import type { Clock, Logger } from '../../lib/ports.js';
import type { PolicyFault } from '../policy-fault.js';

/** Where a policy came from. `store`: others activated it. `memory`: this process made it. */
export type PolicySource =
  | { readonly kind: 'folder' | 'file' | 'directory'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'git'; readonly repository: string; readonly ref: string; readonly commit: string }
  | { readonly kind: 'stdin' | 'memory' | 'store' };

/** A verified policy that may become the active one. */
export interface Candidate {
  readonly policy: Policy;
  /** Defaults to `memory`. */
  readonly source?: PolicySource;
  /** The signed statement under which it was accepted. Defaults to none. */
  readonly statement?: PublicationStatement;
  /** The keys that signed the statement, by their names in the keyring. Defaults to none. */
  readonly signers?: readonly string[];
  /** Who or what requested the activation. Defaults to null. */
  readonly askedBy?: string;
  /** Defaults to `verified`: a policy that this process compiled states what it computed. */
  readonly labels?: Labels;
}

/** Whether the digests that a snapshot states about its decisions were recomputed. No decision reads them. */
export type Labels = 'unverified' | 'verified' | 'false';

/** The policy that decides. Frozen: a request that pinned it keeps it while others become active. */
export interface Active {
  readonly policy: Policy;
  /** Counts activations. It rises by one with each, even if an earlier policy returns. */
  readonly generation: number;
  readonly source: PolicySource;
  readonly statement: PublicationStatement | null;
  readonly signers: readonly string[];
  readonly askedBy: string | null;
  /** Why it became active, for people. */
  readonly reason: string;
  readonly since: Instant;
  readonly labels: Labels;
}

/** What status shows. Plain, frozen data. */
export interface PolicyState {
  readonly active: Active;
  /** When the active policy came into force, or when its source last confirmed it. */
  readonly confirmedAt: Instant;
  /** The same on the monotonic clock, in milliseconds of this process. */
  readonly confirmedTick: number;
  /** Why the source's offer is not served; null otherwise. */
  readonly refusal: Refusal | null;
  /**
   * When the store must have said which activation is the newest, in milliseconds of this process. Null if it owes no
   * answer.
   */
  readonly leaseExpires: number | null;
  /**
   * When this process was last awake, and for how many milliseconds it counts as awake from then on: what it knew
   * before a pause may have been replaced. Null if nobody notices pauses.
   */
  readonly awake: { readonly at: Moment; readonly patience: number } | null;
  /** Why the newest activation is not in force here; null otherwise. */
  readonly lag: Refusal | null;
}

interface Refusal extends PolicyFault {
  readonly at: Instant;
}

export interface ActiveChange {
  readonly from: Active;
  readonly to: Active;
}

export type PolicyListener = (change: ActiveChange) => void;

export interface ActivePolicy {
  readonly current: () => Active;
  readonly state: () => PolicyState;
  /**
   * Requests that pin after this are decided by `next`. `reason` is for people, in status and log. `generation`
   * defaults to one more, and `age`, as in the options, to 0.
   */
  readonly activate: (next: Candidate, reason: string, generation?: number, age?: number) => Active;
  /** The source offers the active policy. */
  readonly confirm: () => void;
  /** The source offers something else that cannot be served. The active policy stays. */
  readonly refuse: (fault: PolicyFault) => void;
  /** The newest activation cannot be served, so the active policy stays. Null means it is served. */
  readonly fallBehind: (fault: PolicyFault | null) => void;
  /**
   * A query to the store for the newest activation has begun, and may take `patience` milliseconds. An answer that is
   * already due is not postponed.
   */
  readonly startLease: (patience: number) => void;
  /** The store has answered a question of this tick. An answer from before a pause says nothing about what came after. */
  readonly renewLease: (asked: number) => void;
  /**
   * Called at an interval, which shows that the process is awake. If it was not for more than `patience` milliseconds,
   * the store must answer again first.
   */
  readonly beat: (patience: number) => void;
  /** The result of checking the labels of this generation. A late result for an earlier generation is dropped. */
  readonly noteLabels: (generation: number, labels: Labels) => void;
  /** Calls `listener` after each activation, in order. Returns a way to end that. */
  readonly subscribe: (listener: PolicyListener) => () => void;
}

export interface ActivePolicyOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** The generation of the first policy. Defaults to 1. */
  readonly generation?: number;
  /** How many milliseconds ago the source confirmed the first policy. Defaults to 0. */
  readonly age?: number;
  readonly moments?: () => Moment;
}

export function makeActivePolicy(first: Candidate, options: ActivePolicyOptions): ActivePolicy {
  const { clock, log, generation: begun = 1, age = 0, moments = momentNow } = options;
  const listeners = new Set<PolicyListener>();
  let state = stateOf(activeOf(first, { generation: begun, reason: 'start', since: clock.now() }), age);
  let wokenAt = -Infinity;
  const noticePause = (): void => {
    const now = moments();
    const { awake } = state;
    if (awake === null || !wasPaused(state, now)) return;
    wokenAt = now.tick;
    state = { ...state, leaseExpires: -Infinity, awake: { ...awake, at: now } };
  };
  return {
    current: () => state.active,
    state: () => state,
    activate: (next, reason, generation = state.active.generation + 1, age = 0) => {
      const from = state.active;
      const to = activeOf(next, { generation, reason, since: clock.now() });
      const { leaseExpires, awake } = state;
      state = { ...stateOf(to, age), leaseExpires, awake };
      tell(listeners, { from, to }, log);
      return state.active;
    },
    confirm: () => {
      state = produce(state, (draft) => {
        draft.confirmedAt = clock.now();
        draft.confirmedTick = performance.now();
        draft.refusal = null;
      });
    },
    refuse: (fault) => {
      state = produce(state, (draft) => {
        draft.refusal = castDraft({ ...fault, at: clock.now() });
      });
    },
    fallBehind: (fault) => {
      if (fault === null && state.lag === null) return;
      state = produce(state, (draft) => {
        draft.lag = fault === null ? null : castDraft({ ...fault, at: clock.now() });
      });
    },
    startLease: (patience) => {
      if (state.leaseExpires === null) state = { ...state, leaseExpires: moments().tick + patience };
    },
    renewLease: (asked) => {
      noticePause();
      if (state.leaseExpires !== null && asked >= wokenAt) state = { ...state, leaseExpires: null };
    },
    beat: (patience) => {
      noticePause();
      state = { ...state, awake: { at: moments(), patience } };
    },
    noteLabels: (generation, labels) => {
      state = produce(state, (draft) => {
        if (draft.active.generation === generation) draft.active.labels = labels;
      });
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

/** A separate function, so that no closure holds the first policy longer than it is in force. */
function stateOf(active: Active, age = 0): PolicyState {
  const confirmed = { confirmedAt: instantOf(active.since - age), confirmedTick: performance.now() - age };
  return { active, ...confirmed, refusal: null, leaseExpires: null, awake: null, lag: null };
}

/** Whether this process, or its machine, was not running for longer than it may. */
export function wasPaused({ awake }: PolicyState, now: Moment): boolean {
  return awake !== null && elapsedBetween(awake.at, now) > awake.patience;
}

/** The policy already decides. A listener that fails undoes nothing, and the others are still called. */
function tell(listeners: ReadonlySet<PolicyListener>, change: ActiveChange, log: Logger): void {
  for (const listener of [...listeners]) {
    try {
      listener(change);
    } catch (error) {
      log.error({ generation: change.to.generation, error }, 'a listener to policy changes failed');
    }
  }
}

function activeOf(candidate: Candidate, when: Pick<Active, 'generation' | 'reason' | 'since'>): Active {
  const { policy, source = { kind: 'memory' }, statement = null, labels = 'verified' } = candidate;
  const { signers = [], askedBy = null } = candidate;
  return freeze({ policy, source, statement, signers, askedBy, labels, ...when }, true);
}
