// `bailiwick help policy|guardrails|queries`: short references on topics that are not verbs.
import { policyLanguage, type LanguageMapping } from '../../engine/compiler.js';
import { WHERE_SCHEMA } from '../api/where-schema.js';

const GUARDRAIL_PARTS = ['a guardrail', 'never', 'separate', 'atLeast', 'atMost', 'expires', 'to', 'except'];

const TOPICS: ReadonlyMap<string, () => string> = new Map([
  [
    'policy',
    () => `Keys of policy files\n\n${listOf(policyLanguage().filter(({ what }) => !isGuardrail(what)))}${SCOPES}`,
  ],
  [
    'guardrails',
    () => `Keys of guardrails\n\n${listOf(policyLanguage().filter(({ what }) => isGuardrail(what)))}${GUARDRAILS}`,
  ],
  ['queries', queries],
]);

export const TOPIC_NAMES = [...TOPICS.keys()];

/** The text of a topic, or null if no topic has this name. */
export function topicText(name: string): string | null {
  return TOPICS.get(name)?.() ?? null;
}

/** The only mapping that is named after a file, because that file has only one possible name. */
const HEADER_NAME = 'policy.yaml';

export function title(what: string): string {
  const name = what.replace(/^an? /, '');
  return name === HEADER_NAME ? name : name.replace(/^./, (first) => first.toUpperCase());
}

function isGuardrail(what: string): boolean {
  return GUARDRAIL_PARTS.includes(what);
}

const KEY_WIDTH = 24;
const INDENT = `\n${' '.repeat(KEY_WIDTH + 2)}`;
const LINE_WIDTH = 80 - KEY_WIDTH - 2;

/** Wraps the text so that it fits beside the keys on 80 columns. */
function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > LINE_WIDTH) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

const NEED_MARKS = { required: 'required', 'one of these': 'one of' };

function listOf(mappings: readonly LanguageMapping[]): string {
  return mappings
    .map(({ what, keys }) => {
      const lines = keys.map(({ key, need, takes, about }) => {
        const marked = need === 'optional' ? key : `${key} (${NEED_MARKS[need]})`;
        return `  ${marked.padEnd(KEY_WIDTH)}${[takes.replaceAll('`', ''), about].flatMap(wrapped).join(INDENT)}`;
      });
      return `${title(what)}:\n${lines.join('\n')}\n`;
    })
    .join('\n');
}

const SCOPES = `
Of the keys marked (one of), give exactly one:
  - { id: a, role: staff, namespace: /labs }
  - { id: b, identity: orcid:x, namespace: /labs, scopes: [resource:read] }
A name is 1 to 128 of a-z, 0-9, ".", "_" and "-", and begins with a letter or a
digit.

Scopes: <family>:read and <family>:write, for the families namespace,
resource-template, resource, process-template and process-run.
Patterns: <family>:*, *:read, *:write. Write never implies read.

\`bailiwick help guardrails\` has the keys of guardrails; docs/language.md shows
examples.
`;

const GUARDRAILS = `
Of the keys marked (one of), give exactly one: a guardrail has one kind.
  - { id: g, never: { scopes: ["*:write"], under: /archive } }

Guardrails are proved for every person, namespace, scope and time before a
policy is compiled. Their patterns also know *-template:read, *-template:write
and *-template:*.
`;

function queries(): string {
  const operators = Object.keys(WHERE_SCHEMA.$defs.operators.properties);
  return `Queries: POST /api/v1/query and /api/v1/query/count

  family            namespace, resource-template, resource, process-template or
                    process-run (required)
  namespace         where to look from (required)
  reach             lineage (the namespace and those above it), exact (the
                    namespace alone) or subtree (it and those below it); default
                    lineage, for process runs exact
  where             {"<field>": {"<operator>": <value>}}, and, or, not
  orderBy           [{"<field>": "asc" or "desc"}]
  select            ["id", "name", "properties.rank"]
  page              {"size": 50, "after": <page.next of the previous page>}
  includeArchived   true or false

Operators: ${operators.slice(0, 9).join(', ')},
${operators.slice(9).join(', ')}.
Fields of your own are below properties: properties.rank, down to four levels.

docs/queries.md says what each operator does with values that are absent, null
or of another type.
\`bailiwick schema query\` prints the JSON Schema.
`;
}
