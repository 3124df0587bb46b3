// The people of a policy over its rows: which identities belong to one human. An identity that `people` does not name
// is a person of its own.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { Identity } from '../../model/identity.js';
import type { PolicyPerson } from '../../model/policy-set.js';

export interface Person {
  readonly name: string;
  /** Rows of those identities that the policy gives something or has in a role, sorted. */
  readonly rows: Int32Array;
  /** Those that it names nowhere else: they hold nothing, but a guardrail may be about them. */
  readonly others: readonly Identity[];
}

export interface People {
  readonly named: readonly Person[];
  /** By identity row, which named person it is; null if none. */
  readonly ofIdentity: (identity: number) => Person | null;
}

export function makePeople({ identityRows }: PreparedPolicy, declared: readonly PolicyPerson[]): People {
  const byRow = new Map<number, Person>();
  const named = declared.map(({ name, identities }) => {
    const rows: number[] = [];
    const others: Identity[] = [];
    for (const identity of identities) {
      const row = identityRows.get(identity.provider)?.get(identity.subject);
      if (row === undefined) others.push(identity);
      else rows.push(row);
    }
    const person = { name, rows: Int32Array.from(rows).sort(), others };
    for (const row of rows) byRow.set(row, person);
    return person;
  });
  return { named, ofIdentity: (identity) => byRow.get(identity) ?? null };
}
