// The shape of an event in a log and in the outbox, as JSON Schema. Readers of both validate against it. Later releases
// may add members.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { SCOPE_PATTERN } from '../../engine/index.js';
import type { AccessAsked, AuditEvent, CopyAsked } from './event.js';
import type { Listed } from './listed.js';

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const textOrNull = { type: ['string', 'null'] };
const count = { type: 'integer', minimum: 0 };
const family = { type: 'string' };
const scope = { type: 'string', pattern: SCOPE_PATTERN };

const ACCESS = {
  type: 'object',
  required: ['context', 'family', 'scope', 'target'],
  properties: {
    context: text,
    creates: text,
    family,
    reach: { enum: ['lineage', 'exact', 'subtree'] },
    scope,
    target: text,
  },
};

const COPY = {
  type: 'object',
  required: ['destination', 'family', 'source'],
  properties: { destination: text, family, moves: { const: true }, source: text },
};

const LOST = {
  type: 'object',
  required: ['hash', 'log', 'seq'],
  properties: { hash: text, log: text, seq: { type: 'integer', minimum: 1 } },
};

/** Ids; or how many, with the set of them or without. */
const LISTED = {
  oneOf: [
    { type: 'object', required: ['ids'], properties: { ids: texts } },
    {
      type: 'object',
      required: ['count'],
      properties: { count: { type: 'integer', minimum: 1 }, ids: false, set: text },
    },
  ],
};

export const EVENT_SCHEMA = Object.freeze({
  type: 'object',
  required: ['access', 'actor', 'id', 'kind', 'operation', 'outcome', 'requestId', 'snapshot', 'status', 'time'],
  properties: {
    access: { anyOf: [{ type: 'null' }, ACCESS, COPY] },
    actor: {
      type: 'object',
      required: ['credentialScopes', 'fingerprint', 'id', 'identities', 'kind', 'namespaceRestrictions'],
      properties: {
        credentialScopes: { type: 'array', items: scope },
        fingerprint: textOrNull,
        id: text,
        identities: texts,
        kind: text,
        namespaceRestrictions: { type: ['array', 'null'], items: text },
      },
    },
    address: text,
    cause: text,
    credential: { type: 'object', required: ['actor', 'identities'], properties: { actor: text, identities: texts } },
    grants: texts,
    grantsOmitted: count,
    hash: text,
    held: texts,
    id: text,
    items: count,
    key: text,
    kind: { enum: ['command', 'query', 'refusal', 'authentication', 'admin'] },
    listed: LISTED,
    log: text,
    lost: { type: 'array', items: LOST },
    namespace: text,
    operation: text,
    outcome: { enum: ['allowed', 'denied', 'failed'] },
    policy: { type: 'object' },
    previous: text,
    recording: {
      type: 'object',
      required: ['queries', 'records'],
      properties: { queries: { enum: ['all', 'denied', 'none'] }, records: { enum: ['set', 'ids', 'none'] } },
    },
    records: texts,
    requestId: text,
    seq: { type: 'integer', minimum: 1 },
    snapshot: textOrNull,
    status: { type: ['integer', 'null'] },
    step: text,
    subject: {
      type: 'object',
      required: ['credentialScopes', 'identities', 'namespaceRestrictions'],
      properties: {
        credentialScopes: { type: 'array', items: scope },
        identities: texts,
        namespaceRestrictions: { type: ['array', 'null'], items: text },
      },
    },
    time: text,
    visibility: text,
    vocabulary: text,
  },
});

/**
 * An event as a log holds it. Its strings may hold anything, so paths and names are parsed again before they are used.
 */
export type StoredEvent = Omit<AuditEvent, 'access' | 'operation'> & {
  readonly access: AccessAsked | CopyAsked | null;
  readonly operation: string;
  readonly hash: string;
  readonly log: string;
  readonly previous: string;
  readonly seq: number;
};

const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: false });

export const isListed = ajv.compile<Listed>(LISTED);
/** Accepts the JSON of an event from `makeEvent`. */
export const isEvent = ajv.compile<AuditEvent>(EVENT_SCHEMA);
export const isStoredEvent = ajv.compile<StoredEvent>({
  ...EVENT_SCHEMA,
  required: [...EVENT_SCHEMA.required, 'hash', 'log', 'previous', 'seq'],
});
