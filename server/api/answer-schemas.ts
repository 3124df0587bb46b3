// What the routes answer, as JSON Schemas. The API's description shows them, and tests check every answer against them.
import { SCOPE_PATTERN } from '../../engine/index.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { PROBLEMS } from '../problem.js';
import { familyName, namespacePath, reachName, SELECTED_RECORD } from './record-schema.js';
import { closed, schema, text, whole } from './schema.js';

export const digest = schema({
  title: 'Digest',
  description: 'The digest of the policy that decided: the SHA-256 of its snapshot.',
  type: 'string',
  pattern: '^sha256:[0-9a-f]{64}$',
});
export const identity = schema({ title: 'Identity', ...whole({ provider: text, subject: text }) });
/** One of the ten, or one of a family that the policy declares. */
export const scope = schema({
  title: 'Scope',
  description: 'One of the ten scopes of records, or a scope of a family that the policy declares.',
  type: 'string',
  pattern: SCOPE_PATTERN,
});

const ASKED = Object.freeze({
  family: familyName,
  namespace: namespacePath,
  reach: reachName,
  snapshot: digest,
});

const includedRecords = schema({
  description: 'By id, namespaces by path. What is absent does not exist or is invisible.',
  type: 'object',
  additionalProperties: SELECTED_RECORD,
});

export const PAGE_SCHEMA = Object.freeze({
  title: 'RecordPage',
  ...closed(['family', 'namespace', 'reach', 'items', 'page', 'snapshot'], {
    ...ASKED,
    items: { type: 'array', maxItems: QUERY_LIMITS.pageSize, items: SELECTED_RECORD },
    page: whole({
      size: { type: 'integer', minimum: 0, maximum: QUERY_LIMITS.pageSize },
      next: {
        description: 'Send it as `page.after` for the next page. Null on the last one.',
        type: ['string', 'null'],
        minLength: 1,
      },
    }),
    included: schema({
      title: 'IncludedRecords',
      description: 'The records that those of the page name, by the references that `includes` names.',
      type: 'object',
      properties: {
        namespace: includedRecords,
        parent: includedRecords,
        template: includedRecords,
        copiedFrom: includedRecords,
        slots: includedRecords,
        resources: includedRecords,
      },
      additionalProperties: false,
    }),
  }),
} as const);

export const COUNT_SCHEMA = Object.freeze({
  title: 'RecordCount',
  ...whole({ ...ASKED, count: { type: 'integer', minimum: 0 } }),
});

const SCALAR = schema({ type: ['string', 'number', 'boolean', 'null'] });

export const AGGREGATE_SCHEMA = Object.freeze({
  title: 'Aggregate',
  ...whole({
    ...ASKED,
    groups: {
      description: 'In the order of their keys; without `groupBy` one group of all records.',
      type: 'array',
      maxItems: QUERY_LIMITS.groups,
      items: {
        title: 'Group',
        ...closed(['values'], {
          key: { description: 'The value that the records share. Null if they have none.', ...SCALAR },
          values: {
            description: 'In the order of the request.',
            type: 'array',
            minItems: 1,
            maxItems: QUERY_LIMITS.groupValues,
            items: SCALAR,
          },
        }),
      },
    },
  }),
});

export const ACTOR_SCHEMA = Object.freeze({
  title: 'Actor',
  ...whole({
    id: text,
    kind: { enum: ['key', 'token', 'certificate', 'local', 'anonymous'] },
    identities: { type: 'array', items: identity },
    credentialScopes: { type: 'array', items: scope },
    namespaceRestrictions: {
      description:
        'The namespaces that the credential is restricted to, each with everything below it. Null means no restriction; an empty list means that it reaches nothing.',
      type: ['array', 'null'],
      items: namespacePath,
    },
    credentialFingerprint: {
      description: 'Null if the request brings no credential.',
      type: ['string', 'null'],
      pattern: '^[0-9a-f]{64}$',
    },
  }),
});

export const PERMISSIONS_SCHEMA = Object.freeze({
  title: 'Permissions',
  ...whole({
    namespace: namespacePath,
    snapshot: digest,
    scopes: {
      description: 'The scopes that the actor holds there; `grants` are the ids of the grants that carry each.',
      type: 'array',
      items: whole({ scope, grants: { type: 'array', items: text } }),
    },
  }),
});

const problemCode = schema({ title: 'ProblemCode', enum: PROBLEMS.map(({ code }) => code) });

/** The body of every problem (RFC 9457), on any route. */
export const PROBLEM_SCHEMA = schema({
  title: 'Problem',
  description: 'A refused request (RFC 9457). Programs decide by `code`, which never changes its meaning.',
  ...closed(['type', 'title', 'status', 'code', 'requestId'], {
    type: { description: 'Where the code is explained.', type: 'string', pattern: '^/docs/problems#' },
    title: text,
    status: { type: 'integer', minimum: 400, maximum: 599 },
    code: problemCode,
    requestId: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    step: { description: 'The step of the decision that failed.', type: 'string' },
    cause: {
      description: 'For a copy, a move or a new version: the step at which the source or the destination was refused.',
      type: 'string',
    },
    command: {
      description: 'Batches: the index (from 0) of the refused command.',
      type: 'integer',
      minimum: 0,
    },
    errors: {
      type: 'array',
      minItems: 1,
      items: {
        title: 'ProblemError',
        ...whole({
          pointer: { description: 'A JSON pointer into the body (RFC 6901).', type: 'string' },
          code: problemCode,
          message: text,
        }),
      },
    },
    retryAfter: { description: 'Seconds, as in `Retry-After`.', type: 'integer', minimum: 1 },
    outcome: {
      description:
        'Writes: nobody knows whether this was done. Repeated with the same `Idempotency-Key` or `If-Match`, it is not done twice.',
      type: 'string',
      enum: ['unknown'],
    },
  }),
});
