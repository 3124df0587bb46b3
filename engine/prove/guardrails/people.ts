// The people and groups of a policy. An identity that `people` does not name is a person of its own; a group is nobody's.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { addTo, remember } from '../../model/group.js';
import type { Identity } from '../../model/identity.js';
import type { PolicyPerson } from '../../model/policy-set.js';
import { identityAt } from '../../model/tables.js';
import { identityRow } from '../cells/identities.js';
import { type Human, providerOfGroup } from './actors.js';

/** A human whom `people` names. */
export interface Person extends Human {
  readonly name: string;
  /** The sorted rows of the identities, without groups, that the policy grants something or has in a role. */
  readonly rows: Int32Array;
  /** Identities that the policy names only in `people`. They hold nothing, but a guardrail may name them. */
  readonly others: readonly Identity[];
}

export interface People {
  readonly named: readonly Person[];
  /** The named person of an identity row. */
  readonly ofIdentity: ReadonlyMap<number, Person>;
  /** Every identity that `people` names belongs to somebody, also those without a row. */
  readonly identityOf: (row: number) => Identity;
  readonly isGroup: (row: number) => boolean;
  /** By provider, the rows of its groups. */
  readonly groupsOf: ReadonlyMap<string, readonly number[]>;
}

export function makePeople(policy: PreparedPolicy, declared: readonly PolicyPerson[]): People {
  const { tables } = policy;
  const named = declared.map(({ name, identities }): Person => {
    const own = identities.filter(({ provider }) => providerOfGroup(provider) === null);
    const rows = own.map((identity) => identityRow(policy, identity));
    return {
      name,
      own,
      // Somebody who is known by a group has signed in there.
      strange: identities.flatMap(({ provider }) => providerOfGroup(provider) ?? []),
      rows: Int32Array.from(rows.filter((row) => row !== undefined)).sort(),
      others: own.filter((_, i) => rows[i] === undefined),
    };
  });
  const claimedBy = tables.providers.map(providerOfGroup);
  const groupsOf = new Map<string, number[]>();
  if (claimedBy.some((provider) => provider !== null)) {
    tables.identities.provider.forEach((provider, row) => {
      const claims = claimedBy[provider] ?? null;
      if (claims !== null) addTo(groupsOf, claims, row);
    });
  }
  return {
    named,
    ofIdentity: new Map(named.flatMap((person) => Array.from(person.rows, (row) => [row, person]))),
    identityOf: remember((row: number) => identityAt(tables, row)),
    isGroup: (row) => (claimedBy[tables.identities.provider[row] ?? -1] ?? null) !== null,
    groupsOf,
  };
}
