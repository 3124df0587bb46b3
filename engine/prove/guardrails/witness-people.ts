// Which people a witness names, and which of their identities brings what: a human who breaks a rule by several
// identities is reported as one.
import { compareTexts } from '../../model/order.js';
import type { ScopeName } from '../../model/scope.js';
import { identityText } from '../cells/identity-groups.js';
import { scopesOf } from '../cells/regions.js';
import type { Scene } from './counted.js';
import type { RowNumbers, Sighting } from './world.js';

/** One of the identities of a person that bring what the witness is about. */
export interface WitnessPart {
  /** `provider:subject` */
  readonly identity: string;
  /** Of the scopes of the witness; absent, as `grants` is, where a guardrail would name more than `limits.witnessNames`. */
  readonly scopes?: readonly ScopeName[];
  /** Ids of those grants of the witness that it holds, sorted. */
  readonly grants?: readonly string[];
}

/** A person that the policy names in `people`. */
export interface WitnessPerson {
  readonly person: string;
  /** Sorted by identity. */
  readonly identities: readonly WitnessPart[];
  /** Other identities of theirs, by which `to` of the guardrail names them; absent if it names one of `identities`. */
  readonly namedBy?: readonly string[];
}

export interface Bringers {
  /** Rows of the identities that bring what is sighted, sorted. */
  readonly identitiesOf: (sighting: Sighting) => RowNumbers;
  /** Sorted by name. */
  readonly peopleOf: (sighting: Sighting) => readonly WitnessPerson[];
}

/** For all sightings of one guardrail. */
export function makeBringers(scene: Scene, sightings: readonly Sighting[]): Bringers {
  const { policy, people, counted, reach, limits } = scene;
  const { grants } = policy.tables;
  const holds = (identity: number, grant: number): boolean => isIn(reach(grants.principal[grant] ?? 0), identity);
  const namedIn = ({ identities }: Sighting): RowNumbers => identities.filter((one) => people.ofIdentity(one) !== null);
  const bringing = (person: number, by: readonly number[]): RowNumbers => {
    const rows = counted.identitiesOf(person);
    return rows.length === 1 ? rows : rows.filter((identity) => by.some((grant) => holds(identity, grant)));
  };
  let names = 0;
  for (const sighting of sightings) names += namedIn(sighting).length * grantsIn(sighting).length;
  const isTold = names <= limits.witnessNames;

  const partOf = (identity: number, sighting: Sighting, by: readonly number[]): WitnessPart => {
    const text = identityText(policy, identity);
    if (!isTold) return { identity: text };
    const own = by.filter((grant) => holds(identity, grant));
    const given = own.reduce((all, grant) => all | (grants.scopes[grant] ?? 0), 0);
    const ids = own.map((grant) => grants.id[grant] ?? '').sort(compareTexts);
    return { identity: text, scopes: scopesOf(given & scopesIn(sighting)), grants: ids };
  };
  return {
    identitiesOf: (sighting) => {
      if (!counted.hasSeveral) return sighting.identities;
      const by = grantsIn(sighting);
      return Array.from(sighting.identities, (person) => [...bringing(person, by)])
        .flat()
        .sort((a, b) => a - b);
    },
    peopleOf: (sighting) => {
      const by = grantsIn(sighting);
      const told = Array.from(namedIn(sighting), (one): WitnessPerson => {
        const identities = Array.from(bringing(one, by), (identity) => partOf(identity, sighting, by));
        identities.sort((a, b) => compareTexts(a.identity, b.identity));
        const person = people.ofIdentity(one)?.name ?? '';
        const namedBy = counted.namedBy(one);
        const isPlain = namedBy.length === 0 || identities.some(({ identity }) => namedBy.includes(identity));
        return { person, identities, ...(isPlain ? {} : { namedBy }) };
      });
      return told.sort((a, b) => compareTexts(a.person, b.person));
    },
  };
}

function grantsIn({ grants, also = [] }: Sighting): readonly number[] {
  return also.length === 0 ? grants : [...new Set([...grants, ...also.flatMap((more) => more.grants)])];
}

function scopesIn({ scopes, also = [] }: Sighting): number {
  return also.reduce((all, more) => all | more.scopes, scopes);
}

/** Whether a sorted list has a row. */
function isIn(rows: Int32Array, wanted: number): boolean {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle] ?? Infinity) < wanted) low = middle + 1;
    else high = middle;
  }
  return rows[low] === wanted;
}
