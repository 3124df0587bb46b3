// The two kinds of policy files, described once. The decoders read by these shapes, the formatter takes the order of keys from them, and
// the editor schemas are generated from them (docs/language.md "Every key").
import type {
  ExclusiveDeclaration,
  FamilyDeclaration,
  FolderDeclaration,
  PersonDeclaration,
  ProviderDeclaration,
} from '../model/document.js';
import { GROUP_SUFFIX } from '../model/identity.js';
import { type FileContext, refuse } from './context.js';
import { GRANTS } from './decode-grants.js';
import { GUARDRAILS } from './decode-guardrails.js';
import { ROLE_REFERENCE, ROLES } from './decode-roles.js';
import { TESTS } from './decode-tests.js';
import { entriesOf, filled, firstLine, itemsOf, readName, readNameOfKey } from './fields.js';
import { list, mapping, named, readMapping, shape, text, value } from './shape.js';
import type { Entry, Node, TextNode } from './tree.js';
import { DESCRIPTION, NAME, NAMESPACE, someIdentities } from './values.js';
import { FOLDER_PATTERN } from './texts.js';
import { compareTexts } from '../model/order.js';
import { isFamily } from '../model/scope.js';
import { COMMON_ACTIONS } from '../model/vocabulary.js';

/** The file at the root of the folder that names the policy. */
export const HEADER_FILE = 'policy.yaml';

const VERSION = value({ kind: 'version' }, (context, node, what): null => {
  if (node.kind === 'refused' || (node.kind === 'text' && node.plain && node.text === '1')) return null;
  const message = `${what} must be the number 1`;
  return refuse(context, 'POLICY_VERSION', { at: node, message, help: 'write `bailiwick: 1`' });
});

const PROVIDER = shape('a provider', { description: DESCRIPTION });

function readProvider(context: FileContext, { key, value: of }: Entry): ProviderDeclaration {
  if (key.text.endsWith(GROUP_SUFFIX)) {
    refuse(context, 'PROVIDER_RESERVED', {
      at: key,
      message: `provider names that end in \`${GROUP_SUFFIX}\` are reserved for group claims`,
      help: `remove it: \`${key.text}:…\` can be a member once \`${key.text.slice(0, -GROUP_SUFFIX.length)}\` is declared`,
    });
  }
  const { description = null } = readMapping(context, of, PROVIDER)?.values ?? {};
  return { name: readNameOfKey(context, key, 'the provider'), description };
}

const PROVIDERS = value(named('provider', mapping(PROVIDER)), entriesOf(readProvider));

// The key `exclusive` of `policy.yaml`: lists of identities of which no actor may have two (docs/meaning.md "Exclusive identities").

const LIST = someIdentities('name the identities that exclude each other, or remove the list', 2);

/** A list of one would exclude nothing, and still look like a rule that does. */
function readExclusive(context: FileContext, node: Node, what: string): ExclusiveDeclaration | null {
  const identities = LIST.read(context, node, what);
  if (identities === null) return null;
  const { start, end } = firstLine(context, node);
  const named = node.kind === 'list' ? node.items.length : 0;
  if (named === 1) {
    const message = 'a list of one identity excludes nothing';
    const help = 'name at least two identities of which no actor may have both';
    return refuse(context, 'EXCLUSIVE_SINGLE', { at: { start, end }, message, help });
  }
  return { identities, start, end };
}

const readLists = filled(itemsOf(readExclusive, 'a list of `exclusive`'), {
  empty: 'write lists of identities, or remove it',
});

const EXCLUSIVE = value(list(LIST, 1), (context, node, what) => {
  if (node.kind !== 'list' || !node.items.every(isText) || node.items.length < 2) return readLists(context, node, what);
  const message = `${what} is a list of identities, not a list of such lists`;
  const help = `write a list in the list: \`[[${node.items.map(({ text }) => text).join(', ')}]]\``;
  return refuse(context, 'VALUE_NOT_LIST', { at: firstLine(context, node), message, help });
});

function isText(node: Node): node is TextNode {
  return node.kind === 'text';
}

// The key `folders` of `policy.yaml`: which folders are delegated, and what they may say (docs/language.md "Delegation").

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

const FOLDERS = value(named('folder', mapping(FOLDER)), entriesOf(readFolder));

// The key `families` of `policy.yaml`: words of an application, beside the five families of records (docs/language.md "Families").

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
          : `the action \`${action.value}\` is listed twice in ${what}`,
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

const FAMILIES_SECTION = value(named('family-name', mapping(FAMILY)), entriesOf(readFamily));

// The section `people`: a human who signs in in several ways, with the name that reports use.

const NAME_ALL = 'name the identities of the person, or remove the person';

const PERSON = shape(
  'a person',
  { identities: [someIdentities(NAME_ALL), 'All identities of this person.'] },
  { required: ['identities'] },
);

function readPerson(context: FileContext, { key, value: of }: Entry): PersonDeclaration {
  const { identities } = readMapping(context, of, PERSON)?.values ?? {};
  return { name: readNameOfKey(context, key, 'the person'), identities: identities ?? [] };
}

const PEOPLE = value(named('person-name', mapping(PERSON)), entriesOf(readPerson));

const HEADER_ROWS = {
  bailiwick: [VERSION, 'The version of the policy language.'],
  name: [NAME, 'The name of the policy.'],
  providers: [PROVIDERS, 'Where identities come from: only declared providers can be named.'],
  families: [FAMILIES_SECTION, 'Families of your own, beside the five of records, and what can be done with each.'],
  folders: [FOLDERS, 'Delegated folders: what their files may decide about.'],
  exclusive: [EXCLUSIVE, 'Identities of which no actor may have two, in lists.'],
} as const;

const SECTION_ROWS = {
  within: [NAMESPACE, 'Every grant of this file must be at this namespace or below it.'],
  roles: [ROLES, 'Who belongs together.'],
  people: [
    PEOPLE,
    'People with several identities. Guardrails see all that one person holds; decisions do not change.',
  ],
  grants: [GRANTS, 'Who may do what where.'],
  guardrails: [GUARDRAILS, 'What must never become true, proved for everyone at all times.'],
  tests: [TESTS, 'Examples of both answers, run by `check` and `compile`.'],
} as const;

/** `policy.yaml`. */
export const HEADER = shape(`\`${HEADER_FILE}\``, HEADER_ROWS, {
  required: ['bailiwick', 'name'],
  elsewhere: new Map(Object.keys(SECTION_ROWS).map((key) => [key, `\`${key}\` belongs in another file of the folder`])),
});

/** Every other file. */
export const SECTIONS = shape('a policy file', SECTION_ROWS, {
  elsewhere: new Map(
    Object.keys(HEADER_ROWS).map((key) => [key, `\`${key}\` belongs in \`${HEADER_FILE}\` at the root of the folder`]),
  ),
});
