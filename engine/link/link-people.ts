// The people of a policy: each name is used once, and no identity belongs to two people.
import type { IdentityReference, PolicyDocument } from '../model/document.js';
import { formatIdentity } from '../model/identity.js';
import type { PolicyExclusive, PolicyPerson } from '../model/policy-set.js';
import { type Names, refuseRepeated } from './names.js';
import { placeOf, relatedAt } from './places.js';
import { checkIdentity } from './references.js';

interface Declared {
  readonly document: PolicyDocument;
  readonly at: IdentityReference;
  readonly person: string;
}

export function linkPeople(documents: readonly PolicyDocument[], names: Names): readonly PolicyPerson[] {
  const refuse = refuseRepeated(names.sink, {
    code: 'PERSON_DUPLICATE',
    message: (name) => `the person \`${name}\` is declared twice`,
    help: 'merge their identities, or rename one',
  });
  const byIdentity = new Map<string, Declared>();
  return documents.flatMap((document) =>
    document.people.map(({ name, identities }) => {
      refuse(document, name);
      for (const identity of identities) {
        checkIdentity(document, identity, { names, roleForm: 'none' });
        const text = formatIdentity(identity.value);
        const before = byIdentity.get(text);
        if (before === undefined) byIdentity.set(text, { document, at: identity, person: name.value });
        else {
          names.report(document, identity, {
            code: 'PERSON_IDENTITY',
            message: `\`${text}\` is already an identity of \`${before.person}\``,
            help: 'leave it with the person who signs in with it, or merge the two people',
            related: [relatedAt(before.document, before.at, 'first named here')],
          });
        }
      }
      return {
        name: name.value,
        identities: identities.map((identity) => identity.value),
        place: placeOf(document, name),
      };
    }),
  );
}

// The lists of `exclusive`: their identities come from providers that are declared.

export function linkExclusive(documents: readonly PolicyDocument[], names: Names): readonly PolicyExclusive[] {
  return documents.flatMap((document) =>
    (document.header?.exclusive ?? []).map((list) => {
      for (const identity of list.identities) checkIdentity(document, identity, { names, roleForm: 'none' });
      return { identities: list.identities.map(({ value }) => value), place: placeOf(document, list) };
    }),
  );
}
