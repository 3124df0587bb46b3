// A gateway follows the source of its policy (docs/serving.md). It looks from time to time, takes what is offered, and
// keeps the last good policy in force whatever is wrong with the source or with its offer.
import type { PublicationStatement } from '../../../engine/index.js';
import { storeFailure } from '../../db/failures.js';
import { eitherSignal } from '../../lib/either-signal.js';
import { endsWithin } from '../../lib/ends-within.js';
import type { Clock, Logger } from '../../lib/ports.js';
import { type Poller, makePoller } from '../../lib/poller.js';
import { noteStuckDisk } from '../../lib/stuck-disk.js';
import { AGE_LIMITS, SOURCE_LIMITS } from '../../limits/policy.js';
import type { ActivePolicy } from './active-policy.js';
import { isRollback, rollbackText } from '../store/activations.js';
import type { Activator, Offered } from './activator.js';
import { type FolderThread, makeFolderThread } from '../open/snapshot-thread.js';
import { isSourceAway, oneLine, type PolicyFault, PolicyRefused, refusal } from '../policy-fault.js';
import type { LookResult, Offer, Source, Why } from '../sources/source.js';
import { anotherPolicy, type PublicationRule, releaseOffer, verifyOffer } from '../open/verify-offer.js';

export interface FollowOptions {
  readonly source: Source;
  readonly policies: ActivePolicy;
  readonly activator: Pick<Activator, 'activations' | 'newest' | 'offer' | 'tables'>;
  /** Null: nobody has to have signed. */
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each offer that is refused, for the audit log. */
  readonly onRefused?: (offer: Pick<Offer, 'from'>, fault: PolicyFault) => void;
  /** Milliseconds between two looks at the source. */
  readonly interval: number;
  /** Milliseconds for which somebody may write at the source before that is a fault. Defaults to `SOURCE_LIMITS`. */
  readonly patience?: number;
}

export function followSource(options: FollowOptions): Poller {
  const { source, policies, activator, log, patience = SOURCE_LIMITS.unsettled } = options;
  const folders = makeFolderThread();
  // Why the last offer is not served, and why the source could not be read.
  let refused: PolicyFault | null = null;
  let outage: PolicyFault | null = null;
  let unsettledSince: number | null = null;
  // Whether the last offer must be offered again.
  let again = false;
  const tell = (fault: PolicyFault): void => {
    policies.refuse(fault);
    const fields = { ...source.facts, snapshot: policies.current().policy.digest, ...fault };
    if (isSourceAway(fault)) log.warn(fields, 'the source of the policy cannot be read, and the policy in force stays');
    else log.error(fields, 'the policy that the source offers was refused, and the policy in force stays');
  };
  /** The last fault of the source still holds, whatever somebody else has activated since. */
  const recall = (fault: PolicyFault): void => {
    if (!isSame(fault, policies.state().refusal)) policies.refuse(fault);
  };
  let offers = 0;
  /** What carries a false label is not what the source offers by now, if it has offered something else since. */
  const returnsFrom =
    (offer: number) =>
    (fault: PolicyFault): void => {
      if (offer !== offers) return;
      refused = fault;
      policies.refuse(fault);
    };
  let noted: { readonly generation: number; readonly tick: number } | null = null;
  /** For the next start, to which the policy is older if this fails. */
  const note = async (): Promise<void> => {
    const [{ generation }, tick] = [policies.current(), performance.now()];
    if (noted?.generation === generation && tick - noted.tick < AGE_LIMITS.noted) return;
    try {
      await activator.activations.confirm(generation);
      noted = { generation, tick };
    } catch (error) {
      // Health checks already report that the store is away.
      if (storeFailure(error) === null)
        log.error({ ...source.facts, error }, 'the age of the policy could not be noted in the store');
    }
  };
  const use = async (found: SourceAnswer, { after, isAsked }: Look, signal: AbortSignal): Promise<void> => {
    if (found.kind === 'unknown') return;
    unsettledSince = found.kind === 'unsettled' ? (unsettledSince ?? performance.now()) : null;
    if (unsettledSince !== null && performance.now() - unsettledSince < patience) return;
    const before = outage;
    outage = found.kind === 'fault' ? found.fault : found.kind === 'unsettled' ? UNSETTLED : null;
    if (outage !== null) {
      // Logged once, however long it lasts, and when somebody asks.
      if (isAsked || !isSame(outage, before)) tell(outage);
      else recall(outage);
      return;
    }
    if (before !== null && isSourceAway(before))
      log.info(
        { ...source.facts, snapshot: policies.current().policy.digest },
        'the source of the policy can be read again',
      );
    if (found.kind === 'offer') {
      offers += 1;
      const onReturned = returnsFrom(offers);
      const taken = await takeOffer(found.offer, { ...options, folders, after, onReturned }, signal);
      if (signal.aborted) return;
      refused = taken.kind === 'refused' ? taken.fault : null;
      again = taken.kind === 'again' || refused?.code === STORE_FAULT;
      if (taken.kind === 'again') return;
      if (refused === null) found.offer.onTaken?.();
      else {
        tell(refused);
        // A fault of the store is no word about the offer, which is made again.
        if (!again) options.onRefused?.(found.offer, refused);
      }
    } else if (refused !== null) recall(refused);
    if (refused !== null) return;
    policies.confirm();
    await note();
  };
  let asking = new AbortController();
  let isLooking = false;
  const ask = async (why: Why, stopped: AbortSignal): Promise<SourceAnswer> => {
    asking = new AbortController();
    const { signal, release } = eitherSignal(stopped, asking.signal);
    isLooking = true;
    try {
      const found = await source.look(why, signal);
      // Given up half-way, it says nothing about the source.
      return signal.aborted && found.kind !== 'offer' ? UNKNOWN : found;
    } catch (error) {
      if (signal.aborted) return UNKNOWN;
      if (error instanceof PolicyRefused) return { kind: 'fault', fault: error.fault };
      log.error({ ...source.facts, error }, 'checking the source of the policy failed');
      return { kind: 'fault', fault: oneLine('internal', 'looking for it failed; the log has the error') };
    } finally {
      isLooking = false;
      release();
    }
  };
  const watch = makePoller(options.interval, async (why, signal) => {
    const after = activator.newest();
    // `now` asks for the offer again even though nothing has changed at the source: the store is back, or somebody
    // else was first.
    const found = await ask(again || why !== 'poll' ? 'now' : 'poll', signal);
    if (signal.aborted) {
      if (found.kind === 'offer') await releaseOffer(found.offer, log);
      return;
    }
    await use(found, { after, isAsked: why === 'now' }, signal);
  });
  const stop = async (): Promise<void> => {
    const stopped = watch.stop();
    // A look does not end with its signal if its disk hangs. What is found may still be stored.
    if (!(await endsWithin(stopped, SOURCE_LIMITS.silence))) {
      if (isLooking) {
        log.error(source.facts, 'the source of the policy is still being checked: its disk does not answer');
        noteStuckDisk();
      } else await stopped;
    }
    folders.close();
  };
  let stopping: Promise<void> | null = null;
  return {
    stop: () => (stopping ??= stop()),
    // A source that hangs is not waited for. Its last offer is handled first.
    pollNow: () => {
      asking.abort();
      return watch.pollNow();
    },
  };
}

/** One look at the source. */
interface Look extends Pick<Offered, 'after'> {
  /** Whether somebody asked for it. */
  readonly isAsked: boolean;
}

/** `fault`: the source has nothing to offer, or cannot be read. `unknown`: nobody waited for its answer. */
type SourceAnswer = LookResult | { readonly kind: 'fault'; readonly fault: PolicyFault } | { readonly kind: 'unknown' };

const UNKNOWN: SourceAnswer = Object.freeze({ kind: 'unknown' });

const UNSETTLED = oneLine(
  'source.unsettled',
  'somebody goes on writing there, and it is read once two checks in a row find the same',
);

function isSame(a: PolicyFault, b: PolicyFault | null): boolean {
  return a.code === b?.code && a.message === b.message;
}

/** A fault of the store may pass soon, without anything new at the source. */
const STORE_FAULT = 'store.unavailable';

/** Puts the offer in force, unless it already is. */
async function takeOffer(
  offer: Offer,
  options: FollowOptions & Pick<Offered, 'after' | 'onReturned'> & { readonly folders: FolderThread },
  signal: AbortSignal,
): Promise<{ readonly kind: 'taken' | 'again' } | { readonly kind: 'refused'; readonly fault: PolicyFault }> {
  const { source, activator, folders, after, onReturned, rule, clock, log } = options;
  const { tables } = activator;
  const { from } = offer;
  try {
    const checkSuccession = successionCheck(options);
    const verified = await verifyOffer(offer, { rule, clock, log, tables, folders, checkSuccession }, signal);
    return { kind: await activator.offer({ verified, from, after, onReturned }) };
  } catch (error) {
    if (error instanceof PolicyRefused) return { kind: 'refused', fault: error.fault };
    // Nothing is done that is not written down. Otherwise something older could take its place after a restart.
    const text = 'the store, which has to note its generation, cannot be reached';
    if (storeFailure(error) !== null) return { kind: 'refused', fault: oneLine(STORE_FAULT, text) };
    if (!signal.aborted) log.error({ ...source.facts, error }, 'the policy that is offered could not be opened');
    return { kind: 'refused', fault: oneLine('internal', 'it could not be opened; the log has the error') };
  }
}

/** What a statement must follow. */
export interface Succession {
  readonly policies: Pick<ActivePolicy, 'current'>;
  readonly activator: Pick<Activator, 'activations'>;
}

/** A signature for a different policy, or an earlier signature, says nothing about what may follow this policy. */
export function successionCheck({ policies, activator }: Succession) {
  return async (statement: PublicationStatement): Promise<void> => {
    const { policy, environment } = statement;
    if (policy !== policies.current().policy.name) throw anotherPolicy(statement);
    const accepted = await activator.activations.accepted(policy, environment);
    if (isRollback(statement, accepted)) throw refusal('snapshot.rollback_refused', rollbackText(statement, accepted));
  };
}
