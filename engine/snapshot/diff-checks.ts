// Compares the guardrails, people and tests of two policies. For two folders the result lists which ones differ. A snapshot has
// only their digests, so with a snapshot the result can only say whether anything differs.
import { CHECK_KINDS, type CheckKind, type PolicyChecks } from '../model/checks.js';
import { compareTexts } from '../model/order.js';
import type { PolicySet } from '../model/policy-set.js';
import { type CheckForm, checkForms } from './checks.js';

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
  | { readonly kind: 'listed'; readonly checks: { readonly [Kind in CheckKind]: ListedChecks } }
  | { readonly kind: 'stated'; readonly checks: { readonly [Kind in CheckKind]: StatedChecks } };

/** What a snapshot states about itself, and the declarations if it was compiled from a folder. */
export interface CheckedPolicy {
  readonly digest: string;
  readonly checks: PolicyChecks | null;
  readonly set: PolicySet | null;
}

export function diffChecks(old: CheckedPolicy, changed: CheckedPolicy): ChecksDiff {
  const [guardrails, people, tests] = CHECK_KINDS;
  if (old.set === null || changed.set === null) {
    const stated = (kind: CheckKind): StatedChecks => ({ changed: differs(old, changed, kind) });
    return {
      kind: 'stated',
      checks: { guardrails: stated(guardrails), people: stated(people), tests: stated(tests) },
    };
  }
  const [before, after] = [checkForms(old.set), checkForms(changed.set)];
  const listed = (kind: CheckKind): ListedChecks => listChanges(before[kind], after[kind]);
  return { kind: 'listed', checks: { guardrails: listed(guardrails), people: listed(people), tests: listed(tests) } };
}

/**
 * Whether a check was removed or changed; for snapshots, whether anything differs. An added person counts too: `atMost` counts
 * people, so making two identities one person lowers the count.
 */
export function areChecksWeaker(diff: ChecksDiff): boolean {
  if (diff.kind === 'stated') return CHECK_KINDS.some((kind) => diff.checks[kind].changed);
  const { people } = diff.checks;
  return (
    people.added.length > 0 ||
    CHECK_KINDS.some((kind) => diff.checks[kind].removed.length + diff.checks[kind].changed.length > 0)
  );
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

/** Several tests may have one name. */
function textsByName(forms: readonly CheckForm[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { name, text } of forms) texts.set(name, `${texts.get(name) ?? ''}${text}\n`);
  return texts;
}
