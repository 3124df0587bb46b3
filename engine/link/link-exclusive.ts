// The lists of `exclusive`: their identities come from providers that are declared.
import type { PolicyDocument } from '../model/document.js';
import type { PolicyExclusive } from '../model/policy-set.js';
import type { Names } from './names.js';
import { placeOf } from './places.js';
import { checkIdentity } from './references.js';

export function linkExclusive(documents: readonly PolicyDocument[], names: Names): readonly PolicyExclusive[] {
  return documents.flatMap((document) =>
    (document.header?.exclusive ?? []).map((list) => {
      for (const identity of list.identities) checkIdentity(document, identity, { names, roleForm: 'none' });
      return { identities: list.identities.map(({ value }) => value), place: placeOf(document, list) };
    }),
  );
}
