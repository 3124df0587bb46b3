// Of which actors one guardrail speaks (`to` and `except`). Identities that `except` names are left out. A person is spoken of if `to`
// names any of their remaining identities, and then with all of the remaining ones; any other person only together with a group that
// `to` names.
import { addTo } from '../../model/group.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import type { Parties } from '../../model/policy-set.js';
import { identityRow } from '../cells/identities.js';
import { type Human, providerOfGroup, providersOf } from './actors.js';
import { makeNamed } from './named.js';
import { STEPS_OF } from './proof-budget.js';
import type { RowNumbers, World } from './scene.js';

/** Texts of what an actor carries besides, sorted. */
export type Beside = readonly string[];

export interface Speech {
  readonly isLeftOut: (row: number) => boolean;
  /** Whether `to` names the identity; true if there is no `to`. */
  readonly counts: (row: number) => boolean;
  /** Texts of the human's remaining identities that `to` names; null if there is no `to`. */
  readonly namedOf: (human: Human) => readonly Identity[] | null;
  /**
   * What an actor of this person carries beside these rows so that the rule speaks of it: nothing, or one group. Null if there is no
   * such actor.
   */
  readonly beside: (human: Human, carried: RowNumbers) => Beside | null;
  /** Whether an actor of somebody carries these groups, and the rule speaks of it: what it carries besides, as above. */
  readonly anyoneBeside: (groups: readonly number[]) => Beside | null;
  /** Whether the rule may speak of people who have no identity that `to` names. */
  readonly namesGroups: boolean;
}

export function makeSpeech(world: World, { to, except }: Parties): Speech {
  const { people, actors, spend } = world;
  const left = makeNamed(world, { ...except, providers: [] }, 'always');
  const named = to === null ? null : makeNamed(world, to, 'ever');
  const counts = (row: number): boolean => named === null || named.row(row);
  const { identityOf } = people;
  const isNamed = (row: number): boolean => named?.row(row) === true && !left.row(row);
  const isCounted = (identity: Identity): boolean => {
    const row = identityRow(world.policy, identity);
    if (row !== undefined) return isNamed(row);
    return named?.identity(identity) === true && !left.identity(identity);
  };
  const toGroups = groupsOf(world, to, isCounted);
  const toProviders = new Set(to?.providers);
  const speaksOf = ({ own, strange }: Human): boolean =>
    to === null || strange.some((provider) => toProviders.has(provider)) || own.some(isCounted);
  // Each identity of a person asks again.
  const spokenOf = new Map(people.named.map((person): [Human, boolean] => [person, speaksOf(person)]));
  const isSpokenOf = (human: Human): boolean => spokenOf.get(human) ?? speaksOf(human);
  const mayCarry = (human: Human, identities: readonly Identity[]): boolean => {
    if (actors.mayCarry(human, identities)) return true;
    // Then others are tried.
    spend(STEPS_OF.pair + identities.length);
    return false;
  };
  const beside = (human: Human, carried: RowNumbers): Beside | null => {
    const identities = Array.from(carried, identityOf);
    if (isSpokenOf(human)) return mayCarry(human, identities) ? [] : null;
    if (toGroups.size === 0) return null;
    spend(human.own.length + human.strange.length);
    for (const provider of providersOf(human)) {
      for (const group of toGroups.get(provider) ?? []) {
        const isCarried = identities.some((one) => one.provider === group.provider && one.subject === group.subject);
        if (mayCarry(human, isCarried ? identities : [...identities, group]))
          return isCarried ? [] : [formatIdentity(group)];
      }
    }
    return null;
  };
  const humans = humansByProvider(world, { isSpokenOf, isNamed, toGroups, to });
  return {
    isLeftOut: (row) => left.row(row),
    counts,
    namedOf: ({ own }) => (to === null ? null : own.filter(isCounted)),
    beside,
    anyoneBeside: (groups) => {
      const [first = -1] = groups;
      for (const human of humans(first)) {
        const found = beside(human, groups);
        if (found !== null) return found;
      }
      return null;
    },
    namesGroups: toGroups.size > 0,
  };
}

/** By provider, the groups that `to` names: those of the policy, and those that only the rule names. */
function groupsOf(
  { policy, people }: World,
  to: Parties['to'],
  isCounted: (identity: Identity) => boolean,
): ReadonlyMap<string, readonly Identity[]> {
  if (to === null) return new Map();
  const unseen = to.identities.filter((identity) => identityRow(policy, identity) === undefined);
  const known = [...people.groupsOf.values()].flat().map(people.identityOf);
  const found = new Map<string, Identity[]>();
  for (const group of [...known, ...unseen]) {
    const provider = providerOfGroup(group.provider);
    if (provider !== null && isCounted(group)) addTo(found, provider, group);
  }
  return found;
}

/** For a group, those whose actors may carry it and of whom the rule may speak: somebody whom the policy does not name comes first. */
function humansByProvider(
  { policy, people, actors }: World,
  {
    isSpokenOf,
    isNamed,
    toGroups,
    to,
  }: {
    readonly isSpokenOf: (human: Human) => boolean;
    readonly isNamed: (row: number) => boolean;
    readonly toGroups: ReadonlyMap<string, readonly Identity[]>;
    readonly to: Parties['to'];
  },
): (group: number) => readonly Human[] {
  const byProvider = new Map<string, Human[]>();
  if (people.groupsOf.size === 0) return () => [];
  for (const provider of people.groupsOf.keys()) addTo(byProvider, provider, { own: [], strange: [provider] });
  const add = (human: Human): void => {
    const providers = providersOf(human);
    const mayBeSpokenOf = isSpokenOf(human) || [...providers].some((provider) => toGroups.has(provider));
    if (mayBeSpokenOf)
      for (const provider of providers) if (people.groupsOf.has(provider)) addTo(byProvider, provider, human);
  };
  for (const person of people.named) add(person);
  if (to !== null) {
    // Of those who are alone, one stands for all whom no `exclusive` list has.
    const free = new Set<string>();
    const addSingle = (identity: Identity): void => {
      const human = { own: [identity], strange: [] };
      if (free.has(identity.provider) || !isSpokenOf(human)) return;
      if (!actors.isListed(identity)) free.add(identity.provider);
      add(human);
    };
    for (const identity of to.identities) addSingle(identity);
    for (let row = 0; row < policy.tables.identities.subject.length; row += 1)
      if (isNamed(row) && !people.ofIdentity.has(row) && !people.isGroup(row)) addSingle(people.identityOf(row));
  }
  return (group) => byProvider.get(providerOfGroup(people.identityOf(group).provider) ?? '') ?? [];
}
