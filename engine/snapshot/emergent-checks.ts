// How a merge weakens the checks of a policy where no reviewed change does by itself: a guardrail that only the merge weakens, a test that
// only the merge drops. Rights that only a merge opens are found by `findEmergent`.
import { CHECK_KINDS, type CheckKind } from '../model/checks.js';
import { groupBy } from '../model/group.js';
import { compareTexts } from '../model/order.js';
import { checkForms } from './checks.js';
import { type CheckedPolicy, diffChecks } from './diff-checks.js';
import { ANY_FIELD, type Weakness } from './guardrail-changes.js';

export interface EmergentCheck {
  readonly kind: CheckKind | 'accepted';
  /** `differs`: a snapshot is among the policies, so nothing else is known. */
  readonly change: 'added' | 'removed' | 'changed' | 'weaker' | 'differs';
  /** The id or name; for `differs` the kind, for `accepted` the code of the findings. */
  readonly name: string;
  /** What makes it weaker, one line each. */
  readonly text?: string;
}

/** What somebody has reviewed, and what it was made from; null if that is the base. */
export interface CheckedChange {
  readonly policy: CheckedPolicy;
  readonly from: CheckedPolicy | null;
}

/** What `areChecksWeaker` would refuse of the merge, without what it would refuse of a reviewed change in the same way. */
export function emergentChecks(
  base: CheckedPolicy,
  merged: CheckedPolicy,
  reviewed: readonly CheckedChange[],
): readonly EmergentCheck[] {
  const policies = reviewed.map(({ policy }) => policy);
  const froms = reviewed.map(({ from }) => from ?? base);
  if ([base, merged, ...policies, ...froms].some(({ set }) => set === null))
    return emergentKinds(merged, [base, ...policies]);
  const known = reviewed.map(({ policy, from }) => ({
    taken: index(weakenings(from ?? base, policy)),
    toMerged: index(weakenings(policy, merged)),
  }));
  const found = weakenings(base, merged).filter(
    (weakening) => !known.some(({ taken, toMerged }) => isKnown(weakening, taken, toMerged)),
  );
  const alike = groupBy(found, ({ check: { kind, change, name } }) => JSON.stringify([kind, change, name]));
  const joined = [...alike.values()].flatMap(([first, ...others]): readonly EmergentCheck[] => {
    if (first === undefined) return [];
    const texts = [first, ...others].flatMap(({ check }) => check.text ?? []);
    return [texts.length === 0 ? first.check : { ...first.check, text: texts.join('; ') }];
  });
  return [...joined, ...emergentlyAccepted(base, merged, reviewed)];
}

/** One way in which a policy checks less than another. */
interface Weakening {
  readonly check: EmergentCheck;
  /** Equal for the same weakening of another policy. */
  readonly key: string;
  /** What of a check is weaker. */
  readonly weakness?: Weakness;
}

/** Weakenings, to be found without looking at each. */
interface Indexed {
  readonly keys: ReadonlySet<string>;
  /** By check: how it changed, and what of it is weaker. */
  readonly changes: ReadonlyMap<string, ReadonlySet<EmergentCheck['change']>>;
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
}

function index(all: readonly Weakening[]): Indexed {
  const changes = new Map<string, Set<EmergentCheck['change']>>();
  const fields = new Map<string, Set<string>>();
  for (const { check, weakness } of all) {
    const id = idOf(check);
    changes.set(id, (changes.get(id) ?? new Set()).add(check.change));
    fields.set(id, (fields.get(id) ?? new Set()).add(weakness?.field ?? ANY_FIELD));
  }
  return { keys: new Set(all.map(({ key }) => key)), changes, fields };
}

function idOf({ kind, name }: EmergentCheck): string {
  return `${kind} ${name}`;
}

/**
 * Whether a reviewed change weakens the same: `taken` lists its weakenings of the policy that it was made from, and `toMerged` those of the
 * merge, compared with the reviewed change.
 */
function isKnown({ check, key, weakness }: Weakening, taken: Indexed, toMerged: Indexed): boolean {
  const id = idOf(check);
  const changes = taken.changes.get(id);
  if (changes?.has('removed') === true) return true;
  if (weakness === undefined || weakness.isOneOfSeveral) return taken.keys.has(key);
  if (changes === undefined) return false;
  // The reviewed change goes at least as far if the merge is no weaker than it.
  const left = toMerged.fields.get(id);
  return left === undefined || (weakness.field !== ANY_FIELD && !left.has(weakness.field) && !left.has(ANY_FIELD));
}

/** A kind of which the merge states a digest that none of the others states. */
function emergentKinds(merged: CheckedPolicy, others: readonly CheckedPolicy[]): readonly EmergentCheck[] {
  const differs = (kind: CheckKind): boolean =>
    others.every(({ digest, checks }) => {
      if (digest === merged.digest) return false;
      return checks === null || merged.checks === null || checks[kind].digest !== merged.checks[kind].digest;
    });
  return CHECK_KINDS.filter(differs).map((kind) => ({ kind, change: 'differs', name: kind }));
}

function weakenings(base: CheckedPolicy, other: CheckedPolicy): readonly Weakening[] {
  const diff = diffChecks(base, other);
  if (diff.kind === 'stated' || other.set === null) return [];
  const forms = checkForms(other.set);
  const found: Weakening[] = [];
  const add = (check: EmergentCheck, what: string, weakness?: Weakness): void => {
    const key = JSON.stringify([check.kind, check.change, check.name, what]);
    found.push({ check, key, ...(weakness === undefined ? {} : { weakness }) });
  };
  for (const kind of CHECK_KINDS) {
    const { added, removed, changed } = diff.checks[kind];
    const textsOf = groupBy(forms[kind], ({ name }) => name);
    const textOf = (name: string): string => (textsOf.get(name) ?? []).map(({ text }) => text).join('\n');
    if (kind !== 'delegation') for (const name of removed) add({ kind, change: 'removed', name }, '');
    if (kind === 'people') for (const name of added) add({ kind, change: 'added', name }, textOf(name));
    if (kind === 'guardrails' || kind === 'delegation') {
      for (const { id, weakenings: all } of diff[kind])
        for (const weakness of all) {
          const { text } = weakness;
          add({ kind, change: 'weaker', name: id, text }, text, weakness);
        }
    } else for (const name of changed) add({ kind, change: 'changed', name }, textOf(name));
  }
  return found;
}

/** Findings of which the merge accepts more than the reviewed changes add together. */
function emergentlyAccepted(
  base: CheckedPolicy,
  merged: CheckedPolicy,
  reviewed: readonly CheckedChange[],
): readonly EmergentCheck[] {
  return [...merged.accepted]
    .map(([name, count]) => {
      const before = base.accepted.get(name) ?? 0;
      const countIn = ({ accepted }: CheckedPolicy): number => accepted.get(name) ?? 0;
      const more = reviewed.map(({ policy, from }) => Math.max(0, countIn(policy) - countIn(from ?? base)));
      return { name, count, before, most: more.reduce((sum, one) => sum + one, before) };
    })
    .filter(({ count, most }) => count > most)
    .sort((a, b) => compareTexts(a.name, b.name))
    .map(({ name, count, before }) => ({
      kind: 'accepted' as const,
      change: 'weaker' as const,
      name,
      text: `${String(before)} → ${String(count)}`,
    }));
}
