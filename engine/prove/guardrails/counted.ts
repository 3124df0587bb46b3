// Which people and groups count for one guardrail. A person counts with the identities that `except` leaves, and by a number: the row of
// the first of them. A group counts if the rule speaks of somebody who may be in it; its number is its row.
import { remember } from '../../model/group.js';
import { formatIdentity } from '../../model/identity.js';
import { sortTexts } from '../../model/order.js';
import type { Parties } from '../../model/policy-set.js';
import { unionOfRows } from '../../model/row-lists.js';
import { countPrincipals } from '../../model/tables.js';
import { type Party, principalsOfClass } from '../cells/identities.js';
import type { Human } from './actors.js';
import { makeNamed } from './named.js';
import type { RowNumbers, World } from './scene.js';
import { type Beside, makeSpeech, type Speech } from './speech.js';

export interface Counted {
  /** The people and groups who are a principal or are in it with an identity that counts, sorted. */
  readonly reach: (principal: number) => RowNumbers;
  /** The person or group as which an identity counts; -1 if it does not. */
  readonly personOf: (identity: number) => number;
  /** The identities of a person that count, sorted; of a group the group. */
  readonly identitiesOf: (person: number) => RowNumbers;
  /** The person's identities that `to` names, as texts; empty if there is no `to`. */
  readonly namedBy: (person: number) => readonly string[];
  /** The group without which the rule does not speak of the person: none or one. Null if it speaks of everybody by themselves. */
  readonly beside: ((person: number) => Beside) | null;
  /** All who count. */
  readonly parties: () => Iterable<Party>;
  /** Whether some person counts with several identities. */
  readonly hasSeveral: boolean;
}

/** People and groups, people alone, or groups alone. `apart`: identities of a person that are in an `exclusive` list count one by one. */
export type Whom = 'all' | 'apart' | 'people' | 'groups';

/** The person of an identity that does not count. */
const NOBODY = -1;

/**
 * Counts the identities of some providers and of their group claims, each by itself and regardless of `people`. This is for a rule about
 * grants, and a grant to a group is a grant to everybody in it.
 */
export function countProviders(world: World, providers: readonly string[]): Counted {
  const isNamed = makeNamed(world, { providers, roles: [], identities: [] }, 'ever');
  const personOf = rowsThat(world, isNamed.row);
  return countedBy(world, { personOf, several: new Map(), namedBy: new Map(), beside: null });
}

export function countPeople(world: World, parties: Parties, whom: Whom): Counted {
  const { people, actors } = world;
  const speech = makeSpeech(world, parties);
  const { isLeftOut, counts } = speech;
  const personOf = rowsThat(world, (row) => {
    if (isLeftOut(row)) return false;
    if (people.isGroup(row)) return whom !== 'people' && speech.anyoneBeside([row]) !== null;
    if (whom === 'groups') return false;
    if (people.ofIdentity.has(row) || counts(row)) return true;
    return speech.namesGroups && speech.beside(humanOf(world, row), [row]) !== null;
  });
  const several = new Map<number, RowNumbers>();
  const namedBy = new Map<number, readonly string[]>();
  for (const person of people.named) {
    const remaining = person.rows.filter((row) => {
      const isCounted = personOf[row] !== NOBODY && speech.beside(person, [row]) !== null;
      if (!isCounted) personOf[row] = NOBODY;
      return isCounted;
    });
    const named = speech.namedOf(person)?.map(formatIdentity);
    const isApart = whom === 'apart' && person.own.some(actors.isListed);
    const [first = NOBODY] = remaining;
    if (!isApart) for (const row of remaining) personOf[row] = first;
    if (!isApart && remaining.length > 1) several.set(first, remaining);
    if (named !== undefined)
      for (const row of isApart ? remaining : remaining.slice(0, 1)) namedBy.set(row, sortTexts(named));
  }
  return countedBy(world, { personOf, several, namedBy, beside: besideOf(world, speech, several) });
}

function besideOf(world: World, speech: Speech, several: ReadonlyMap<number, RowNumbers>): Counted['beside'] {
  if (!speech.namesGroups) return null;
  return remember((person: number) => {
    if (world.people.isGroup(person)) return speech.anyoneBeside([person]) ?? [];
    const human = humanOf(world, person);
    // What one identity needs, all of a person's that are in no `exclusive` list do.
    const rows = several.get(person) ?? [person];
    return speech.beside(human, rows) ?? speech.beside(human, [person]) ?? [];
  });
}

/** Whose identity it is. */
export function humanOf({ people }: World, row: number): Human {
  return people.ofIdentity.get(row) ?? { own: [people.identityOf(row)], strange: [] };
}

const NO_ROWS = new Int32Array(0);

/** 1 for each principal with grants that somebody who counts is or is in. */
function principalsWith({ tables, holders }: World['policy'], personOf: Int32Array): Uint8Array {
  const found = new Uint8Array(countPrincipals(tables));
  const isSeen = new Uint8Array(holders.count);
  for (let row = 0; row < personOf.length; row += 1) {
    const holder = holders.classOf[row] ?? -1;
    if (personOf[row] === NOBODY || holder < 0 || isSeen[holder] === 1) continue;
    isSeen[holder] = 1;
    for (const principal of principalsOfClass({ holders }, holder)) found[principal] = 1;
  }
  return found;
}

/** Each identity that counts as a person of its own. */
function rowsThat({ policy }: World, counts: (row: number) => boolean): Int32Array {
  return new Int32Array(policy.tables.identities.subject.length).map((_, row) => (counts(row) ? row : NOBODY));
}

interface Counting {
  /** For each identity row, the person that it counts as. */
  readonly personOf: Int32Array;
  /** The people who count with several identities. */
  readonly several: ReadonlyMap<number, RowNumbers>;
  readonly namedBy: ReadonlyMap<number, readonly string[]>;
  readonly beside: Counted['beside'];
}

function countedBy({ policy, reach }: World, { personOf, several, namedBy, beside }: Counting): Counted {
  const isPlain = personOf.every((person, row) => person === row);
  const isReached = isPlain ? null : principalsWith(policy, personOf);
  const reachOf = (principal: number): Int32Array => {
    // Most rules are about few people, and most roles have many.
    if (isReached !== null && isReached[principal] !== 1) return NO_ROWS;
    const people = reach(principal).map((row) => personOf[row] ?? NOBODY);
    const counted = people.filter((person) => person !== NOBODY);
    return several.size === 0 ? counted : unionOfRows([counted]);
  };
  const identitiesOf = (person: number): RowNumbers => several.get(person) ?? [person];
  return {
    reach: isPlain ? reach : remember(reachOf),
    personOf: (identity) => personOf[identity] ?? NOBODY,
    identitiesOf,
    namedBy: (person) => namedBy.get(person) ?? [],
    beside,
    hasSeveral: several.size > 0,
    *parties() {
      for (let row = 0; row < personOf.length; row += 1)
        if (personOf[row] === row) yield { row, identities: identitiesOf(row) };
    },
  };
}
