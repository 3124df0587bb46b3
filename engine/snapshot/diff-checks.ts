// Compares the guardrails, people and tests of two policies. For two folders the result lists which ones differ. A snapshot has
// only their digests, so with a snapshot the result can only say whether anything differs.
import { CHECK_KINDS, type CheckKind, type OfEachKind, ofEachKind, type PolicyChecks } from '../model/checks.js';
import { compareTexts } from '../model/order.js';
import type { PolicySet } from '../model/policy-set.js';
import { type CheckForm, checkForms } from './checks.js';
import { folderChanges } from './folder-changes.js';
import { type CheckChange, guardrailChanges } from './guardrail-changes.js';

/** Ids of guardrails, names of people and tests, each once and sorted. */
export interface ListedChecks {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** `changed` is also true if a snapshot does not state its checks (format 1), unless both sides are the same file. */
export interface StatedChecks {
  readonly changed: boolean;
}

export type ChecksDiff =
  | {
      readonly kind: 'listed';
      readonly checks: OfEachKind<ListedChecks>;
      readonly guardrails: readonly ComparedCheck[];
      readonly delegation: readonly ComparedCheck[];
      /** Findings that the new policy accepts more often than the old one: `LINT_X 1 → 2`. Sorted. */
      readonly accepted: readonly string[];
    }
  | { readonly kind: 'stated'; readonly checks: OfEachKind<StatedChecks> };

/** What of a guardrail, a delegated folder or a file with `within` changed, with both of its forms as canonical JSON. */
export interface ComparedCheck extends CheckChange {
  readonly before: string;
  readonly after: string;
}

/** What a snapshot states about itself, and the declarations if it was compiled from a folder. */
export interface CheckedPolicy {
  readonly digest: string;
  readonly checks: PolicyChecks | null;
  readonly set: PolicySet | null;
  /** How often the folder accepts each kind of finding. */
  readonly accepted: ReadonlyMap<string, number>;
}

export function diffChecks(old: CheckedPolicy, changed: CheckedPolicy): ChecksDiff {
  if (old.set === null || changed.set === null)
    return { kind: 'stated', checks: ofEachKind((kind) => ({ changed: differs(old, changed, kind) })) };
  const [before, after] = [checkForms(old.set), checkForms(changed.set)];
  const listed = (kind: CheckKind): ListedChecks => listChanges(before[kind], after[kind]);
  const compared = (kind: CheckKind, changes: readonly CheckChange[]): readonly ComparedCheck[] => {
    const [was, is] = [textsByName(before[kind]), textsByName(after[kind])];
    return changes.map((change) => ({ ...change, before: was.get(change.id) ?? '', after: is.get(change.id) ?? '' }));
  };
  const changes = guardrailChanges(old.set, changed.set);
  const changedIds = changes.map(({ id }) => id).sort(compareTexts);
  return {
    kind: 'listed',
    checks: { ...ofEachKind(listed), guardrails: { ...listed('guardrails'), changed: changedIds } },
    guardrails: compared('guardrails', changes),
    delegation: compared('delegation', folderChanges(old.set, changed.set)),
    accepted: [...changed.accepted]
      .map(([name, count]) => ({ name, count, before: old.accepted.get(name) ?? 0 }))
      .filter(({ count, before }) => count > before)
      .map(({ name, count, before }) => `${name} ${String(before)} → ${String(count)}`)
      .sort(compareTexts),
  };
}

/**
 * Whether a check was removed or changed, of guardrails, folders and files with `within` only if one became weaker; for snapshots, whether
 * anything differs. An added person counts too: `atMost` counts people, so making two identities one person lowers the count.
 */
export function areChecksWeaker(diff: ChecksDiff): boolean {
  if (diff.kind === 'stated') return CHECK_KINDS.some((kind) => diff.checks[kind].changed);
  const { people } = diff.checks;
  const isChanged = (kind: CheckKind): boolean =>
    kind === 'guardrails' || kind === 'delegation'
      ? diff[kind].some(({ weaker }) => weaker)
      : diff.checks[kind].changed.length > 0;
  const isMore = people.added.length > 0 || diff.accepted.length > 0;
  const isRemoved = (kind: CheckKind): boolean => kind !== 'delegation' && diff.checks[kind].removed.length > 0;
  return isMore || CHECK_KINDS.some((kind) => isRemoved(kind) || isChanged(kind));
}

function differs(old: CheckedPolicy, changed: CheckedPolicy, kind: CheckKind): boolean {
  if (old.digest === changed.digest) return false;
  return old.checks === null || changed.checks === null || old.checks[kind].digest !== changed.checks[kind].digest;
}

function listChanges(old: readonly CheckForm[], changed: readonly CheckForm[]): ListedChecks {
  const [before, after] = [textsByName(old), textsByName(changed)];
  const names = [...new Set([...before.keys(), ...after.keys()])].sort(compareTexts);
  return {
    added: names.filter((name) => !before.has(name)),
    removed: names.filter((name) => !after.has(name)),
    changed: names.filter((name) => before.has(name) && after.has(name) && before.get(name) !== after.get(name)),
  };
}

/** In a policy that was built in memory, several tests may have one name. */
function textsByName(forms: readonly CheckForm[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { name, text } of forms) texts.set(name, `${texts.get(name) ?? ''}${text}\n`);
  return texts;
}
