// Records as the API shows them: the fields of each family, whole or as far as a query selects them, and what a record's id is.
import { FAMILIES, type Family } from '../../engine/index.js';
import { RUN_STATES } from './dataset-schema.js';
import type { JsonSchema } from './schema.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text can be the id of a record at all, of whatever version: datasets bring their own. */
export function isRecordId(text: string): boolean {
  return UUID.test(text);
}

const text: JsonSchema = Object.freeze({ type: 'string' });
const textOrNull: JsonSchema = Object.freeze({ type: ['string', 'null'] });
const id: JsonSchema = Object.freeze({ type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
const idOrNull: JsonSchema = Object.freeze({ ...id, type: ['string', 'null'] });
const INSTANT = String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$`;
const instant: JsonSchema = Object.freeze({ type: 'string', pattern: INSTANT });
const object: JsonSchema = Object.freeze({ type: 'object' });
export const namespacePath: JsonSchema = Object.freeze({ type: 'string', pattern: '^/' });

const COMMON = Object.freeze({
  id,
  namespace: namespacePath,
  name: textOrNull,
  description: textOrNull,
  properties: object,
  revision: Object.freeze({ type: 'integer', minimum: 1 }),
  createdAt: instant,
  updatedAt: instant,
  createdBy: text,
  archivedAt: Object.freeze({ ...instant, type: ['string', 'null'] }),
});

const template = Object.freeze({ version: textOrNull, schema: Object.freeze({ type: ['object', 'null'] }) });
const slots: JsonSchema = Object.freeze({
  type: ['array', 'null'],
  items: {
    type: 'object',
    required: ['name', 'template', 'required'],
    properties: { name: text, template: idOrNull, required: { type: 'boolean' } },
    additionalProperties: false,
  },
});

const OWN: Readonly<Record<Family, Readonly<Record<string, JsonSchema>>>> = Object.freeze({
  namespace: {},
  'resource-template': template,
  resource: { template: idOrNull, copiedFrom: idOrNull },
  'process-template': { ...template, slots },
  'process-run': {
    template: idOrNull,
    parameters: object,
    resources: { type: 'object', additionalProperties: id },
    state: { enum: RUN_STATES },
  },
});

function propertiesOf(family: Family): Readonly<Record<string, JsonSchema>> {
  return { family: { const: family }, ...COMMON, ...OWN[family] };
}

/** A record of the family with all its fields. */
export function recordSchema(family: Family): JsonSchema {
  const properties = propertiesOf(family);
  return Object.freeze({ type: 'object', required: Object.keys(properties), properties, additionalProperties: false });
}

/** A record of any family, or of it what a query selected. */
export const SELECTED_RECORD: JsonSchema = Object.freeze({
  anyOf: FAMILIES.map((family) => ({
    type: 'object',
    properties: propertiesOf(family),
    additionalProperties: false,
  })),
});
