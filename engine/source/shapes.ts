// The two kinds of policy files, described once. The decoders read by these shapes, the formatter takes the order of keys from them, and
// the editor schemas are generated from them (docs/language.md "Every key").
import type { ProviderDeclaration } from '../model/document.js';
import { GROUP_SUFFIX } from '../model/identity.js';
import { refuse, type FileContext } from './context.js';
import { EXCLUSIVE } from './decode-exclusive.js';
import { FAMILIES_SECTION } from './decode-families.js';
import { FOLDERS } from './decode-folders.js';
import { GRANTS } from './decode-grants.js';
import { GUARDRAILS } from './decode-guardrails.js';
import { PEOPLE } from './decode-people.js';
import { ROLES } from './decode-roles.js';
import { TESTS } from './decode-tests.js';
import { entriesOf, readNameOfKey } from './fields.js';
import { mapping, named, readMapping, shape, value } from './shape.js';
import type { Entry } from './tree.js';
import { DESCRIPTION, NAME, NAMESPACE } from './values.js';

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
