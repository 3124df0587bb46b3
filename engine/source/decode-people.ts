// The section `people`: one human who signs in in several ways, under a name that reports use.
import type { PersonDeclaration } from '../model/document.js';
import { isName } from '../model/identity.js';
import { refuse, type FileContext } from './context.js';
import { readEntries, readFields, refuseName } from './fields.js';
import { PERSON } from './shapes.js';
import type { Node } from './tree.js';
import { readIdentities } from './values.js';

export function decodePeople(context: FileContext, node: Node): readonly PersonDeclaration[] {
  return (readEntries(context, node, '`people`') ?? []).map(({ key, value }) => {
    if (!isName(key.text)) refuseName(context, key, 'the person');
    const identities = readFields(context, value, PERSON)?.get('identities')?.value;
    if (identities?.kind === 'list' && identities.items.length === 0) {
      refuse(context, 'VALUE_EMPTY', {
        at: identities,
        message: '`identities` is an empty list',
        help: 'name the identities of the person, or remove the person',
      });
    }
    return {
      name: { value: key.text, start: key.start, end: key.end },
      identities: identities === undefined ? [] : (readIdentities(context, identities, '`identities`') ?? []),
    };
  });
}
