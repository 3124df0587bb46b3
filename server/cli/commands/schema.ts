// `bailiwick schema [kind]`: the JSON Schemas for editors, of policies, settings, datasets and queries, and the API's
// description.
import { policySchema } from '../../../engine/compiler.js';
import { nearest } from '../../../engine/index.js';
import { DATASET_LINE_SCHEMA } from '../../api/dataset-schema.js';
import { QUERY_DOCUMENTS } from '../../api/query-schema.js';
import { meantOr, usage } from '../exit.js';
import type { Answer, CliIo } from '../io.js';
import { formats } from '../options.js';
import { CONFIG_SCHEMA } from '../../config/config-schema.js';
import { type Given, takes, verb } from '../verb.js';

const KINDS: readonly SchemaKind[] = ['policy', 'sections', 'config', 'dataset', 'query', 'openapi'];

const TAKES = takes({ '[kind]': { about: `one of ${KINDS.join(', ')}`, usual: 'sections' }, ...formats() });

export const defineSchema = verb(TAKES, schema, {
  examples: {
    'for an editor, as `bailiwick init` does': 'bailiwick schema policy > .schema/policy.json',
    'of the settings': 'bailiwick schema config',
    'the API as a gateway describes it, for a client generator': 'bailiwick schema openapi > openapi.json',
  },
  json: ['the schema itself, on one line'],
});

async function schema(_io: CliIo, { kind: asked }: Given<typeof TAKES>): Promise<Answer> {
  const kind = KINDS.find((known) => known === asked);
  if (kind === undefined) {
    const help = meantOr(nearest(asked, KINDS), `write one of ${KINDS.join(', ')}`);
    throw usage(`there is no schema of \`${asked}\``, help);
  }
  // The code that describes the routes takes long to load.
  const shown =
    kind === 'openapi' ? (await import('../../http/openapi/describe-api.js')).apiDescription() : schemaOf(kind);
  return { json: () => shown, text: () => toText(shown) };
}

type SchemaKind = 'policy' | 'sections' | 'config' | 'dataset' | 'query' | 'openapi';

/** The kinds with a schema in the `.schema/` of a policy folder. */
const FOLDER_KINDS = ['policy', 'sections'] as const;

const FOLDER = '.schema';

const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';

export function schemaOf(kind: Exclude<SchemaKind, 'openapi'>): object {
  switch (kind) {
    case 'config':
      return {
        $schema: 'http://json-schema.org/draft-07/schema#',
        title: 'Bailiwick: bailiwick.yaml',
        ...CONFIG_SCHEMA,
      };
    case 'dataset':
      return { $schema: DRAFT_2020, title: 'Bailiwick: a line of a dataset', ...DATASET_LINE_SCHEMA };
    case 'query':
      return { ...QUERY_DOCUMENTS.query, $schema: DRAFT_2020, title: 'Bailiwick: a query' };
    default:
      return policySchema(kind);
  }
}

/** The text of the schema's file. */
function schemaText(kind: (typeof FOLDER_KINDS)[number]): string {
  return toText(schemaOf(kind));
}

function toText(schema: object): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** The files of `.schema/` by their paths in the policy folder. */
export function schemaFiles(): ReadonlyMap<string, string> {
  return new Map(FOLDER_KINDS.map((kind) => [`${FOLDER}/${kind}.json`, schemaText(kind)]));
}

/** The first line of a policy file, which tells editors where its schema is. `path` is relative to the folder. */
export function schemaLine(path: string): string {
  const depth = path.split('/').length - 1;
  const kind = path === 'policy.yaml' ? 'policy' : 'sections';
  return `# yaml-language-server: $schema=${depth === 0 ? './' : '../'.repeat(depth)}${FOLDER}/${kind}.json`;
}
