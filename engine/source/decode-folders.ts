// The key `folders` of `policy.yaml`: which folders are delegated, and what they may say (docs/language.md "Delegation").
import type { FolderDeclaration } from '../model/document.js';
import { refuse, type FileContext } from './context.js';
import { entriesOf, itemsOf } from './fields.js';
import { ROLE_REFERENCE } from './decode-roles.js';
import { list, mapping, named, readMapping, shape, text, value } from './shape.js';
import { FOLDER_PATTERN } from './texts.js';
import type { Entry } from './tree.js';
import { NAMESPACE } from './values.js';

const FOLDER = shape(
  'a folder',
  {
    within: [NAMESPACE, 'What its files may say is at this namespace or below it.'],
    exports: [
      value(list(text('reference')), itemsOf(ROLE_REFERENCE.read)),
      'Roles of the folder that files outside of it may use, too.',
    ],
  },
  { required: ['within'] },
);

const PATH = new RegExp(FOLDER_PATTERN);

function readFolder(context: FileContext, { key, value: of }: Entry): FolderDeclaration | null {
  const { within = null, exports } = readMapping(context, of, FOLDER)?.values ?? {};
  if (!PATH.test(key.text)) {
    const message = `\`${key.text}\` is not the path of a folder`;
    const help = 'write it from the folder of `policy.yaml` on, as in `teams/amx`';
    return refuse(context, 'FOLDER_PATH', { at: key, message, help });
  }
  const { start, end } = key;
  return { path: { value: key.text, start, end }, within, exports: exports ?? [] };
}

export const FOLDERS = value(named('folder', mapping(FOLDER)), entriesOf(readFolder));
