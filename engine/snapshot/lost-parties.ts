// Of whom a guardrail no longer speaks: the roles and people that its `to` loses. Many guardrails may name large roles, each with other ones
// beside them. So roles and identities have numbers here, and those that were seen are marked.
import { addTo, remember } from '../model/group.js';
import { formatIdentity, GROUP_SUFFIX } from '../model/identity.js';
import type { Audience, PolicySet } from '../model/policy-set.js';
import { namedIdentities } from './resolve-parties.js';

interface Lost {
  /** Roles of the new policy, with those inside them. */
  readonly roles: readonly string[];
  readonly people: readonly string[];
}

export function makeLost(old: PolicySet, changed: PolicySet): (was: Audience, is: Audience) => Lost {
  const marks = { roles: makeMarks(), people: makeMarks() };
  const { roles, people } = marks;
  const [before, now] = [makeNaming(old, marks), makeNaming(changed, marks)];
  // Members come and go: whoever leaves the policy was not let off. But who is in a group is decided elsewhere, so people are let off even
  // by a group that left.
  const isLetOff = remember((person: number) => {
    const isGone = before.everybody().has(person) && !now.everybody().has(person);
    return Number(!isGone || providerOf(people.textOf(person)).endsWith(GROUP_SUFFIX));
  });
  return (was, is) => {
    // Whoever joins a role that was named before counts as well.
    const sides = [before, now].map((naming) => ({ naming, reached: naming.reached(was.roles) }));
    const still = now.reached(is.roles);
    const lostRoles = sides.flatMap(({ reached }) => reached.filter((role) => roles.mark(role) && now.hasRole(role)));

    people.unmark();
    for (const identity of is.identities) people.mark(people.numberOf(formatIdentity(identity)));
    for (const role of still) for (const person of now.peopleIn(role)) people.mark(person);
    const lost: number[] = [];
    const lose = (some: readonly number[]): void => {
      for (const person of some) if (people.mark(person) && isLetOff(person) === 1) lost.push(person);
    };
    const providers = new Set(is.providers.flatMap(withGroups));
    const lostProviders = was.providers.flatMap(withGroups).filter((provider) => !providers.has(provider));
    lose(was.identities.map((identity) => people.numberOf(formatIdentity(identity))));
    for (const { naming, reached } of sides) {
      for (const role of reached) lose(naming.peopleIn(role));
      for (const provider of lostProviders) lose(naming.ofProvider(provider));
    }
    return {
      roles: lostRoles.map((role) => roles.textOf(role)),
      people: lost.map((person) => people.textOf(person)).filter((text) => !providers.has(providerOf(text))),
    };
  };
}

/** `remember` for numbers that follow each other. */
function inTable(listOf: (number: number) => readonly number[]): (number: number) => readonly number[] {
  const table: (readonly number[])[] = [];
  return (number) => (table[number] ??= listOf(number));
}

function withGroups(provider: string): readonly string[] {
  return [provider, provider + GROUP_SUFFIX];
}

function providerOf(identity: string): string {
  return identity.slice(0, identity.indexOf(':'));
}

/** Numbers of texts, which can be marked. */
interface Marks {
  readonly numberOf: (text: string) => number;
  readonly textOf: (number: number) => string;
  /** Whether it was not marked yet. */
  readonly mark: (number: number) => boolean;
  readonly unmark: () => void;
}

function makeMarks(): Marks {
  const numbers = new Map<string, number>();
  const texts: string[] = [];
  const markedIn: number[] = [];
  let round = 1;
  return {
    numberOf: (text) => {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      numbers.set(text, texts.length);
      markedIn.push(0);
      return texts.push(text) - 1;
    },
    textOf: (number) => texts[number] ?? '',
    mark: (number) => {
      if (markedIn[number] === round) return false;
      markedIn[number] = round;
      return true;
    },
    unmark: () => {
      round += 1;
    },
  };
}

/** Whom a policy names by what, in numbers. */
interface Naming {
  readonly hasRole: (role: number) => boolean;
  /** These roles, and those inside them; marks them alone. */
  readonly reached: (names: readonly string[]) => readonly number[];
  /** The identities that a role names itself. */
  readonly peopleIn: (role: number) => readonly number[];
  readonly ofProvider: (provider: string) => readonly number[];
  /** Whom the policy names beside in guardrails. */
  readonly everybody: () => ReadonlySet<number>;
}

function makeNaming(set: PolicySet, { roles, people }: { readonly roles: Marks; readonly people: Marks }): Naming {
  const members = new Map(set.roles.map((role) => [roles.numberOf(role.name), role.members]));
  const rolesIn = inTable((role) =>
    (members.get(role) ?? []).flatMap((one) => (one.kind === 'role' ? [roles.numberOf(one.role)] : [])),
  );
  const peopleIn = inTable((role) =>
    (members.get(role) ?? []).flatMap((one) =>
      one.kind === 'identity' ? [people.numberOf(formatIdentity(one.identity))] : [],
    ),
  );
  let named: ReadonlySet<number> | null = null;
  const everybody = (): ReadonlySet<number> =>
    (named ??= new Set(namedIdentities(set).map((identity) => people.numberOf(formatIdentity(identity)))));
  let byProvider: Map<string, number[]> | null = null;
  return {
    hasRole: (role) => members.has(role),
    reached: (names) => {
      roles.unmark();
      const reached = names.map((name) => roles.numberOf(name)).filter((role) => roles.mark(role));
      // Iterating a list also visits what is added meanwhile.
      for (const role of reached) for (const inner of rolesIn(role)) if (roles.mark(inner)) reached.push(inner);
      return reached;
    },
    peopleIn,
    ofProvider: (provider) => {
      if (byProvider === null) {
        byProvider = new Map();
        for (const person of everybody()) addTo(byProvider, providerOf(people.textOf(person)), person);
      }
      return byProvider.get(provider) ?? [];
    },
    everybody,
  };
}
