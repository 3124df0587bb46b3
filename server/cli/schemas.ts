// The JSON Schemas that editors take: of the files of a policy folder, the gateway's settings, dataset lines and queries.
import { policySchema } from '../../engine/compiler.js';
import { DATASET_LINE_SCHEMA } from '../api/dataset-schema.js';
import { QUERY_DOCUMENT_SCHEMA } from '../api/query-schema.js';
import { CONFIG_SCHEMA } from '../config/config-schema.js';

export type SchemaKind = 'policy' | 'sections' | 'config' | 'dataset' | 'query';

/** The kinds whose schemas stand in the `.schema/` of a policy folder. */
const FOLDER_KINDS = ['policy', 'sections'] as const;

const FOLDER = '.schema';

const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';

export function schemaOf(kind: SchemaKind): object {
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
      return { $schema: DRAFT_2020, title: 'Bailiwick: a query', ...QUERY_DOCUMENT_SCHEMA };
    default:
      return policySchema(kind);
  }
}

/** As text that is written to a file. */
export function schemaText(kind: SchemaKind): string {
  return `${JSON.stringify(schemaOf(kind), null, 2)}\n`;
}

/** The files of `.schema/` by their paths in the policy folder. */
export function schemaFiles(): ReadonlyMap<string, string> {
  return new Map(FOLDER_KINDS.map((kind) => [`${FOLDER}/${kind}.json`, schemaText(kind)]));
}

/** The first line of a policy file, by which editors find its schema; `path` is relative to the folder. */
export function schemaLine(path: string): string {
  const depth = path.split('/').length - 1;
  const kind = path === 'policy.yaml' ? 'policy' : 'sections';
  return `# yaml-language-server: $schema=${depth === 0 ? './' : '../'.repeat(depth)}${FOLDER}/${kind}.json`;
}
