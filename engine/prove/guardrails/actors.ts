// Which identities an actor may carry together (docs/meaning.md "Actors"): identities of one person, and any groups of the providers
// that these are from. Who is in a group is decided elsewhere, so whoever has an identity of a provider may be in each of its groups.
// No actor carries two identities of an `exclusive` list.
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../../model/identity.js';
import type { ProofBudget } from './proof-budget.js';

/** A person, or somebody whom no policy names. */
export interface Human {
  /** Identities that are not groups. */
  readonly own: readonly Identity[];
  /** Providers of which they have an identity that the policy does not name. */
  readonly strange: readonly string[];
}

/** The provider that claims a group; null for an identity that is not a group. */
export function providerOfGroup(provider: string): string | null {
  return provider.endsWith(GROUP_SUFFIX) ? provider.slice(0, -GROUP_SUFFIX.length) : null;
}

export function providersOf({ own, strange }: Human): ReadonlySet<string> {
  return new Set([...own.map(({ provider }) => provider), ...strange]);
}

export interface Actors {
  /** Whether an `exclusive` list has the identity. */
  readonly isListed: (identity: Identity) => boolean;
  /** Whether some actor of the person carries all of these: own identities of the person, and groups. */
  readonly mayCarry: (human: Human, carried: readonly Identity[]) => boolean;
}

export function makeActors(exclusive: readonly (readonly Identity[])[], spend: ProofBudget['spend']): Actors {
  const listsOf = new Map<string, Set<number>>();
  exclusive.forEach((identities, list) => {
    for (const identity of identities) {
      const text = formatIdentity(identity);
      const lists = listsOf.get(text) ?? new Set();
      listsOf.set(text, lists.add(list));
    }
  });
  /** Whether a list has two of them. */
  const areApart = (carried: readonly Identity[]): boolean => {
    if (listsOf.size === 0) return false;
    const taken = new Map<number, string>();
    for (const text of carried.map(formatIdentity)) {
      const lists = listsOf.get(text) ?? new Set();
      spend(lists.size);
      for (const list of lists) {
        if ((taken.get(list) ?? text) !== text) return true;
        taken.set(list, text);
      }
    }
    return false;
  };
  // Each group comes with an identity of its provider.
  const isCarried = (human: Human, carried: readonly Identity[], lacking: readonly string[]): boolean => {
    const [provider, ...more] = lacking;
    if (provider === undefined) return true;
    if (human.strange.includes(provider)) return isCarried(human, carried, more);
    spend(human.own.length);
    return human.own.some((one) => {
      const all = [...carried, one];
      return one.provider === provider && !areApart(all) && isCarried(human, all, more);
    });
  };
  return {
    isListed: (identity) => listsOf.size > 0 && listsOf.has(formatIdentity(identity)),
    mayCarry: (human, carried) => {
      if (areApart(carried)) return false;
      const own = new Set(carried.map(({ provider }) => provider));
      const needed = new Set(carried.flatMap(({ provider }) => providerOfGroup(provider) ?? []));
      return isCarried(
        human,
        carried,
        [...needed].filter((provider) => !own.has(provider)),
      );
    },
  };
}
