// What the routes answer, as JSON Schemas: the API's description shows them, and tests hold every answer to them.
import { FAMILIES, scopeNames, ALL_SCOPES } from '../../engine/index.js';
import { QUERY_LIMITS } from '../limits.js';
import { PROBLEMS } from '../problem.js';
import { namespacePath, SELECTED_RECORD } from './record-schema.js';
import type { JsonSchema } from './schema.js';

const text: JsonSchema = Object.freeze({ type: 'string' });
const digest: JsonSchema = Object.freeze({ type: 'string', pattern: '^sha256:[0-9a-f]{64}$' });

const ASKED = Object.freeze({
  family: { enum: FAMILIES },
  namespace: namespacePath,
  reach: { enum: ['lineage', 'exact', 'subtree'] },
  snapshot: digest,
});

export const PAGE_SCHEMA = whole({
  ...ASKED,
  items: { type: 'array', maxItems: QUERY_LIMITS.pageSize, items: SELECTED_RECORD },
  page: whole({
    size: { type: 'integer', minimum: 0, maximum: QUERY_LIMITS.pageSize },
    next: { type: ['string', 'null'], minLength: 1 },
  }),
});

export const COUNT_SCHEMA = whole({ ...ASKED, count: { type: 'integer', minimum: 0 } });

export const ACTOR_SCHEMA = whole({
  id: text,
  kind: { enum: ['key', 'local'] },
  identities: { type: 'array', items: whole({ provider: text, subject: text }) },
  credentialScopes: { type: 'array', items: { enum: scopeNames(ALL_SCOPES) } },
  namespaceRestrictions: { type: ['array', 'null'], items: namespacePath },
  credentialFingerprint: { type: 'string', pattern: '^[0-9a-f]{64}$' },
});

/** Of every problem (RFC 9457), whatever the route. */
export const PROBLEM_SCHEMA: JsonSchema = Object.freeze({
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'requestId'],
  properties: {
    type: { type: 'string', pattern: '^/docs/problems#' },
    title: text,
    status: { type: 'integer', minimum: 400, maximum: 599 },
    code: { enum: PROBLEMS.map(({ code }) => code) },
    requestId: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    step: text,
    errors: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['pointer', 'code', 'message'],
        properties: { pointer: text, code: { enum: PROBLEMS.map(({ code }) => code) }, message: text },
        additionalProperties: false,
      },
    },
    retryAfter: { type: 'integer', minimum: 1 },
  },
  additionalProperties: false,
});

/** An object that has these properties, all of them, and no others. */
function whole(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return Object.freeze({
    type: 'object',
    required: Object.keys(properties),
    properties,
    additionalProperties: false,
  });
}
