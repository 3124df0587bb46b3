// The only way in which the policy in force changes in this process. Only one thing happens at a time, so none overtakes
// another. A change of policy, in order:
//   1. offer: a source is checked at an interval, and at once on SIGHUP (follow-source.ts). Nothing that it says is
//      trusted
//   2. verification: `verifyOffer` is the trust boundary of policies (policy/open/verify-offer.ts). It opens the offer
//      off the main thread, and verifies its publication if signatures are required. If anything is wrong, the last good
//      policy stays in force and the log says why
//   3. record: the snapshot is stored under its digest, and the activation is the newest row of the store
//      (policy/store/). Every gateway of the store follows that row, whoever wrote it
//   4. activation: one reference is replaced, so requests that pinned the old policy keep it (active-policy.ts). It counts
//      as done once no command in one statement that was decided before it can commit any more (commands/at-once.ts)
//   5. labels: digests that a snapshot states about itself and no decision depends on are checked while it serves
//      (check-labels.ts)
import type { Policy } from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import { afterCommit } from '../../db/failures.js';
import { POLICY_LIMITS, STORED_LIMITS } from '../../limits/policy.js';
import type { Clock, Logger } from '../../lib/ports.js';
import type { LookReason } from '../../lib/poller.js';
import type { Active, ActivePolicy, Candidate, PolicySource } from './active-policy.js';
import {
  type Activations,
  type AlsoWrite,
  earlierThan,
  type NewActivation,
  storedActivations,
  type StoredActivation,
} from '../store/activations.js';
import { makeLabelChecks } from './check-labels.js';
import { type OpenedStored, openStored } from '../open/open-stored.js';
import { faultOfRefusal, oneLine, type PolicyFault, PolicyRefused, refusal } from '../policy-fault.js';
import type { KeptTables } from '../store/kept-tables.js';
import { type Snapshots, storedSnapshots } from '../store/stored-snapshots.js';
import { inForceBy } from '../open/verify-publication.js';
import type { PublicationRule, Verified } from '../open/verify-offer.js';

export interface ActivatorOptions {
  readonly db: Database;
  readonly policies: ActivePolicy;
  /** Null if no signature is required. */
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Keeps the bytes of a policy that is about to decide, so that its decisions can be explained later. Never rejects,
   * and takes seconds at most. Defaults to keeping nothing.
   */
  readonly keep?: Keep;
  /** Where the tables of policies are kept. Defaults to null: nowhere. */
  readonly tables?: KeptTables | null;
}

export type Keep = (digest: string, bytes: Uint8Array) => Promise<void>;

/** A verified offer of a source. */
export interface Offered {
  readonly verified: Verified;
  readonly from: PolicySource;
  /** The value of `newest()` before the source was checked. */
  readonly after: number;
  /** Called with the reason why an accepted policy no longer serves. */
  readonly onReturned: (fault: PolicyFault) => void;
}

/** A stored snapshot that somebody puts in force. */
export interface ChosenSnapshot extends Pick<NewActivation, 'reason' | 'askedBy'> {
  readonly kind: 'activated' | 'rolled_back';
  readonly snapshot: string;
  readonly beside?: AlsoWrite;
}

/** `offer` and `choose` throw `PolicyRefused`. All but `newest` reject if the store fails: an activation that cannot be stored does not happen. */
export interface Activator {
  readonly snapshots: Snapshots;
  readonly activations: Activations;
  /** Where the tables of policies are kept; null if nowhere. */
  readonly tables: KeptTables | null;
  /** The newest generation that this process knows of. */
  readonly newest: () => number;
  /**
   * `taken`: it is in force now, or it was once and is not used again until the source offers another. `again`: another
   * activation came first, so the source must be checked again.
   */
  readonly offer: (offered: Offered) => Promise<'taken' | 'again'>;
  readonly choose: (choice: ChosenSnapshot) => Promise<Active>;
  /** Asks the store which activation is the newest, and does nothing about it. */
  readonly ask: () => Promise<void>;
  /** Puts the newest activation in force here. Returns why that is not possible; null if it is in force. */
  readonly catchUp: (why: LookReason, signal: AbortSignal) => Promise<PolicyFault | null>;
  /**
   * Begins to compute the labels of the policy in force. If a label is false, the policy is replaced by `before`, if
   * that is given.
   */
  readonly confirmLabels: (checked: Checked) => void;
  /** Ends all computation. */
  readonly close: () => void;
}

interface Checked extends Partial<Pick<Offered, 'onReturned'>> {
  readonly active: Active;
  readonly bytes: Uint8Array;
  readonly before?: Active;
}

/** Which activation is the newest, and what was in force here when the store was asked. */
interface Answer {
  readonly last: StoredActivation | null;
  readonly during: Active;
}

/** What is put in force. Without an age it was activated just now. */
type Installed = Pick<StoredActivation, 'generation' | 'reason' | 'askedBy'> & Partial<Pick<StoredActivation, 'age'>>;

/** An activation in the store, and what to check the labels of its policy with; null if that is not needed. */
interface Recorded
  extends Pick<StoredActivation, 'generation' | 'reason' | 'askedBy'>, Partial<Pick<Offered, 'onReturned'>> {
  readonly bytes: Uint8Array | null;
}

const RETURNED = 'the snapshot that took its place carries a false label';

const FALSE_LABEL = oneLine('snapshot.label', 'it carries a false label');

export function makeActivator(options: ActivatorOptions): Activator {
  const { db, policies, rule, clock, log, keep = () => Promise.resolve(), tables = null } = options;
  const [snapshots, activations] = [storedSnapshots(db), storedActivations(db)];
  const [inTurn, inOrder] = [makeQueue(), makeQueue()];
  const checks = makeLabelChecks({ policies, log });
  let newest = policies.current().generation;
  /** Whether the store had an activation. */
  let isSeen = false;
  /** The last check that began and has not ended. */
  let checked: Checked | null = null;
  /** What returned here without the store. */
  let unrecorded: (NewActivation & { readonly after: number }) | null = null;
  let failed: { readonly generation: number; readonly tick: number; readonly fault: PolicyFault } | null = null;

  /** Never waits for a turn: the lease runs however long something else takes. */
  const ask = (): Promise<Answer> =>
    inOrder(async () => {
      const during = policies.current();
      policies.startLease(STORED_LIMITS.silence[db.kind]);
      const asked = performance.now();
      const last = await activations.newest();
      policies.renewLease(asked);
      newest = Math.max(newest, last?.generation ?? 0);
      isSeen ||= last !== null;
      return { last, during };
    });

  /** Whether this is in force here. What others know of its labels is then known here, too. */
  const isInForce = (last: StoredActivation | null): boolean => {
    const active = policies.current();
    if (last === null || !isActive(active, { digest: last.snapshot }, last.generation)) return false;
    if (active.labels === 'unverified' && last.labels !== null) policies.noteLabels(last.generation, last.labels);
    return true;
  };

  const open = (
    snapshot: string,
    { envelope = null, signal }: { readonly envelope?: string | null; readonly signal?: AbortSignal } = {},
  ): Promise<OpenedStored> =>
    openStored(snapshot, { snapshots, rule, clock, envelope, inForce: policies.current().policy, tables, signal });

  /** Opens what is about to be in force, and stores it again if it has made room for others meanwhile. */
  const openToUse = async (snapshot: string): Promise<OpenedStored> => {
    const opened = await open(snapshot);
    const { policy, bytes, statement } = opened;
    let { labels } = opened;
    if (bytes !== null) {
      await keep(snapshot, bytes);
      const envelope = statement?.envelope ?? null;
      labels = await snapshots.keep({ policy, bytes, labels, statement: envelope, at: clock.now() });
    }
    if (labels === 'false') throw new PolicyRefused(FALSE_LABEL);
    return { ...opened, labels };
  };

  const install = (next: Candidate, { generation, reason, askedBy, age = 0 }: Installed): Active => {
    const before = policies.current();
    // A policy that is recorded again keeps its handle, and with it everything that is remembered about it.
    const isSame = next.policy.digest === before.policy.digest;
    const asked = { ...next, askedBy };
    const after = policies.activate(isSame ? { ...asked, ...kept(before, next) } : asked, reason, generation, age);
    newest = Math.max(newest, generation);
    const { digest: snapshot, decisions } = after.policy;
    const facts = { source: after.source, snapshot, decisions, generation, reason, before: before.policy.digest };
    log.info(facts, 'the policy was replaced');
    return after;
  };

  const earlierThanChecked = ({ digest }: Policy): Active | undefined =>
    checked?.active.policy.digest === digest ? checked.before : undefined;

  /** What was in force before a false label, or the newest before that whose label is not known to be false. */
  const earlierThanFalse = async (before: Active): Promise<Candidate> => {
    const known = await snapshots.find(before.policy.digest);
    if (known?.labels !== 'false') return againOf(before, known?.labels);
    const snapshot = earlierThan(await activations.list(POLICY_LIMITS.history));
    if (snapshot === null) throw new PolicyRefused(FALSE_LABEL);
    return candidateOf(await openToUse(snapshot), { kind: 'store' });
  };

  const goBack = (bad: Active, before: Active): Promise<void> =>
    inTurn(async () => {
      const { policy: served, generation: last } = policies.current();
      // Whoever activated the same snapshot again meanwhile did not know that its label is false.
      if (served.digest !== bad.policy.digest) return;
      const returned = { kind: 'rolled_back', statement: null, reason: RETURNED, askedBy: 'gateway' } as const;
      const activation = { ...returned, at: clock.now(), after: last };
      try {
        const candidate = await earlierThanFalse(before);
        const recorded = await activations.record({ ...activation, policy: candidate.policy });
        if ('generation' in recorded) install(candidate, { ...activation, generation: recorded.generation });
      } catch (error) {
        const facts = { snapshot: served.digest, before: before.policy.digest, error };
        if (error instanceof PolicyRefused) {
          log.error(facts, 'no earlier policy can take the place of the one with a false label: activate another one');
          return;
        }
        // The earlier policy returns even if the store cannot be reached.
        log.warn(facts, 'the store could not note that the earlier policy has returned, and will once it can');
        install(againOf(before), { ...activation, generation: last + 1 });
        unrecorded = { ...activation, policy: before.policy };
      }
    });

  /** Notes what returned while the store was away. Until then the other gateways keep what carries the false label. */
  const recordReturn = async (): Promise<void> => {
    const { policy, generation } = policies.current();
    if (unrecorded?.policy === policy && unrecorded.after + 1 === generation) await activations.record(unrecorded);
    unrecorded = null;
  };

  const confirmLabels = (check: Checked): void => {
    const { active, bytes, before, onReturned } = check;
    checked = check;
    checks.begin({
      active,
      bytes,
      onKnown: async (labels) => {
        await snapshots.noteLabels(active.policy.digest, labels).catch((error: unknown) => {
          log.warn(
            { snapshot: active.policy.digest, error },
            'the labels of a snapshot could not be recorded in the store',
          );
        });
        if (labels === 'false' && before !== undefined) {
          await goBack(active, before);
          onReturned?.(FALSE_LABEL);
        }
      },
      onEnded: () => {
        // It holds a policy that may never return now.
        if (checked === check) checked = null;
      },
    });
  };

  /** Puts what was recorded in force here, unless it is already. Rejects if it is not known whether all is settled. */
  const putInForce = async (candidate: Candidate, { bytes, onReturned, ...recorded }: Recorded): Promise<Active> => {
    const before = policies.current();
    const isNew = !isActive(before, candidate.policy, recorded.generation);
    const active = isNew ? install(candidate, recorded) : before;
    // Begun before anything that may fail: a policy that is in force already is not checked again.
    if (isNew && active.labels === 'unverified' && bytes !== null) {
      // A snapshot that is activated again while it is checked still returns to what was in force before it.
      const isAgain = before.policy.digest === active.policy.digest;
      const earlier = isAgain ? earlierThanChecked(before.policy) : before;
      confirmLabels({
        ...{ active, bytes },
        ...(earlier === undefined ? {} : { before: earlier }),
        ...(onReturned === undefined ? {} : { onReturned }),
      });
    }
    // Also if this activation is not new: a caller who repeats it does not know whether the first one settled.
    await activations.settle().catch((error: unknown) => {
      throw afterCommit(error);
    });
    return active;
  };

  return {
    snapshots,
    activations,
    tables,
    newest: () => newest,
    offer: ({ verified: { policy, bytes, labels, statement }, from, after, onReturned }) =>
      inTurn(async () => {
        const at = clock.now();
        const before = policies.current();
        await keep(policy.digest, bytes);
        const known = await snapshots.keep({ policy, bytes, labels, statement: statement?.envelope ?? null, at });
        if (known === 'false') throw new PolicyRefused(FALSE_LABEL);
        // Other processes open the policy as soon as it is recorded.
        await tables?.keep(policy);
        const isRenewal = policy.digest === before.policy.digest;
        const reason = isRenewal ? 'published again' : 'changed at its source';
        const askedBy = Object.values(from).join(' ');
        const offered = { kind: 'offered', policy, statement, reason, askedBy, at, after } as const;
        const recorded = await activations.record(offered);
        switch (recorded.kind) {
          case 'held':
            return 'taken';
          case 'superseded':
            return 'again';
          case 'rollback':
            throw refusal('snapshot.rollback_refused', recorded.text);
          case 'in_force':
          case 'recorded': {
            const candidate = candidateOf({ policy, statement, labels: known }, from);
            const { generation } = recorded;
            await putInForce(candidate, { generation, reason, askedBy, bytes, onReturned });
            return 'taken';
          }
        }
      }),
    choose: ({ kind, snapshot, reason, askedBy, beside }) =>
      inTurn(async () => {
        const opened = await openToUse(snapshot);
        const { policy, bytes, statement } = opened;
        const activation = { kind, policy, statement, reason, askedBy, at: clock.now() };
        const recorded = await activations.record(activation, beside);
        if (recorded.kind === 'rollback') throw refusal('snapshot.rollback_refused', recorded.text);
        if (!('generation' in recorded)) throw new TypeError(`unreachable: a choice that is ${recorded.kind}`);
        const { generation } = recorded;
        return putInForce(candidateOf(opened, { kind: 'store' }), { generation, reason, askedBy, bytes });
      }),
    ask: async () => {
      await ask();
    },
    catchUp: async (why, signal) => {
      const answer = await ask();
      if (isInForce(answer.last)) return null;
      return inTurn(async () => {
        const isNoted = unrecorded === null;
        if (!isNoted) await recordReturn();
        // What was activated here meanwhile may be newer than the answer.
        const { last } = isNoted && answer.during === policies.current() ? answer : await ask();
        // A gateway may have been started with a policy that nobody activated.
        if (last === null) return isSeen ? LOST : null;
        if (isInForce(last)) return null;
        const active = policies.current();
        // A store that was restored from a copy does not by itself take the gateway back to an earlier policy.
        if (last.generation < active.generation && last.at <= active.since) return LOST;
        if (failed?.generation === last.generation && why !== 'now' && isRecent(failed.tick)) return failed.fault;
        failed = null;
        const refuse = (fault: PolicyFault): PolicyFault => {
          failed = { generation: last.generation, tick: performance.now(), fault };
          return fault;
        };
        const opened = await open(last.snapshot, { envelope: last.envelope, signal }).catch(faultOfRefusal);
        if ('code' in opened) return refuse(opened);
        if (opened.labels === 'false') return refuse(FALSE_LABEL);
        if (opened.bytes !== null) await keep(last.snapshot, opened.bytes);
        install(candidateOf(opened, { kind: 'store' }), last);
        void tables?.keep(opened.policy);
        return null;
      });
    },
    confirmLabels,
    close: checks.close,
  };
}

const LOST = oneLine(
  'activation.lost',
  'the store does not know the activation of what is in force here any more: activate or publish what is to be in force',
);

function isActive({ policy, generation }: Active, { digest }: Pick<Policy, 'digest'>, recorded: number): boolean {
  return policy.digest === digest && generation === recorded;
}

function isRecent(tick: number): boolean {
  return performance.now() - tick < STORED_LIMITS.retry;
}

function kept({ policy, labels }: Active, next: Candidate): Partial<Candidate> {
  return { policy, ...(labels === 'unverified' && next.labels !== undefined ? {} : { labels }) };
}

function againOf({ statement, askedBy: _askedBy, ...active }: Active, labels = active.labels): Candidate {
  return { ...active, labels, ...(statement === null ? {} : { statement }) };
}

function candidateOf(
  { policy, statement, labels }: Pick<OpenedStored, 'policy' | 'statement' | 'labels'>,
  source: PolicySource,
): Candidate {
  return { policy, source, labels, ...inForceBy(statement) };
}

/** Work that is requested while other work runs waits for its turn. */
function makeQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
