// Compares the answers to live requests with what the candidate would have said. A request only leaves its question
// here. It is answered again later, within a bounded share of the thread's time. Questions beyond that are skipped and
// counted. No answer waits for this, fails because of it, or is changed by it.
import { type Instant, type Policy } from '../../engine/index.js';
import type { DecidedQuestion, Judged } from '../audit/cite.js';
import type { AccessAsked, CopyAsked, Operation } from '../audit/event.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { ActorResolver } from '../auth/resolved-actors.js';
import { SHADOW_LIMITS } from '../limits/policy.js';
import type { Logger } from '../lib/ports.js';
import { type AccessChange, compare, type Divergence } from './compare.js';

/**
 * A question that the two policies answer differently: who asked what, and when last. It holds no record, no content
 * and no credential.
 */
export interface Example extends Divergence {
  readonly actor: Pick<RequestActor, 'id' | 'kind'> & { readonly fingerprint: string | null };
  readonly operation: Operation;
  readonly access: AccessAsked | CopyAsked;
  readonly at: Instant;
  /** How often it was asked. */
  readonly times: number;
}

export type Counts = Readonly<Record<AccessChange | 'compared' | 'skipped', number>>;

/** The findings since somebody last took them. */
export interface Findings {
  /** The era of the candidate. */
  readonly era: string;
  /** The digest of the policy in force with which it was compared. */
  readonly against: string;
  readonly counts: Counts;
  readonly examples: readonly Example[];
}

interface Followed {
  /** Identifies one candidate from its beginning to its end. Findings for any other era are dropped. */
  readonly era: string;
  /** Null while this process cannot judge by the candidate. Every question is skipped then. */
  readonly policy: Policy | null;
  /** The digest of the policy in force. Decisions of other policies are not compared. */
  readonly against: string;
}

/** The question of a request, and the policy that answered it. */
export interface Noted {
  readonly actor: RequestActor;
  readonly at: Instant;
  readonly judged: Judged;
  /** The digest of the pinned policy. */
  readonly snapshot: string;
}

export interface LiveComparison {
  /** Follows a candidate, or none if null. Forgets what was found so far. */
  readonly follow: (followed: Followed | null) => void;
  /** Only queues the question, which costs next to nothing. */
  readonly note: (noted: Noted) => void;
  /** Null if nothing was found. */
  readonly take: () => Findings | null;
  readonly close: () => void;
}

export interface LiveComparisonOptions {
  readonly resolveActor: ActorResolver;
  readonly log: Logger;
}

interface Waiting extends Noted {
  readonly asked: DecidedQuestion;
}

export function makeLiveComparison({ resolveActor, log }: LiveComparisonOptions): LiveComparison {
  let followed: Followed | null = null;
  let findings = makeTally();
  let waiting: Waiting[] = [];
  /** The index of the first waiting question. */
  let next = 0;
  let places = 0;
  let timer: NodeJS.Timeout | null = null;
  /** Until this time the thread is left to requests. */
  let restUntil = 0;

  const judge = ({ actor, at, judged, asked }: Waiting, candidate: Policy): void => {
    try {
      const divergence = compare(asked, resolveActor(candidate, actor), at);
      findings.count('compared');
      if (divergence === null) return;
      findings.count(divergence.change);
      const { id, kind, credentialFingerprint: fingerprint } = actor;
      const { operation } = judged;
      findings.keep({ ...divergence, actor: { id, kind, fingerprint }, operation, access: asked.access, at, times: 1 });
    } catch (error) {
      findings.count('skipped');
      log.error({ error }, 'a live request could not be compared with the candidate');
    }
  };
  const work = (): void => {
    timer = null;
    const candidate = followed?.policy ?? null;
    if (candidate === null) return;
    const began = performance.now();
    let spent = 0;
    while (next < waiting.length && spent < SHADOW_LIMITS.turn) {
      const one = waiting[next];
      next += 1;
      if (one !== undefined) {
        places -= placesOf(one.asked);
        judge(one, candidate);
      }
      spent = performance.now() - began;
    }
    restUntil = began + spent / SHADOW_LIMITS.share;
    waiting = waiting.slice(next);
    next = 0;
    if (waiting.length > 0) schedule();
  };
  const schedule = (): void => {
    timer ??= setTimeout(work, Math.max(1, restUntil - performance.now())).unref();
  };
  return {
    follow: (given) => {
      followed = given;
      findings = makeTally();
      waiting = [];
      next = 0;
      places = 0;
    },
    note: (noted) => {
      if (followed === null) return;
      const { asked } = noted.judged;
      // There is nothing to compare if the policy was not asked, or if the policy that was asked has been replaced
      // since.
      if (asked === null || (asked.snapshot ?? noted.snapshot) !== followed.against) return;
      const more = placesOf(asked);
      const isFull = waiting.length - next >= SHADOW_LIMITS.waiting || places + more > SHADOW_LIMITS.waitingPlaces;
      if (followed.policy === null || isFull) {
        findings.count('skipped');
        return;
      }
      waiting.push({ ...noted, asked });
      places += more;
      schedule();
    },
    take: () => {
      const { counts, examples } = findings;
      if (followed === null || (counts.compared === 0 && counts.skipped === 0)) return null;
      findings = makeTally();
      const { era, against } = followed;
      return { era, against, counts, examples: examples() };
    },
    close: () => {
      followed = null;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** How much a waiting question keeps in memory. */
function placesOf({ visibility }: DecidedQuestion): number {
  return visibility?.kind === 'some' ? visibility.exact.length + visibility.subtrees.length : 0;
}

interface Tally {
  readonly counts: Counts;
  readonly count: (what: keyof Counts, times?: number) => void;
  /** An example that is already known only counts once more. Of new ones a limited number is kept. */
  readonly keep: (example: Example) => void;
  /** In the order in which they were first seen. */
  readonly examples: () => readonly Example[];
}

export function makeTally(): Tally {
  const counts = { compared: 0, gained: 0, lost: 0, both: 0, skipped: 0 };
  const kept = new Map<string, Example>();
  return {
    counts,
    count: (what, times = 1) => {
      counts[what] += times;
    },
    keep: (example) => {
      const { actor, operation, access } = example;
      const key = JSON.stringify([actor, operation, access]);
      const known = kept.get(key);
      if (known !== undefined) kept.set(key, { ...example, times: known.times + example.times });
      else if (kept.size < SHADOW_LIMITS.examples) kept.set(key, example);
    },
    examples: () => [...kept.values()],
  };
}
