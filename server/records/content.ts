// What a record holds apart from its place and its history, as given by a dataset's line or the body of a request: the
// rules that no JSON Schema expresses, the references, and the form in which the store takes it. `load` and commands
// both read records with this.
import type { Family } from '../../engine/index.js';
import { type RecordFields, TEXT_LIMITS } from '../api/dataset-schema.js';
import { isForbiddenKey, pointerTo } from '../json/strict-json.js';

/** The form in which the store takes it, with JSON values as texts. */
export interface RecordContent {
  readonly name: string | null;
  readonly description: string | null;
  readonly properties: string;
  readonly version: string | null;
  readonly schema: string | null;
  readonly slots: string | null;
  readonly template: string | null;
  readonly parameters: string | null;
  readonly resources: string | null;
  readonly state: string | null;
  /** Whether a template asks for unique names. Of what is made from it the store knows. */
  readonly uniqueName: boolean;
}

/** The state of new process runs. */
export const FIRST_STATE = 'pending';

export function contentOf(family: Family, fields: RecordFields): RecordContent {
  const isRun = family === 'process-run';
  return {
    name: fields.name ?? null,
    description: fields.description ?? null,
    properties: JSON.stringify(fields.properties ?? {}),
    version: fields.version ?? null,
    schema: fields.schema === undefined || fields.schema === null ? null : JSON.stringify(fields.schema),
    slots: family === 'process-template' ? JSON.stringify(slotsOf(fields)) : null,
    template: fields.template?.toLowerCase() ?? null,
    parameters: isRun ? JSON.stringify(fields.parameters ?? {}) : null,
    resources: isRun ? JSON.stringify(resourcesOf(fields.resources ?? {})) : null,
    state: isRun ? (fields.state ?? FIRST_STATE) : null,
    uniqueName: fields.uniqueName ?? false,
  };
}

function slotsOf({ slots = [] }: RecordFields): readonly object[] {
  return slots.map(({ name, template, required }) => ({
    name,
    template: template?.toLowerCase() ?? null,
    required: required ?? false,
  }));
}

/** The ids by slot, in the form that is stored. Null stays, because it removes a reference. */
export function resourcesOf(
  resources: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string | null>> {
  return Object.fromEntries(Object.entries(resources).map(([slot, id]) => [slot, id?.toLowerCase() ?? null]));
}

export interface ContentFault {
  readonly pointer: string;
  readonly message: string;
}

/** The first fault of fields that have the right shape; null if there is none. */
export function contentFault(fields: RecordFields): ContentFault | null {
  const { name } = fields;
  if (typeof name === 'string' && Buffer.byteLength(name) > TEXT_LIMITS.name) {
    return { pointer: '/name', message: `must have at most ${String(TEXT_LIMITS.name)} bytes as UTF-8` };
  }
  return slotFault(fields);
}

function slotFault({ slots = [] }: RecordFields): ContentFault | null {
  const seen = new Set<string>();
  for (const [index, { name }] of slots.entries()) {
    const pointer = `/slots/${String(index)}/name`;
    if (isForbiddenKey(name)) return { pointer, message: 'is a name that `resources` cannot have as a key' };
    if (seen.has(name)) return { pointer, message: 'repeats the name of an earlier slot' };
    seen.add(name);
  }
  return null;
}

export interface Reference {
  readonly id: string;
  readonly family: Family;
  readonly pointer: string;
}

/**
 * The references of a record. Resources are made from resource templates and runs from process templates; slots and
 * runs name what they use.
 */
export function referencesOf(family: Family, fields: RecordFields): readonly Reference[] {
  const references: Reference[] = [];
  if (fields.template !== undefined && fields.template !== null) {
    const made = family === 'process-run' ? 'process-template' : 'resource-template';
    references.push({ id: fields.template.toLowerCase(), family: made, pointer: '/template' });
  }
  for (const [index, { template }] of (fields.slots ?? []).entries()) {
    if (template === undefined || template === null) continue;
    references.push({
      id: template.toLowerCase(),
      family: 'resource-template',
      pointer: `/slots/${String(index)}/template`,
    });
  }
  for (const [slot, id] of Object.entries(fields.resources ?? {})) {
    references.push({ id: id.toLowerCase(), family: 'resource', pointer: pointerTo('/resources', slot) });
  }
  return references;
}
