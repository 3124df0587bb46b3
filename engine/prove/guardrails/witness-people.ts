// Which people a witness names, and what each of their identities contributes. A human who breaks a rule with several identities is
// reported as one person.
import { commonScopes, NO_SCOPES, scopeNames, type ScopeSet, uniteScopes } from '../../model/scope-set.js';
import { compareTexts, sortTexts } from '../../model/order.js';
import { firstFrom, sortedRows } from '../../model/row-lists.js';
import type { ScopeName } from '../../model/scope.js';
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
  const { policy, people, counted, reach, limits } = scene;
  const { grants } = policy.tables;
  const holds = (identity: number, grant: number): boolean => isIn(reach(grants.principal[grant] ?? 0), identity);
  const namedIn = (sighting: Sighting): RowNumbers => sighting.people.filter((one) => people.ofIdentity.has(one));
  const bringing = (person: number, by: RowNumbers): RowNumbers => {
    const rows = counted.identitiesOf(person);
    return rows.length === 1 ? rows : rows.filter((identity) => by.some((grant) => holds(identity, grant)));
  };
  const names = sightings.reduce((sum, sighting) => sum + namedIn(sighting).length * grantsIn(sighting).length, 0);

  const partOf = (identity: number, sighting: Sighting, by: RowNumbers): WitnessPart => {
    const text = identityText(policy.tables, identity);
    if (names > limits.witnessNames) return { identity: text };
    const own = [...by].filter((grant) => holds(identity, grant));
    const given = uniteScopes(own.map((grant) => grants.scopes[grant] ?? NO_SCOPES));
    const ids = own.map((grant) => statedId(grants.id[grant] ?? ''));
    return {
      identity: text,
      scopes: scopeNames(commonScopes(given, scopesIn(sighting))),
      grants: sortTexts(new Set(ids)),
    };
  };
  const personOf = (one: number, sighting: Sighting, by: RowNumbers): WitnessPerson => {
    const identities = Array.from(bringing(one, by), (identity) => partOf(identity, sighting, by));
    const namedBy = counted.namedBy(one);
    const isPlain = namedBy.length === 0 || identities.some(({ identity }) => namedBy.includes(identity));
    return {
      person: people.ofIdentity.get(one)?.name ?? '',
      identities: identities.sort((a, b) => compareTexts(a.identity, b.identity)),
      ...(isPlain ? {} : { namedBy }),
    };
  };
  return {
    identitiesOf: (sighting) => {
      if (!counted.hasSeveral) return sighting.people;
      const by = grantsIn(sighting);
      return sortedRows(Array.from(sighting.people, (person) => bringing(person, by)));
    },
    peopleOf: (sighting) => {
      const by = grantsIn(sighting);
      return Array.from(namedIn(sighting), (one) => personOf(one, sighting, by)).sort((a, b) =>
        compareTexts(a.person, b.person),
      );
    },
  };
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
