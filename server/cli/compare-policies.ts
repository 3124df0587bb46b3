// The comparison of two opened policies that `diff` prints and an attestation states.
import {
  acceptedFindings,
  areChecksWeaker,
  diffChecks,
  diffPolicies,
  type DiffReport,
  emergentChecks,
  findEmergent,
} from '../../engine/compiler.js';
import { POLICY_LIMITS } from '../limits/policy.js';
import type { CliIo } from './io.js';
import type { OpenedPolicy } from './open-policy.js';
import type { ComparedPolicies } from './render/diff.js';
import { startProgress } from './render/terminal.js';

/** What of a policy and of its folder is compared. */
type Compared = Pick<OpenedPolicy, 'policy' | 'set' | 'sources'>;

interface Comparison {
  readonly report: DiffReport;
  readonly compared: ComparedPolicies;
  /** The same, of the two snapshots alone: what they were compiled from may say more of the checks. */
  readonly stated: ComparedPolicies;
  /** Whether anybody may do anything that they could not before. */
  readonly givesAccess: boolean;
  readonly isWeaker: boolean;
}

export function compareOpened(io: CliIo, old: OpenedPolicy, changed: OpenedPolicy): Comparison {
  const progress = startProgress(io);
  if (old.bytes.length + changed.bytes.length >= POLICY_LIMITS.quietBytes) progress.phase('comparing');
  const report = diffPolicies(old.policy, changed.policy);
  const checks = diffChecks(sideOf(old), sideOf(changed));
  progress.done();
  const names = { old: namesOf(old), new: namesOf(changed) };
  return {
    report,
    compared: { ...names, checks },
    stated: { ...names, checks: diffChecks(sideOf(asSnapshot(old)), sideOf(asSnapshot(changed))) },
    givesAccess: report.gained.length + report.exclusive.removed.length > 0,
    isWeaker: areChecksWeaker(checks),
  };
}

/** What somebody has reviewed, and what it was made from; null if that is the old policy. */
export interface OpenedChange {
  readonly opened: OpenedPolicy;
  readonly from: OpenedPolicy | null;
}

/** What only the merge of several reviewed changes opens, or makes weaker. */
export function mergeOf(
  io: CliIo,
  {
    old,
    changed,
    reviewed,
  }: { readonly old: OpenedPolicy; readonly changed: OpenedPolicy; readonly reviewed: readonly OpenedChange[] },
): NonNullable<ComparedPolicies['merge']> {
  const progress = startProgress(io);
  const named = reviewed.flatMap(({ opened, from }) => (from === null ? [opened] : [opened, from]));
  const bytes = [old, changed, ...named].reduce((sum, one) => sum + one.bytes.length, 0);
  if (bytes >= POLICY_LIMITS.quietBytes) progress.phase('comparing what was reviewed');
  const policies = reviewed.map(({ opened, from }) => ({ policy: opened.policy, from: from?.policy ?? null }));
  const checked = reviewed.map(({ opened, from }) => ({
    policy: sideOf(opened),
    from: from === null ? null : sideOf(from),
  }));
  const merge = {
    ...findEmergent(old.policy, changed.policy, policies),
    checks: emergentChecks(sideOf(old), sideOf(changed), checked),
    reviewed: policies.map(({ policy }) => policy.digest),
  };
  progress.done();
  return merge;
}

function asSnapshot(opened: OpenedPolicy): OpenedPolicy {
  return { ...opened, set: null, sources: new Map() };
}

export function sideOf({ policy, set, sources }: Compared): Parameters<typeof diffChecks>[0] {
  return { digest: policy.digest, checks: policy.checks, set, accepted: acceptedFindings(sources) };
}

export function namesOf({ policy: { digest, decisions } }: Pick<OpenedPolicy, 'policy'>): ComparedPolicies['old'] {
  return { snapshot: digest, decisions };
}
