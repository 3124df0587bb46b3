// What a page includes, the slow way: each record that an item names is found in the list of all, and decided where it is.
import type { Family } from '../../engine/index.js';
import { type Json, selected } from '../server/query/oracle/evaluate.js';
import type { Asker } from './query-doors.js';
import { mayRead, namespaceOf } from './query-oracle.js';

interface Named {
  readonly family: Family;
  readonly keys: (record: Json) => readonly unknown[];
}

const NAMESPACE: Named = { family: 'namespace', keys: ({ namespace }) => [namespace] };

function parentOf({ namespace }: Json): readonly unknown[] {
  if (namespace === '/') return [];
  return [String(namespace).replace(/\/[^/]*$/, '') || '/'];
}

const slotTemplates = ({ slots }: Json): readonly unknown[] =>
  Array.isArray(slots) ? (slots as readonly Json[]).map(({ template }) => template) : [];
const usedResources = ({ resources }: Json): readonly unknown[] => Object.values((resources ?? {}) as Json);

const REFERENCES: Readonly<Record<Family, Readonly<Record<string, Named>>>> = {
  namespace: { parent: { family: 'namespace', keys: parentOf } },
  'resource-template': { namespace: NAMESPACE },
  resource: {
    namespace: NAMESPACE,
    template: { family: 'resource-template', keys: ({ template }) => [template] },
    copiedFrom: { family: 'resource', keys: ({ copiedFrom }) => [copiedFrom] },
  },
  'process-template': { namespace: NAMESPACE, slots: { family: 'resource-template', keys: slotTemplates } },
  'process-run': {
    namespace: NAMESPACE,
    template: { family: 'process-template', keys: ({ template }) => [template] },
    resources: { family: 'resource', keys: usedResources },
  },
};

export type Includes = Readonly<Record<string, { readonly select?: readonly string[] }>>;

/** Every reference of a family, the first with selected fields. */
export function allIncludes(family: Family): Includes {
  return Object.fromEntries(
    Object.keys(REFERENCES[family]).map((name, index) => [
      name,
      index === 0 ? { select: ['name', 'properties.deep.a', 'revision'] } : {},
    ]),
  );
}

interface Included {
  readonly family: Family;
  readonly items: readonly Json[];
  readonly includes: Includes;
}

export function includedOf(records: readonly Json[], asker: Asker, { family, items, includes }: Included): Json {
  return Object.fromEntries(
    Object.entries(includes).map(([name, { select }]) => {
      const named = REFERENCES[family][name];
      if (named === undefined) throw new Error(`no reference ${name}`);
      const keys = new Set(items.flatMap(named.keys));
      const shown = records.flatMap((record) => {
        const key = named.family === 'namespace' ? record['namespace'] : record['id'];
        if (record['family'] !== named.family || !keys.has(key)) return [];
        const { decision } = mayRead(asker, `${named.family}:read`, namespaceOf(record));
        return decision === 'allow' ? [[String(key), selected(record, select)] as const] : [];
      });
      return [name, Object.fromEntries(shown)];
    }),
  );
}
