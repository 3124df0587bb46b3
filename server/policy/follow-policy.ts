// A gateway follows the path that it was given (docs/serving.md): what changes there is opened in a thread of its own, verified whole,
// and takes the place of the policy in force as one reference. Whatever is wrong with it leaves the last good one in force.
import type { PublicationStatement } from '../../engine/index.js';
import { storeFailure } from '../db/failures.js';
import type { Clock, Logger } from '../ports.js';
import type { NamedFile } from '../signing/named-file.js';
import { readKeyring } from '../signing/keyring-file.js';
import { SigningError } from '../signing/signing-error.js';
import { statementPathOf } from '../signing/statement-file.js';
import { type Watch, watchEvery } from '../watch.js';
import type { Active, ActivePolicy, Candidate } from './active-policy.js';
import { type Activations, isRollback, rollbackText } from './activations.js';
import { checkLabels } from './check-labels.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import { openInThread, type OpenedInThread } from './snapshot-thread.js';
import { sourceState } from './source-state.js';
import { ageOf, type AgeLimits, type Staleness, stalenessOf } from './staleness.js';
import { verifyPublication } from './verify-publication.js';

/** Who must have published what is served, and for what. Read again with each offer, so that keys can be replaced. */
export interface PublicationRule {
  readonly keyring: NamedFile;
  readonly environment: string | null;
}

export interface FollowOptions {
  /** Absolute; a policy folder or a snapshot file. */
  readonly path: string;
  /** `stateOf(path)` from before what is in force was read. */
  readonly state: string;
  /** Null: nobody has to have signed. */
  readonly rule: PublicationRule | null;
  readonly policies: ActivePolicy;
  readonly activations: Activations;
  readonly ages: AgeLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** Keeps the bytes of what is about to decide, for whoever asks later what it decided by. Nothing is kept unless given. */
  readonly keep?: (digest: string, bytes: Uint8Array) => Promise<void>;
  /** Milliseconds between two looks. */
  readonly interval: number;
}

const STORE_FAULT = 'store.unavailable';

/** What tells that there may be something new. */
export function stateOf(path: string): Promise<string> {
  return sourceState([path, statementPathOf(path)]);
}

/** Where a change is seen it is taken at the next look at which nothing has changed any more: until then somebody still writes. */
export function followPolicy(options: FollowOptions): Watch {
  const { path, policies, log } = options;
  let taken = options.state;
  let seen = options.state;
  const take = async (): Promise<PolicyFault | null> => {
    const fault = await takeOffer(options);
    if (fault === null) {
      policies.confirm();
      return null;
    }
    policies.refuse(fault);
    log.error(
      { path, snapshot: policies.current().policy.digest, ...fault },
      'the policy at the path is not taken, and the one in force stays',
    );
    return fault;
  };
  const look = async (why: 'poll' | 'hurry'): Promise<void> => {
    const state = await stateOf(path);
    if (why === 'poll' && state === taken) {
      if (policies.state().refusal === null) policies.confirm();
      return;
    }
    const isSettled = state === seen || why === 'hurry';
    seen = state;
    if (!isSettled) return;
    taken = state;
    const fault = await take();
    // The store may be back at the next look, where nothing at the path has changed.
    if (fault?.code === STORE_FAULT) taken = '';
  };
  const tellAge = makeAgeTeller(options);
  return watchEvery(options.interval, async (why) => {
    await look(why);
    tellAge();
  });
}

/** Says once when a policy has become too old, and once when it is not any more. */
function makeAgeTeller({ path, policies, ages, clock, log }: FollowOptions): () => void {
  let told: Staleness = 'no';
  return () => {
    const state = policies.state();
    const stale = stalenessOf(state, ages, clock.now());
    if (stale === told) return;
    told = stale;
    const facts = {
      path,
      snapshot: state.active.policy.digest,
      ageSeconds: Math.floor(ageOf(state, clock.now()) / 1000),
    };
    if (stale === 'no') log.info(facts, 'the policy is fresh again');
    else if (stale === 'soft') log.warn(facts, 'the policy is older than `snapshot.softAge`');
    else log.error(facts, 'the policy is too old or its statement has expired: nothing is decided by it any more');
  };
}

/** Makes what is at the path the policy in force, unless it is that already. Says why it cannot be. */
async function takeOffer(options: FollowOptions): Promise<PolicyFault | null> {
  const { path, policies, rule } = options;
  try {
    const opened = await openInThread(path);
    if (opened.kind === 'refused') return opened.fault;
    const published = rule === null ? { statement: null } : await publicationOf(opened, rule, options);
    if ('fault' in published) return published.fault;
    const active = policies.current();
    const { statement } = published;
    if (opened.policy.digest === active.policy.digest && isSame(statement, active.statement)) return null;
    await options.keep?.(opened.policy.digest, opened.bytes);
    await replace(opened, statement, options);
    return null;
  } catch (error) {
    // What is not written down is not done: after a restart something older could take its place.
    const failure = storeFailure(error);
    if (failure !== null) return oneLine(STORE_FAULT, 'the store, which has to note its generation, cannot be reached');
    options.log.error({ path, error }, 'the policy at the path could not be opened');
    return oneLine('internal', 'it could not be opened; the log has the error');
  }
}

type Published = { readonly statement: PublicationStatement | null } | { readonly fault: PolicyFault };

async function publicationOf(
  { policy, source }: Extract<OpenedInThread, { kind: 'opened' }>,
  rule: PublicationRule,
  { path, policies, activations, clock }: FollowOptions,
): Promise<Published> {
  if (source === 'folder')
    return { fault: oneLine('signature.missing', 'a folder cannot be signed: serve a snapshot') };
  const active = policies.current();
  if (policy.name !== active.policy.name) {
    return { fault: oneLine('snapshot.policy', `it is another policy, called \`${policy.name}\``) };
  }
  const shown = statementPathOf(path);
  try {
    const keyring = await readKeyring(rule.keyring);
    const { statement, faults } = await verifyPublication(
      policy,
      { path: shown, shown, need: 'optional' },
      { keyring, at: clock.now(), environment: rule.environment, minimumGeneration: null },
    );
    const [first] = faults;
    if (first !== undefined) return { fault: { ...first, problems: faults.slice(1).map(({ message }) => message) } };
    const accepted = statement === null ? null : await activations.accepted(policy.name, statement.environment);
    if (statement === null || !isRollback(statement, accepted)) return { statement };
    return { fault: oneLine('snapshot.rollback_refused', rollbackText(statement, accepted)) };
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    return { fault: { code: error.code, message: error.message, problems: error.faults } };
  }
}

function isSame(a: PublicationStatement | null, b: PublicationStatement | null): boolean {
  if (a === null || b === null) return a === b;
  return a.generation === b.generation && a.issued === b.issued && a.expires === b.expires;
}

async function replace(
  { policy, bytes, source }: Extract<OpenedInThread, { kind: 'opened' }>,
  statement: PublicationStatement | null,
  { path, policies, activations, clock, log }: FollowOptions,
): Promise<void> {
  const before = policies.current();
  // Signed anew, it stays the same handle, and all that is remembered of it.
  const isRenewal = policy.digest === before.policy.digest;
  const candidate: Candidate = {
    policy: isRenewal ? before.policy : policy,
    source: { kind: source, path },
    labels: isRenewal ? before.labels : source === 'folder' ? 'verified' : 'unverified',
    ...(statement === null ? {} : { statement }),
  };
  const reason = isRenewal ? 'published anew' : 'changed at its source';
  const generation = await activations.record({ policy: candidate.policy, statement, reason, at: clock.now() });
  const after = policies.activate(candidate, reason, generation);
  const { digest: snapshot, decisions } = after.policy;
  log.info({ path, snapshot, decisions, generation, before: before.policy.digest }, 'the policy was replaced');
  if (after.labels === 'unverified') void confirmLabels(after, bytes, { before, policies, activations, clock, log });
}

/** A snapshot that says something false of itself is an alarm, and what was in force before it returns. */
async function confirmLabels(
  after: Active,
  bytes: Uint8Array,
  options: Pick<FollowOptions, 'policies' | 'activations' | 'clock' | 'log'> & { readonly before: Active },
): Promise<void> {
  const { before, policies, activations, clock, log } = options;
  await checkLabels(after, bytes, { policies, log });
  const active = policies.current();
  if (active.generation !== after.generation || active.labels !== 'false') return;
  const { policy, source, statement, labels } = before;
  const candidate = { policy, source, labels, ...(statement === null ? {} : { statement }) };
  const reason = 'the snapshot that took its place carries a false label';
  // It returns whether the store can be told or not.
  const recorded = await activations.record({ policy, statement, reason, at: clock.now() }).catch(() => undefined);
  const { generation } = policies.activate(candidate, reason, recorded);
  policies.refuse(oneLine('snapshot.label', 'it carries a false label'));
  log.error({ snapshot: policy.digest, generation }, 'the policy from before is in force again');
}
