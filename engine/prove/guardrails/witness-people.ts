// Which people a witness names, and what each of their identities contributes. A human who breaks a rule with several identities is
// reported as one person.
import { groupBy, remember } from '../../model/group.js';
import { commonScopes, NO_SCOPES, scopeNames, type ScopeSet, uniteScopes } from '../../model/scope-set.js';
import { compareTexts, sortTexts } from '../../model/order.js';
import { firstFrom, sortedRows } from '../../model/row-lists.js';
import type { ScopeName } from '../../model/scope.js';
import { principalsOfClass } from '../cells/identities.js';
import type { RowNumbers, Scene, Sighting } from './scene.js';
import { statedId } from '../../model/narrow-members.js';
import { identityText } from '../../model/tables.js';

/** One identity of a person that holds some of the witness's cells. */
export interface WitnessPart {
  /** `provider:subject` */
  readonly identity: string;
  /** The scopes of the witness that it holds. Absent, like `grants`, if a guardrail would name more than `limits.witnessNames`. */
  readonly scopes?: readonly ScopeName[];
  /** The sorted ids of the witness's grants that it holds. */
  readonly grants?: readonly string[];
}

/** A person that the policy names in `people`. */
export interface WitnessPerson {
  readonly person: string;
  /** Sorted by identity. */
  readonly identities: readonly WitnessPart[];
  /** The person's other identities that `to` of the guardrail names; absent if it names one of `identities`. */
  readonly namedBy?: readonly string[];
}

export interface Bringers {
  /** The sorted rows of the identities that hold what was sighted. */
  readonly identitiesOf: (sighting: Sighting) => RowNumbers;
  /** Sorted by name. */
  readonly peopleOf: (sighting: Sighting) => readonly WitnessPerson[];
}

/** For all sightings of one guardrail. */
export function makeBringers(scene: Scene, sightings: readonly Sighting[]): Bringers {
  const { policy, people, counted, limits } = scene;
  const { grants } = policy.tables;
  const namedIn = (sighting: Sighting): RowNumbers => sighting.people.filter((one) => people.ofIdentity.has(one));
  const { broughtIn, pairs } = makeBrought(scene, sightings);
  const names = sightings.reduce((sum, sighting) => sum + namedIn(sighting).length * grantsIn(sighting).length, 0);
  const isShort = Math.max(names, pairs) > limits.witnessNames;
  const bringing = (sighting: Sighting, person: number): RowNumbers => {
    const rows = counted.identitiesOf(person);
    return rows.length === 1 ? rows : (broughtIn(sighting).get(person) ?? []);
  };

  const partOf = (identity: number, sighting: Sighting, by: GrantsByPrincipal): WitnessPart => {
    const text = identityText(policy.tables, identity);
    if (isShort) return { identity: text };
    const own = heldBy(scene, identity, by);
    const given = uniteScopes(own.map((grant) => grants.scopes[grant] ?? NO_SCOPES));
    const ids = own.map((grant) => statedId(grants.id[grant] ?? ''));
    return {
      identity: text,
      scopes: scopeNames(commonScopes(given, scopesIn(sighting))),
      grants: sortTexts(new Set(ids)),
    };
  };
  const namedBy = remember((person: number) => new Set(counted.namedBy(person)));
  const personOf = (one: number, sighting: Sighting, by: GrantsByPrincipal): WitnessPerson => {
    const identities = Array.from(bringing(sighting, one), (identity) => partOf(identity, sighting, by));
    const named = namedBy(one);
    const isPlain = named.size === 0 || identities.some(({ identity }) => named.has(identity));
    return {
      person: people.ofIdentity.get(one)?.name ?? '',
      identities: identities.sort((a, b) => compareTexts(a.identity, b.identity)),
      ...(isPlain ? {} : { namedBy: counted.namedBy(one) }),
    };
  };
  return {
    identitiesOf: (sighting) => {
      if (!counted.hasSeveral) return sighting.people;
      return sortedRows(Array.from(sighting.people, (person) => bringing(sighting, person)));
    },
    peopleOf: (sighting) => {
      const by = byPrincipal(scene, sighting);
      return Array.from(namedIn(sighting), (one) => personOf(one, sighting, by)).sort((a, b) =>
        compareTexts(a.person, b.person),
      );
    },
  };
}

/** The grants of a sighting, by their principals. */
type GrantsByPrincipal = ReadonlyMap<number, readonly number[]>;

function byPrincipal({ policy }: Scene, sighting: Sighting): GrantsByPrincipal {
  return groupBy(grantsIn(sighting), (grant) => policy.tables.grants.principal[grant] ?? 0);
}

interface Brought {
  /** The people of a sighting who count with several identities, with those that hold what was sighted, sorted. */
  readonly broughtIn: (sighting: Sighting) => ReadonlyMap<number, RowNumbers>;
  /** The number of pairs of such an identity and a grant that it holds; not exact beyond the limit of names. */
  readonly pairs: number;
}

/** Goes from grants to identities, because somebody may have many identities of which each holds little. */
function makeBrought(scene: Scene, sightings: readonly Sighting[]): Brought {
  const { counted, reach, limits } = scene;
  const brought = new Map<Sighting, ReadonlyMap<number, RowNumbers>>();
  const isOneOfSeveral = (identity: number): boolean => counted.identitiesOf(counted.personOf(identity)).length > 1;
  const severalIn = remember((principal: number) => reach(principal).filter(isOneOfSeveral));
  let pairs = 0;
  const bring = (sighting: Sighting): void => {
    const several = new Set(sighting.people.filter((person) => counted.identitiesOf(person).length > 1));
    const all = Array.from(several).reduce((sum, person) => sum + counted.identitiesOf(person).length, 0);
    const found = new Set<number>();
    for (const [principal, own] of byPrincipal(scene, sighting)) {
      if (found.size === all && pairs > limits.witnessNames) break;
      for (const identity of severalIn(principal)) {
        if (!several.has(counted.personOf(identity))) continue;
        found.add(identity);
        pairs += own.length;
      }
    }
    brought.set(sighting, groupBy(sortedRows([[...found]]), counted.personOf));
  };
  if (counted.hasSeveral) sightings.forEach(bring);
  return { broughtIn: (sighting) => brought.get(sighting) ?? new Map<number, RowNumbers>(), pairs };
}

function heldBy({ policy }: Scene, identity: number, by: GrantsByPrincipal): readonly number[] {
  const principals = principalsOfClass(policy, policy.holders.classOf[identity] ?? -1);
  if (principals.length < by.size) return Array.from(principals).flatMap((principal) => by.get(principal) ?? []);
  return [...by].flatMap(([principal, own]) => (isIn(principals, principal) ? own : []));
}

function grantsIn({ grants, also = [] }: Sighting): RowNumbers {
  return also.length === 0
    ? grants
    : [...new Set([grants, ...also.map((more) => more.grants)].flatMap((rows) => [...rows]))];
}

function scopesIn({ scopes, also = [] }: Sighting): ScopeSet {
  return uniteScopes([scopes, ...also.map((more) => more.scopes)]);
}

/** Whether a sorted list has a row. */
function isIn(rows: Int32Array, wanted: number): boolean {
  return rows[firstFrom(rows.length, (i) => (rows[i] ?? Infinity) >= wanted)] === wanted;
}
