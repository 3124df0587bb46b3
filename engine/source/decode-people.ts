// The section `people`: a human who signs in in several ways, with the name that reports use.
import type { PersonDeclaration } from '../model/document.js';
import type { FileContext } from './context.js';
import { entriesOf, readNameOfKey } from './fields.js';
import { mapping, named, readMapping, shape, value } from './shape.js';
import type { Entry } from './tree.js';
import { someIdentities } from './values.js';

const WHOLE = 'name the identities of the person, or remove the person';

const PERSON = shape(
  'a person',
  { identities: [someIdentities(WHOLE), 'All identities of this person.'] },
  { required: ['identities'] },
);

function readPerson(context: FileContext, { key, value: of }: Entry): PersonDeclaration {
  const { identities } = readMapping(context, of, PERSON)?.values ?? {};
  return { name: readNameOfKey(context, key, 'the person'), identities: identities ?? [] };
}

export const PEOPLE = value(named('person-name', mapping(PERSON)), entriesOf(readPerson));
