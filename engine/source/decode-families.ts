// The key `families` of `policy.yaml`: words of an application, beside the five families of records (docs/language.md "Families").
import type { FamilyDeclaration } from '../model/document.js';
import { compareTexts } from '../model/order.js';
import { isFamily } from '../model/scope.js';
import { COMMON_ACTIONS } from '../model/vocabulary.js';
import { refuse, type FileContext } from './context.js';
import { entriesOf, itemsOf, readName, readNameOfKey } from './fields.js';
import { list, mapping, named, readMapping, shape, text, value } from './shape.js';
import type { Entry, Node } from './tree.js';
import { DESCRIPTION } from './values.js';

const readNames = itemsOf(readName, 'an action');

/** Null if one of them is wrong, because it may have been meant as any. */
function readActions(context: FileContext, node: Node, what: string): readonly string[] | null {
  const found = readNames(context, node, what);
  if (found === null || node.kind !== 'list') return null;
  const actions = new Set<string>();
  for (const action of found) {
    const isCommon = COMMON_ACTIONS.includes(action.value);
    if (!isCommon && !actions.has(action.value)) actions.add(action.value);
    else {
      refuse(context, 'FAMILY_ACTION', {
        at: action,
        message: isCommon
          ? `every family has the action \`${action.value}\`, so none declares it`
          : `the action \`${action.value}\` stands twice in ${what}`,
        help: 'remove it',
      });
    }
  }
  return found.length === node.items.length ? [...actions].sort(compareTexts) : null;
}

const FAMILY = shape('a family', {
  description: DESCRIPTION,
  actions: [value(list(text('name')), readActions), 'What can be done with it, beside `read` and `write`.'],
});

function readFamily(context: FileContext, { key, value: of }: Entry): FamilyDeclaration | null {
  const read = readMapping(context, of, FAMILY);
  const { description = null, actions } = read?.values ?? {};
  if (isFamily(key.text)) {
    return refuse(context, 'FAMILY_RESERVED', {
      at: key,
      message: `\`${key.text}\` is a family of records, which every policy has`,
      help: 'choose another name',
    });
  }
  const name = readNameOfKey(context, key, 'the family');
  if (read === null || read.mayHaveLost || actions === null) return { name, actions: null, description };
  return { name, actions: actions ?? [], description };
}

export const FAMILIES_SECTION = value(named('family-name', mapping(FAMILY)), entriesOf(readFamily));
