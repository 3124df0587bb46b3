// What of a guardrail changed between two policies, and whether it asks for less than before. A rule is weaker if something that it
// refused may now hold: it leaves out more, speaks of fewer, counts more, or looks at less. Newcomers of whom it speaks make no rule
// weaker. A role that `to` loses makes it weaker even if it is empty: it could be filled by a later change, which touches no rule.
import { durationText } from '../model/duration.js';
import { without } from '../model/group.js';
import { isWithin, type NamespacePath } from '../model/namespace.js';
import type { CountedAt, Exemption, GuardrailRule, Parties, PolicySet } from '../model/policy-set.js';
import { sortTexts } from '../model/order.js';
import { scopeNames, type ScopeSet } from '../model/scope-set.js';
import { makeLost } from './lost-parties.js';
import { makeResolve, type Resolve } from './resolve-parties.js';

/** Of a guardrail or a delegated folder. */
export interface CheckChange {
  /** The guardrail's id, or the path of the folder or file. */
  readonly id: string;
  /** Whether it may hold where it did not before. */
  readonly weaker: boolean;
  /** One line each: `identities 2 → 3`. */
  readonly changes: readonly string[];
  /** What makes it weaker, each reason by itself, so that two changes can be compared. Empty if it is not weaker. */
  readonly weakenings: readonly Weakness[];
}

export interface Weakness {
  /** What of it is weaker. */
  readonly field: string;
  readonly text: string;
  /** Whether the text is about one of several things: another change takes this away as well if it says the same. */
  readonly isOneOfSeveral: boolean;
}

interface Part {
  readonly field: string;
  readonly text: string;
  readonly weaker: boolean;
  /** If the text is about several things, one text for each. */
  readonly each?: readonly string[];
}

/** Of the guardrails of both policies those that ask for something else, in the order of the new policy. */
export function guardrailChanges(old: PolicySet, changed: PolicySet): readonly CheckChange[] {
  const before = new Map(old.guardrails.map(({ id, rule }) => [id, rule]));
  const compare = makeCompare(old, changed);
  return changed.guardrails.flatMap(({ id, rule }) => {
    const was = before.get(id);
    const parts = was === undefined ? [] : compare(was, rule);
    if (parts.length === 0) return [];
    const weaker = parts.filter((part) => part.weaker);
    return [
      {
        id,
        weaker: weaker.length > 0,
        changes: parts.map(({ text }) => text),
        weakenings: weaker.flatMap(({ field, text, each }) =>
          (each ?? [text]).map((one) => ({ field, text: one, isOneOfSeveral: each !== undefined })),
        ),
      },
    ];
  });
}

/** Both sides of one thing. */
interface Pair<T> {
  readonly was: T;
  readonly is: T;
}

function makeCompare(old: PolicySet, changed: PolicySet): (was: GuardrailRule, is: GuardrailRule) => readonly Part[] {
  const parties = makePartiesParts(old, changed);
  return (was, is) => {
    if (was.kind !== is.kind) return [{ field: ANY_FIELD, text: `${was.kind} → ${is.kind}`, weaker: true }];
    // What must be held by many is weaker with more scopes, what may not be held with fewer.
    const isFloor = was.kind === 'atLeast';
    const parts: (readonly Part[])[] = [];
    if ('identities' in was && 'identities' in is)
      parts.push(
        valuePart('identities', { was: was.identities, is: is.identities }, (a, b) => (isFloor ? b < a : b > a)),
      );
    if ('groups' in was && 'groups' in is)
      parts.push(valuePart('groups', { was: was.groups, is: is.groups }, (a, b) => b > a));
    if ('scopes' in was && 'scopes' in is)
      parts.push(scopesPart({ was: was.scopes, is: is.scopes }, isFloor ? 'gained' : 'lost'));
    if ('sides' in was && 'sides' in is) {
      const texts = { was: sidesText(was.sides), is: sidesText(is.sides) };
      parts.push(valuePart('scopes', texts, () => was.sides.some((side) => !is.sides.includes(side))));
    }
    if (was.kind === 'expires' && is.kind === 'expires') {
      const [before, now] = [was.withinMilliseconds, is.withinMilliseconds];
      parts.push(
        namesPart('providers', { was: was.providers, is: is.providers }, 'lost'),
        valuePart('within', { was: durationText(before), is: durationText(now) }, () => now > before),
        valuePart('each', { was: was.each, is: is.each }, (_, each) => each),
      );
    }
    if ('under' in was && 'under' in is) parts.push(underPart({ was: was.under, is: is.under }));
    if ('at' in was && 'at' in is) parts.push(placePart({ was: was.at, is: is.at }));
    if ('except' in was && 'except' in is) parts.push(parties({ was, is }));
    return parts.flat();
  };
}

/** Of a rule that became one of another kind. */
export const ANY_FIELD = '*';

function valuePart<T extends string | number | boolean>(
  name: string,
  { was, is }: Pair<T>,
  isWeaker: (was: T, is: T) => boolean,
): readonly Part[] {
  return was === is ? [] : [{ field: name, text: `${name} ${String(was)} → ${String(is)}`, weaker: isWeaker(was, is) }];
}

/** Which way of changing a list makes the rule weaker. */
type Weakening = 'lost' | 'gained';

function namesPart(name: string, { was, is }: Pair<readonly string[]>, weakening: Weakening): readonly Part[] {
  const [lost, gained] = [without(was, is), without(is, was)];
  return [
    ...listPart({ field: name, verb: 'lost', weaker: weakening === 'lost' }, lost),
    ...listPart({ field: name, verb: 'gained', weaker: weakening === 'gained' }, gained),
  ];
}

function listPart(
  { field, verb, weaker }: { readonly field: string; readonly verb: Weakening; readonly weaker: boolean },
  names: readonly string[],
): readonly Part[] {
  if (names.length === 0) return [];
  const text = `${field} ${verb}`;
  return [{ field, text: `${text} ${some(names)}`, weaker, each: names.map((name) => `${text} ${name}`) }];
}

function scopesPart({ was, is }: Pair<ScopeSet>, weakening: Weakening): readonly Part[] {
  return namesPart('scopes', { was: scopeNames(was), is: scopeNames(is) }, weakening);
}

function sidesText(sides: readonly ScopeSet[]): string {
  const texts = sides.map((side) => scopeNames(side).join('|'));
  return sortTexts(texts).join(', ');
}

/** A rule about a namespace is about everything below it. */
function underPart({ was, is }: Pair<NamespacePath>): readonly Part[] {
  return valuePart('under', { was, is }, () => !isWithin(was, is));
}

function placePart({ was, is }: Pair<CountedAt>): readonly Part[] {
  const text = (at: CountedAt): string =>
    at.kind === 'every-top-level' ? at.kind : `${at.kind === 'under' ? 'under' : 'at'} ${at.path}`;
  const covers = is.kind === 'under' && was.kind !== 'every-top-level' && isWithin(was.path, is.path);
  return text(was) === text(is) ? [] : [{ field: 'at', text: `${text(was)} → ${text(is)}`, weaker: !covers }];
}

const SHOWN = 8;

function some(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).join(', ');
  return names.length > SHOWN ? `${shown} and ${String(names.length - SHOWN)} more` : shown;
}

/** `except` is weaker if it gained somebody or a role; `to` if it lost somebody, a role or a provider that did not leave the policy. */
function makePartiesParts(old: PolicySet, changed: PolicySet): (pair: Pair<Parties>) => readonly Part[] {
  const [resolveOld, resolveNew] = [makeResolve(old), makeResolve(changed)];
  const lost = makeLost(old, changed);
  // Many guardrails speak of the same people, and leave out the same.
  const ofTo = onceForEach((pair: Pair<Parties['to']>) => toParts(pair, lost));
  const ofExcept = onceForEach((pair: Pair<Exemption>) => exceptParts(pair, { resolveOld, resolveNew }));
  return ({ was, is }) => [...ofTo({ was: was.to, is: is.to }), ...ofExcept({ was: was.except, is: is.except })];
}

function onceForEach<T>(partsOf: (pair: Pair<T>) => readonly Part[]): (pair: Pair<T>) => readonly Part[] {
  const known = new Map<string, readonly Part[]>();
  return (pair) => {
    const key = JSON.stringify([pair.was, pair.is]);
    const parts = known.get(key) ?? partsOf(pair);
    known.set(key, parts);
    return parts;
  };
}

interface Both {
  readonly resolveOld: Resolve;
  readonly resolveNew: Resolve;
}

function toParts({ was, is }: Pair<Parties['to']>, lostBy: ReturnType<typeof makeLost>): readonly Part[] {
  if (was === null && is === null) return [];
  if (was === null) return [{ field: '`to`', text: '`to` was everyone', weaker: true }];
  if (is === null) return [{ field: '`to`', text: '`to` is everyone', weaker: false }];
  const lost = lostBy(was, is);
  const part = (field: string, verb: Weakening, names: Iterable<string>, weaker: boolean): readonly Part[] =>
    listPart({ field, verb, weaker }, sortTexts(new Set(names))).map((one) => ({ ...one, field: '`to`' }));
  return [
    ...part('`to` providers', 'lost', without(was.providers, is.providers), true),
    ...part('`to` providers', 'gained', without(is.providers, was.providers), false),
    ...part('`to` roles', 'lost', lost.roles, true),
    ...part('`to` roles', 'lost', without(without(was.roles, is.roles), lost.roles), false),
    ...part('`to` roles', 'gained', without(is.roles, was.roles), false),
    ...part('`to`', 'lost', lost.people, true),
  ];
}

function exceptParts({ was, is }: Pair<Exemption>, { resolveOld, resolveNew }: Both): readonly Part[] {
  const roles = without(is.roles, was.roles).map((role) => `role ${role}`);
  const before = resolveOld(was);
  const after = resolveNew(is);
  const [gained, lost] = [without(after, before), without(before, after)];
  const by = [...roles, ...(gained.length === 0 ? [] : [some(gained)])].join(': ');
  return [
    ...(by === ''
      ? []
      : [
          {
            ...{ field: '`except`', text: `\`except\` gained ${by}`, weaker: true },
            each: [...roles, ...gained].map((one) => `\`except\` gained ${one}`),
          },
        ]),
    ...listPart({ field: '`except`', verb: 'lost', weaker: false }, lost),
  ];
}
